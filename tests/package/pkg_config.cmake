# Script: a program is compiled by hand, with what pkg-config says of PREFIX, and linked with the shared library and with the archive.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
find_program(pkg_config pkg-config)
if(NOT pkg_config)
  message("skipped: there is no pkg-config (scripts/setup.sh --package)")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/lib/pkgconfig)

# flags(<pkg-config's argument>...): what it says, as a list in `flags`.
function(flags)
  must_run(${pkg_config} ${ARGV})
  separate_arguments(flags UNIX_COMMAND "${output}")
  set(flags ${flags} PARENT_SCOPE)
endfunction()

flags(--cflags granary)
must_run(${COMPILER} -std=c++20 -O1 -c ${SOURCE}/examples/bank.cc -o ${WORK}/bank.o ${flags})
flags(--libs granary)
must_run(${COMPILER} ${WORK}/bank.o -o ${WORK}/shared -Wl,-rpath,${PREFIX}/lib ${flags})
needs_only(${WORK}/shared "libgranary[.]so[.][0-9]+[.][0-9]+")
must_say("1000 accounts hold 100000 in all" ${WORK}/shared)
flags(--libs granary-static)
must_run(${COMPILER} ${WORK}/bank.o -o ${WORK}/static ${flags})
must_say("1000 accounts hold 100000 in all" ${WORK}/static)
must_say("-lgranary.*-lfmt" ${pkg_config} --static --libs granary)
