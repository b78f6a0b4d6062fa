# granary_test(NAME <name> SOURCES <file>... LABELS <label>... USES <library>... [TIMEOUT <seconds>] [LINKS <target>...]
#              [HTM] [RTM <filter>] [SERIAL] [COSTS (<pattern> <seconds>)...])
#
# One GoogleTest program, linked with the libraries it names and all that these use; each of its cases is one ctest
# test with these labels. USES are library names without `granary_`: base, ordered, db, bench_harness, ...
# HTM: in builds with test hooks, all of it runs once more with commits in simulated HTM regions, named <name>:htm:<case>.
# RTM: where Intel TSX works, the cases that match the filter run once more with it, named <name>:rtm:<case>; elsewhere they are
# skipped. The sources have tests/support/where_rtm_works.cc then.
# SERIAL: nothing else is tested while one of its cases runs.
# COSTS: cases that match the pattern take about so long, and are started early (granary_costs).
# Labels: unit, stress (many threads), sim, cli, package, verbs (granary_vm_test), slow (left out of quick runs), once (not
# repeated with sanitizers but in full runs). The runs for HTM and RTM are `once`, too.

find_package(GTest REQUIRED)
set(GRANARY_TEST_FLAGS "" CACHE STRING "Compiler flags of the tests' own sources, after all others")
option(GRANARY_TEST_PRECOMPILED "Compile the headers that most tests include once: a third of a test's compilation" ON)
include(GoogleTest)

function(granary_test)
  cmake_parse_arguments(TEST "HTM;SERIAL" "NAME;TIMEOUT;RTM" "SOURCES;LABELS;USES;LINKS;COSTS" ${ARGN})
  foreach(required NAME SOURCES LABELS USES)
    if(NOT TEST_${required})
      message(FATAL_ERROR "granary_test(${TEST_NAME}): ${required} is missing")
    endif()
  endforeach()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  set(serial OFF)
  if(TEST_SERIAL)
    set(serial ON)
  endif()
  if(GRANARY_SANITIZE)
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 5")
  endif()
  add_executable(${TEST_NAME} ${TEST_SOURCES})
  granary_link(${TEST_NAME} base ${TEST_USES})
  target_link_libraries(${TEST_NAME} PRIVATE granary_test_main ${TEST_LINKS})
  target_compile_options(${TEST_NAME} PRIVATE ${GRANARY_TEST_FLAGS})
  # As in libraries (GranaryLibrary.cmake), names in anonymous namespaces differ from source to source of a program.
  if(GRANARY_UNITY)
    set_target_properties(${TEST_NAME} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 4)
  endif()
  if(GRANARY_TEST_PRECOMPILED)
    target_precompile_headers(${TEST_NAME} REUSE_FROM granary_test_main)
  endif()
  gtest_discover_tests(${TEST_NAME} TEST_PREFIX ${TEST_NAME}: TEST_LIST ${TEST_NAME}_CASES NO_PRETTY_TYPES
                       DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  if(TEST_HTM AND GRANARY_TEST_HOOKS)
    gtest_discover_tests(${TEST_NAME} TEST_PREFIX ${TEST_NAME}:htm: TEST_LIST ${TEST_NAME}_HTM_CASES NO_PRETTY_TYPES
                         EXTRA_ARGS --htm=sim DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  endif()
  if(TEST_RTM)
    gtest_discover_tests(${TEST_NAME} TEST_PREFIX ${TEST_NAME}:rtm: TEST_LIST ${TEST_NAME}_RTM_CASES NO_PRETTY_TYPES
                         TEST_FILTER "${TEST_RTM}" EXTRA_ARGS --htm=rtm DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60)
  endif()
  # A list of labels does not get through gtest_discover_tests, so ctest sets them when it has the list of cases; and
  # the time limit grows with the work (tests/support/scale.h).
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${TEST_NAME}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels_file} @ONLY CONTENT [[
set(scale 1)
if("$ENV{GRANARY_TEST_SCALE}" GREATER 1)
  set(scale $ENV{GRANARY_TEST_SCALE})
endif()
math(EXPR limit "@TEST_TIMEOUT@ * ${scale}")
foreach(case IN LISTS @TEST_NAME@_CASES)
  set_tests_properties("${case}" PROPERTIES LABELS "@TEST_LABELS@" TIMEOUT ${limit} RUN_SERIAL @serial@)
endforeach()
foreach(case IN LISTS @TEST_NAME@_HTM_CASES @TEST_NAME@_RTM_CASES)
  set_tests_properties("${case}" PROPERTIES LABELS "@TEST_LABELS@;once" TIMEOUT ${limit})
endforeach()
set(costs "@TEST_COSTS@")
while(costs)
  list(POP_FRONT costs pattern seconds)
  foreach(case IN LISTS @TEST_NAME@_CASES @TEST_NAME@_HTM_CASES @TEST_NAME@_RTM_CASES)
    if(case MATCHES "${pattern}")
      set_tests_properties("${case}" PROPERTIES COST ${seconds})
    endif()
  endforeach()
endwhile()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})

  granary_test_folder(${TEST_NAME} "${TEST_LABELS}" "${TEST_USES}")
endfunction()

# granary_costs((<test> <seconds>)...)
#
# Says how long tests of this folder take that take long. In a build folder without an earlier run ctest starts these before all
# others, the longest first, so that short ones run beside them: a long test that begins last runs alone.
function(granary_costs)
  set(costs ${ARGN})
  while(costs)
    list(POP_FRONT costs test seconds)
    set_tests_properties(${test} PROPERTIES COST ${seconds})
  endwhile()
endfunction()

# granary_vm_test(NAME <name> SOURCES <file>... USES <library>... [LINKS <target>...])
#
# A GoogleTest program that needs RDMA devices: one ctest test with the label verbs, which runs all its cases in a virtual
# machine (scripts/verbs_vm.sh), and is skipped where there is none. Its time limits, the machine's and then ctest's, are for
# what hangs: they allow for emulation on a busy machine.
function(granary_vm_test)
  cmake_parse_arguments(TEST "" "NAME" "SOURCES;USES;LINKS" ${ARGN})
  add_executable(${TEST_NAME} ${TEST_SOURCES})
  granary_link(${TEST_NAME} base ${TEST_USES})
  target_link_libraries(${TEST_NAME} PRIVATE granary_test_main ${TEST_LINKS})
  add_test(NAME ${TEST_NAME} COMMAND ${PROJECT_SOURCE_DIR}/scripts/verbs_vm.sh --seconds 600 $<TARGET_FILE:${TEST_NAME}>)
  set_tests_properties(${TEST_NAME} PROPERTIES LABELS verbs TIMEOUT 700 SKIP_RETURN_CODE 3)
  granary_test_folder(${TEST_NAME} verbs "${TEST_USES}")
endfunction()

# granary_test_folder(<program> <labels> <uses>): `cmake --build … --target tests_unit` builds the programs with this label
# and nothing else, with sanitizers none that need not be repeated; and tests/layers learns what this folder may include.
function(granary_test_folder program labels uses)
  foreach(label ${labels})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    if(NOT (GRANARY_SANITIZE AND "once" IN_LIST labels))
      add_dependencies(tests_${label} ${program})
    endif()
  endforeach()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(GLOBAL APPEND PROPERTY GRANARY_TEST_FOLDERS ${folder})
  set_property(GLOBAL APPEND PROPERTY GRANARY_TEST_USES_${folder} base ${uses})
endfunction()
