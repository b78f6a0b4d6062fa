# Script: BUILD, an up-to-date build tree, is installed in PREFIX. Its command runs.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${PREFIX})
must_run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX})
must_say("[0-9]+[.][0-9]+[.][0-9]+" ${PREFIX}/bin/granary --version)
must_say("SONAME[^\n]*libgranary[.]so[.][0-9]+[.][0-9]+]" readelf --dynamic --wide ${PREFIX}/lib/libgranary.so)
