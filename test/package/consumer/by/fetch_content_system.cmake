include(FetchContent)
FetchContent_Declare(keyspan SYSTEM SOURCE_DIR ${KEYSPAN_TREE})
FetchContent_MakeAvailable(keyspan)
