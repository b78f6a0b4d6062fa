# Script: SOURCE's examples/, copied elsewhere, are built with find_package(granary) of PREFIX, and run. The same with the archive,
# for one of them.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/examples DESTINATION ${WORK})
file(COPY ${SOURCE}/examples/bank.cc DESTINATION ${WORK}/static_program)
file(WRITE ${WORK}/static_program/CMakeLists.txt [[
cmake_minimum_required(VERSION 3.25)
project(static_program LANGUAGES CXX)
find_package(granary REQUIRED COMPONENTS static)
add_executable(bank bank.cc)
target_link_libraries(bank PRIVATE granary::granary_static)
]])

# build(<folder> <flags>)
function(build folder flags)
  must_run(${CMAKE_COMMAND} -S ${WORK}/${folder} -B ${WORK}/${folder}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=None
           -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${PREFIX} "-DCMAKE_CXX_FLAGS=${flags} -Wall -Wextra -Werror")
  must_run(${CMAKE_COMMAND} --build ${WORK}/${folder}/build)
endfunction()

# Calls of a program that hides its own symbols find the library's.
build(examples "-O1 -fvisibility=hidden")
must_say("1000 accounts hold 100000 in all" ${WORK}/examples/build/bank)
must_say("2: Edgar\n1: Ada\n2 in their thirties\nbadge 4711: Edgar\nnote: any bytes.*given up: user\nin a snapshot: Ada, 36"
         ${WORK}/examples/build/tour)
needs_only(${WORK}/examples/build/bank "libgranary[.]so[.][0-9]+[.][0-9]+")
# Three nodes, at the same time.
set(nodes ${WORK}/examples/build/nodes ${WORK}/examples/cluster/cluster.toml)
execute_process(COMMAND ${nodes} 1 COMMAND ${nodes} 2 COMMAND ${nodes} 3 ERROR_VARIABLE output RESULTS_VARIABLE results)
string(REGEX MATCHALL "300 accounts hold 30000 in all" told "${output}")
list(LENGTH told count)
if(NOT results STREQUAL "0;0;0" OR NOT count EQUAL 3)
  message(FATAL_ERROR "the nodes ended with ${results} and printed: ${output}")
endif()

build(static_program "-O1")
must_say("1000 accounts hold 100000 in all" ${WORK}/static_program/build/bank)
needs_only(${WORK}/static_program/build/bank "lib(uring|fmt|zookeeper_mt|sodium|boost_context|ibverbs|rdmacm|lz4|zstd)[.]so[.0-9]+")
