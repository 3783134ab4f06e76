# An installed package is SYSTEM unless its target says otherwise.
find_package(keyspan 0.1 CONFIG REQUIRED)
set_target_properties(keyspan::keyspan PROPERTIES SYSTEM OFF)
