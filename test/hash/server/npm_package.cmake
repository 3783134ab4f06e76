# Has npm put PACKAGE of exactly this VERSION into FOLDER/node_modules, unless it is there already.
set(manifest ${FOLDER}/node_modules/${PACKAGE}/package.json)
if(EXISTS ${manifest})
  file(READ ${manifest} text)
  string(JSON found ERROR_VARIABLE problem GET "${text}" version)
  if(found STREQUAL VERSION)
    return()
  endif()
endif()
file(MAKE_DIRECTORY ${FOLDER})
execute_process(
  COMMAND ${NPM} install --prefix ${FOLDER} --no-save --no-package-lock --ignore-scripts --no-audit --no-fund
          ${PACKAGE}@${VERSION}
  RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "npm could not install ${PACKAGE} ${VERSION}:\n${said}")
endif()
