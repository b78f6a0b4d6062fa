# For the scripts of this folder.

# run(<command>...): its output, both streams, and its exit code, in `output` and `result`.
function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  set(output "${output}" PARENT_SCOPE)
  set(result ${result} PARENT_SCOPE)
endfunction()

# must_run(<command>...): the same, of a command that must succeed.
function(must_run)
  run(${ARGV})
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# must_say(<regular expression> <command>...): the same, of a command that must print this.
function(must_say expected)
  must_run(${ARGN})
  if(NOT output MATCHES "${expected}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nprinted, instead of '${expected}':\n${output}")
  endif()
endfunction()

# needs_only(<program> <regular expression>...): the shared libraries that it names are the compiler's, the C library, and these.
function(needs_only program)
  must_run(readelf --dynamic --wide ${program})
  string(REGEX MATCHALL "NEEDED[^[]*[[][^]]+" needed "${output}")
  foreach(library ${needed})
    string(REGEX REPLACE "^.*[[]" "" library "${library}")
    list(JOIN ARGN "|" allowed)
    if(NOT library MATCHES "^(libstdc[+][+]|libgcc_s|libm|libc|ld-linux-x86-64)[.]so" AND NOT library MATCHES "^(${allowed})$")
      message(FATAL_ERROR "${program} needs ${library}")
    endif()
  endforeach()
endfunction()
