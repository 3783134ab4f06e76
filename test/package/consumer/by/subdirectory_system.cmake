add_subdirectory(${KEYSPAN_TREE} keyspan SYSTEM)
