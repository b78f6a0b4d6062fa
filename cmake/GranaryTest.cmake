# granary_test(NAME <name> SOURCES <file>... LABELS <label>... USES <library>... [TIMEOUT <seconds>] [LINKS <target>...])
#
# One GoogleTest program, linked with the libraries it names and all that these use; each of its cases is one ctest
# test with these labels. USES are library names without `granary_`: base, ordered, db, bench_harness, ...
# Labels: unit, stress (many threads), sim, cli, package, slow (left out of quick runs).

find_package(GTest REQUIRED)
include(GoogleTest)

function(granary_test)
  cmake_parse_arguments(TEST "" "NAME;TIMEOUT" "SOURCES;LABELS;USES;LINKS" ${ARGN})
  foreach(required NAME SOURCES LABELS USES)
    if(NOT TEST_${required})
      message(FATAL_ERROR "granary_test(${TEST_NAME}): ${required} is missing")
    endif()
  endforeach()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  if(GRANARY_SANITIZE)
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 5")
  endif()
  add_executable(${TEST_NAME} ${TEST_SOURCES})
  granary_link(${TEST_NAME} base ${TEST_USES})
  target_link_libraries(${TEST_NAME} PRIVATE granary_test_main ${TEST_LINKS})
  gtest_discover_tests(${TEST_NAME} TEST_PREFIX ${TEST_NAME}: TEST_LIST ${TEST_NAME}_CASES NO_PRETTY_TYPES
                       DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${TEST_TIMEOUT})
  # A list of labels does not get through gtest_discover_tests, so ctest sets them when it has the list of cases.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${TEST_NAME}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels_file} @ONLY CONTENT [[
foreach(case IN LISTS @TEST_NAME@_CASES)
  set_tests_properties("${case}" PROPERTIES LABELS "@TEST_LABELS@")
endforeach()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})

  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(GLOBAL APPEND PROPERTY GRANARY_TEST_FOLDERS ${folder})
  set_property(GLOBAL APPEND PROPERTY GRANARY_TEST_USES_${folder} base ${TEST_USES})
endfunction()
