include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

consume(fetch_content -I ${TREE}/include -D KEYSPAN_TREE=${TREE})
consume(fetch_content_system -isystem ${TREE}/include -D KEYSPAN_TREE=${TREE})
