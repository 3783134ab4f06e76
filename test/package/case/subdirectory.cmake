include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

consume(subdirectory -I ${TREE}/include -D KEYSPAN_TREE=${TREE})
consume(subdirectory_system -isystem ${TREE}/include -D KEYSPAN_TREE=${TREE})
