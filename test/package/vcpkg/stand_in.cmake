# As much of vcpkg as the port uses, for machines without it: run by cmake -P with
#
#   SETTINGS, GENERATOR   how this machine configures a project
#   PORT_DIR              the port
#   WORK                  where to build, and where packages/ comes to be
#   FEATURES              those that are wanted, with commas between them
#
# Each function refuses arguments that vcpkg's own does not take.
cmake_minimum_required(VERSION 3.25)

set(CURRENT_PORT_DIR ${PORT_DIR})
string(REPLACE "," ";" FEATURES "core,${FEATURES}")
set(CURRENT_PACKAGES_DIR ${WORK}/packages)
set(CURRENT_BUILDTREES_DIR ${WORK}/buildtrees)
set(CURRENT_INSTALLED_DIR ${WORK}/installed)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR})
file(READ ${PORT_DIR}/vcpkg.json manifest)
string(JSON PORT GET "${manifest}" name)
string(JSON VERSION GET "${manifest}" version)

macro(take_arguments options single multiple)
  cmake_parse_arguments(PARSE_ARGV 0 arg "${options}" "${single}" "${multiple}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION} was passed extra arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(work)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(NOTICE "${output}")
    message(FATAL_ERROR "failed: ${ARGN}")
  elseif(output MATCHES "Manually-specified variables were not used")
    message(FATAL_ERROR "an option that nobody reads: ${output}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  take_arguments("DISABLE_PARALLEL_CONFIGURE;NO_CHARSET_FLAG;WINDOWS_USE_MSBUILD"
                 "SOURCE_PATH;GENERATOR;LOGFILE_BASE"
                 "OPTIONS;OPTIONS_DEBUG;OPTIONS_RELEASE;MAYBE_UNUSED_VARIABLES")
  if(NOT VCPKG_BUILD_TYPE STREQUAL "release")
    message(FATAL_ERROR "headers need no debug build")
  endif()
  work(${CMAKE_COMMAND} -G ${GENERATOR} -C ${SETTINGS} -S ${arg_SOURCE_PATH}
       -B ${CURRENT_BUILDTREES_DIR}/release ${arg_OPTIONS} ${arg_OPTIONS_RELEASE}
       -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR})
endfunction()

function(vcpkg_cmake_install)
  take_arguments("DISABLE_PARALLEL;ADD_BIN_TO_PATH" "" "")
  work(${CMAKE_COMMAND} --build ${CURRENT_BUILDTREES_DIR}/release --target install)
endfunction()

# What vcpkg's own does to a package that installs to share/<port> itself: make the prefix two folders up
# from there, and take paths of the build out.
function(vcpkg_cmake_config_fixup)
  take_arguments("DO_NOT_DELETE_PARENT_CONFIG_PATH;NO_PREFIX_CORRECTION"
                 "PACKAGE_NAME;CONFIG_PATH;TOOLS_PATH" "")
  if(arg_CONFIG_PATH OR NOT EXISTS ${CURRENT_PACKAGES_DIR}/share/${PORT}/${PORT}-config.cmake)
    message(FATAL_ERROR "the package's CMake files are not in share/${PORT}")
  endif()
  file(GLOB files ${CURRENT_PACKAGES_DIR}/share/${PORT}/*.cmake)
  set(step "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "${step}" "" text "${text}")
    string(REGEX REPLACE "(\\(_IMPORT_PREFIX \"[^\"]*CMAKE_CURRENT_LIST_FILE}\" PATH\\)\n)"
                         "\\1${step}${step}" text "${text}")
    string(REPLACE "${CURRENT_PACKAGES_DIR}" "\${_IMPORT_PREFIX}" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  take_arguments("SKIP_CHECK" "" "RELEASE_FILES;DEBUG_FILES;SYSTEM_LIBRARIES;SYSTEM_PACKAGES;IGNORE_FLAGS")
  file(GLOB_RECURSE files ${CURRENT_PACKAGES_DIR}/*.pc)
  if(NOT files)
    message(FATAL_ERROR "there is no .pc file to mend")
  endif()
  foreach(file IN LISTS files)
    file(READ ${file} text)
    if(NOT text MATCHES "(^|\n)prefix=")
      cmake_path(GET file PARENT_PATH folder)
      file(RELATIVE_PATH up ${folder} ${CURRENT_PACKAGES_DIR})
      file(WRITE ${file} "prefix=\${pcfiledir}/${up}\n${text}")
    endif()
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  take_arguments("" "COMMENT" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()

include(${PORT_DIR}/portfile.cmake)

# What vcpkg complains about after a build.
file(GLOB_RECURSE files RELATIVE ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/*)
list(FILTER files EXCLUDE REGEX
  "^(include/.*\\.hpp|share/${PORT}/(copyright|usage|[a-z-]+\\.cmake)|share/pkgconfig/${PORT}(-[a-z]+)?\\.pc)$")
if(files)
  message(FATAL_ERROR "the port should not install: ${files}")
endif()
file(GLOB_RECURSE folders LIST_DIRECTORIES TRUE ${CURRENT_PACKAGES_DIR}/*)
foreach(folder IN LISTS folders)
  file(GLOB inside ${folder}/*)
  if(IS_DIRECTORY ${folder} AND NOT inside)
    message(FATAL_ERROR "the port leaves an empty folder: ${folder}")
  endif()
endforeach()
foreach(file IN ITEMS copyright usage ${PORT}-config.cmake ${PORT}-targets.cmake)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/share/${PORT}/${file})
    message(FATAL_ERROR "the port should install share/${PORT}/${file}")
  endif()
endforeach()
