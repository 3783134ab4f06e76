include(FetchContent)
FetchContent_Declare(keyspan SOURCE_DIR ${KEYSPAN_TREE})
FetchContent_MakeAvailable(keyspan)
