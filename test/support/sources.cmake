# Third-party sources that tests and benches are built with: pinned by SHA-256, never committed.
#
# Upstream's release comes first. Where it cannot be reached, the machine's own Debian mirror serves
# the same bytes; apt's configuration knows the mirror, and apt-helper knows how to get there.
include_guard(GLOBAL)

set(KEYSPAN_SOURCES_DIR ${PROJECT_BINARY_DIR}/sources CACHE PATH
    "Where third-party sources are kept; several build folders may share it")

# Downloads `url` to `file`, or tells in `failure` why not.
function(keyspan_download_upstream file url sha256 failure)
  file(DOWNLOAD ${url} ${file} STATUS status INACTIVITY_TIMEOUT 15 TIMEOUT 300)
  list(GET status 0 code)
  list(GET status 1 text)
  if(code EQUAL 0)
    file(SHA256 ${file} actual)
    if(actual STREQUAL sha256)
      set(${failure} "" PARENT_SCOPE)
      return()
    endif()
    set(text "its SHA-256 is ${actual}, expected was ${sha256}")
  endif()
  file(REMOVE ${file})
  set(${failure} "${text}" PARENT_SCOPE)
endfunction()

# The same from the pool of the Debian mirror that apt is configured with.
function(keyspan_download_mirror file pool_path sha256 failure)
  find_program(KEYSPAN_APT_GET apt-get)
  find_program(KEYSPAN_APT_HELPER apt-helper PATHS /usr/lib/apt)
  mark_as_advanced(KEYSPAN_APT_GET KEYSPAN_APT_HELPER)
  if(NOT KEYSPAN_APT_GET OR NOT KEYSPAN_APT_HELPER)
    set(${failure} "this machine has no apt to ask for a mirror" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${KEYSPAN_APT_GET} indextargets --format $(REPO_URI)
                          "Created-By: Packages" "Origin: Debian" "Label: Debian"
                  OUTPUT_VARIABLE mirrors ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" mirrors "${mirrors}")
  list(REMOVE_DUPLICATES mirrors)
  set(text "apt knows no Debian mirror")
  foreach(mirror IN LISTS mirrors)
    execute_process(COMMAND ${KEYSPAN_APT_HELPER} download-file ${mirror}${pool_path} ${file}
                            SHA256:${sha256}
                    RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE text TIMEOUT 600)
    if(code EQUAL 0)
      set(${failure} "" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  file(REMOVE ${file})
  set(${failure} "${text}" PARENT_SCOPE)
endfunction()

# keyspan_source(<name> UPSTREAM <url> <sha256> MIRROR <pool path> <sha256> MARK <file> [ONLY <glob>])
#
# Leaves <name>_SOURCE_DIR: the unpacked folder that MARK, a path of one file, stands in. Unpacks once.
function(keyspan_source name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MARK;ONLY" "UPSTREAM;MIRROR")
  set(folder ${KEYSPAN_SOURCES_DIR}/${name})
  if(NOT EXISTS ${folder}/complete)
    file(REMOVE_RECURSE ${folder})
    list(POP_FRONT arg_UPSTREAM url sha256)
    message(STATUS "${name}: downloading upstream's release")
    keyspan_download_upstream(${folder}/archive ${url} ${sha256} upstream_failure)
    if(upstream_failure)
      list(POP_FRONT arg_MIRROR pool_path sha256)
      message(STATUS "${name}: upstream is out of reach (${upstream_failure}), asking the Debian mirror")
      keyspan_download_mirror(${folder}/archive ${pool_path} ${sha256} mirror_failure)
      if(mirror_failure)
        message(FATAL_ERROR "${name} could not be downloaded.\n"
          "  upstream: ${url}\n    ${upstream_failure}\n"
          "  Debian mirror: ${pool_path}\n    ${mirror_failure}")
      endif()
    endif()
    if(arg_ONLY)
      set(patterns PATTERNS ${arg_ONLY})
    endif()
    file(ARCHIVE_EXTRACT INPUT ${folder}/archive DESTINATION ${folder}/unpacked ${patterns})
    file(REMOVE ${folder}/archive)
    file(TOUCH ${folder}/complete)
  endif()
  file(GLOB_RECURSE files ${folder}/unpacked/*)
  list(FILTER files INCLUDE REGEX "/${arg_MARK}$")
  if(NOT files)
    message(FATAL_ERROR "${name}: no ${arg_MARK} under ${folder}; remove that folder and try again")
  endif()
  list(GET files 0 file)
  string(REGEX REPLACE "/${arg_MARK}$" "" root ${file})
  set(${name}_SOURCE_DIR ${root} PARENT_SCOPE)
endfunction()

# Leaves the target Catch2::Catch2WithMain.
macro(keyspan_catch2)
  if(NOT TARGET Catch2::Catch2WithMain AND NOT KEYSPAN_PINNED_SOURCES)
    find_package(Catch2 3 CONFIG QUIET)
  endif()
  if(NOT TARGET Catch2::Catch2WithMain)
    keyspan_source(Catch2
      UPSTREAM https://github.com/catchorg/Catch2/archive/refs/tags/v3.7.1.tar.gz
               c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c
      MIRROR pool/main/c/catch2/catch2_3.7.1.orig.tar.gz
             c991b247a1a0d7bb9c39aa35faf0fe9e19764213f28ffba3109388e62ee0269c
      MARK src/catch2/catch_all.hpp)
    set(CMAKE_UNITY_BUILD ON)  # some 110 small files: a third of the time
    add_subdirectory(${Catch2_SOURCE_DIR} ${PROJECT_BINARY_DIR}/Catch2 EXCLUDE_FROM_ALL SYSTEM)
    unset(CMAKE_UNITY_BUILD)
    list(APPEND CMAKE_MODULE_PATH ${Catch2_SOURCE_DIR}/extras)
  endif()
  include(Catch)
endmacro()

# Leaves the target keyspan_nanobench, which has the header alone. Benches keep to the interface of
# nanobench 4.0, which is what the mirror has.
function(keyspan_nanobench)
  if(TARGET keyspan_nanobench)
    return()
  endif()
  if(NOT KEYSPAN_PINNED_SOURCES)
    find_path(nanobench_SOURCE_DIR nanobench.h)
  endif()
  if(NOT nanobench_SOURCE_DIR)
    keyspan_source(nanobench
      UPSTREAM https://github.com/martinus/nanobench/archive/refs/tags/v4.3.11.tar.gz
               53a5a913fa695c23546661bf2cd22b299e10a3e994d9ed97daf89b5cada0da70
      MIRROR pool/main/l/litecoin/litecoin_0.21.4.orig.tar.xz
             f57e517f114eadc781d990aea1096c7e396f7a94d5f5971ecda95696cd8ac26c
      MARK nanobench.h ONLY */nanobench.h)
  endif()
  add_library(keyspan_nanobench INTERFACE)
  target_include_directories(keyspan_nanobench SYSTEM INTERFACE ${nanobench_SOURCE_DIR})
endfunction()
