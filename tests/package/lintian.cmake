# Script: lintian finds nothing wrong with the Debian packages that packages.cmake has made in MADE.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
find_program(lintian lintian)
if(NOT lintian)
  message("skipped: there is no lintian (scripts/setup.sh --package)")
  return()
endif()
file(GLOB debs ${MADE}/*.deb)
if(NOT debs)
  message("skipped: no packages were made")
  return()
endif()
# Only in builds with debug information, which the release's archive has not.
set(of_the_build unstripped-static-library)
run(${lintian} --allow-root --fail-on error,warning --suppress-tags ${of_the_build} ${debs})
if(NOT result EQUAL 0)
  message(FATAL_ERROR "lintian ended with ${result}:\n${output}")
endif()
