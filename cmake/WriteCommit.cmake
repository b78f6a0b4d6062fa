# Script: fills the commit into TEMPLATE and writes OUTPUT, which keeps its time stamp if nothing changed.

set(GRANARY_COMMIT "unknown")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)  # a directory, or a file in a worktree; absent in an unpacked archive
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed AND described)
    set(GRANARY_COMMIT "${described}")
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
