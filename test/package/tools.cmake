# What the scripts of case/ have in common. They are run by cmake -P with
#
#   SETTINGS  a cache file with the compiler and the flags of this build
#   TREE      keyspan's own folder
#   OUT       the folder of this case, and PREFIX, where "package: install" installed to
cmake_minimum_required(VERSION 3.25)

include(${SETTINGS})
set(consumer ${TREE}/test/package/consumer)

# run([EXPECT_FAILURE] [OUTPUT <variable>] COMMAND <command>...): silent where all goes well.
function(run)
  cmake_parse_arguments(PARSE_ARGV 0 arg "EXPECT_FAILURE" "OUTPUT" "COMMAND")
  execute_process(COMMAND ${arg_COMMAND} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  list(JOIN arg_COMMAND " " command)
  if(arg_EXPECT_FAILURE AND code EQUAL 0)
    message(NOTICE "${output}")
    message(FATAL_ERROR "this should have failed: ${command}")
  elseif(NOT arg_EXPECT_FAILURE AND NOT code EQUAL 0)
    message(NOTICE "${output}")
    message(FATAL_ERROR "failed (${code}): ${command}")
  endif()
  if(arg_OUTPUT)
    set(${arg_OUTPUT} "${output}" PARENT_SCOPE)
  endif()
endfunction()

function(require_in text output)
  string(FIND "${output}" "${text}" position)
  if(position EQUAL -1)
    message(NOTICE "${output}")
    message(FATAL_ERROR "this is missing above: ${text}")
  endif()
endfunction()

# configure(<source> <build> <option>...): afresh, with the generator and the compiler of this build.
function(configure source build)
  file(REMOVE_RECURSE ${build})
  run(COMMAND ${CMAKE_COMMAND} -G ${generator} -S ${source} -B ${build} -C ${SETTINGS} ${ARGN})
endfunction()

# Installs a tree configured on its own, with nothing but the library in it.
function(install_keyspan build prefix)
  configure(${TREE} ${build} -D KEYSPAN_BUILD_TESTS=OFF -D KEYSPAN_BUILD_EXAMPLES=OFF
            -D CMAKE_INSTALL_PREFIX=${prefix} ${ARGN})
  file(REMOVE_RECURSE ${prefix})
  run(COMMAND ${CMAKE_COMMAND} --install ${build} --prefix ${prefix})
endfunction()

# consume(<by> <-I|-isystem> <include folder> <option>...)
#
# Builds and runs the consumer, and makes sure that it compiled with keyspan's headers from that very
# folder, included that very way.
function(consume by as include)
  set(build ${OUT}/${by})
  configure(${consumer} ${build} -D KEYSPAN_BY=${by} ${ARGN})
  run(COMMAND ${CMAKE_COMMAND} --build ${build} --config Debug)
  run(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${build} -C Debug --output-on-failure --no-tests=error)
  if(EXISTS ${build}/compile_commands.json AND NOT MSVC)
    file(READ ${build}/compile_commands.json commands)
    string(REPLACE "-isystem " "-isystem" commands "${commands}")
    string(REGEX REPLACE "[\\\"]" "" commands "${commands}")  # put there where a path has spaces
    cmake_path(NORMAL_PATH include)
    foreach(way IN ITEMS -I -isystem)
      string(FIND "${commands}" "${way}${include} " position)
      if(way STREQUAL as AND position EQUAL -1)
        message(FATAL_ERROR "${by}: keyspan is not included as ${as}${include}:\n${commands}")
      elseif(NOT way STREQUAL as AND NOT position EQUAL -1)
        message(FATAL_ERROR "${by}: keyspan is included as ${way}${include}:\n${commands}")
      endif()
    endforeach()
  endif()
endfunction()

# pc_leads_to(<folder of keyspan.pc> <include folder>), where there is a pkg-config to ask.
function(pc_leads_to folder include)
  if(pkg_config)
    run(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --cflags keyspan OUTPUT flags)
    string(STRIP "${flags}" flags)
    string(REGEX REPLACE "^-I" "" found "${flags}")
    cmake_path(NORMAL_PATH found)
    if(NOT found STREQUAL include)
      message(FATAL_ERROR "keyspan.pc leads to ${flags}")
    endif()
  endif()
endfunction()
