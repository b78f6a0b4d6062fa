# Script: BUILD (an up-to-date build tree) → WORK/prefix; EXAMPLES → WORK/project, configured, built and run.

set(prefix ${WORK}/prefix)
set(project ${WORK}/project)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
file(COPY ${EXAMPLES}/ DESTINATION ${project})

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${project} -B ${project}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_FLAGS=-Wall\ -Wextra\ -Werror)
run(${CMAKE_COMMAND} --build ${project}/build)
run(${project}/build/bank)
if(NOT output MATCHES "1000 accounts hold 100000 in all")
  message(FATAL_ERROR "bank printed: ${output}")
endif()
run(${project}/build/tour)
if(NOT output MATCHES "2: Edgar\n1: Ada\n2 in their thirties\nbadge 4711: Edgar\nnote: any bytes.*given up: user\nin a snapshot: Ada, 36")
  message(FATAL_ERROR "tour printed: ${output}")
endif()
# Three nodes, at the same time.
execute_process(COMMAND ${project}/build/nodes ${project}/cluster/cluster.toml 1
                COMMAND ${project}/build/nodes ${project}/cluster/cluster.toml 2
                COMMAND ${project}/build/nodes ${project}/cluster/cluster.toml 3
                ERROR_VARIABLE output RESULTS_VARIABLE results)
string(REGEX MATCHALL "300 accounts hold 30000 in all" told "${output}")
list(LENGTH told count)
if(NOT results STREQUAL "0;0;0" OR NOT count EQUAL 3)
  message(FATAL_ERROR "the nodes ended with ${results} and printed: ${output}")
endif()
run(${prefix}/bin/granary --version)
if(NOT output MATCHES "[0-9]+[.][0-9]+[.][0-9]+")
  message(FATAL_ERROR "granary --version printed: ${output}")
endif()
