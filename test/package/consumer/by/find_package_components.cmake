find_package(keyspan 0.1 CONFIG REQUIRED COMPONENTS cosmos curl)
