# Included before anything that has something to install, since `cmake --install` works in that order: it then copies nothing unless all
# programs and libraries that it is going to copy have been built.

# Everything that is built and installed. `all` builds it, so that whoever built everything can install.
add_custom_target(granary_package ALL)

string(CONFIGURE [[
  foreach(file "$<TARGET_FILE:granary_command>" "$<TARGET_FILE:granary_shared>" "$<TARGET_FILE:granary_static>"
               "@PROJECT_BINARY_DIR@/packaging/granary.1.gz")
    if(NOT EXISTS "${file}")
      message(FATAL_ERROR "'${file}' has not been built, so nothing has been installed. "
                          "Build first: cmake --build '@PROJECT_BINARY_DIR@' --target granary_package")
    endif()
  endforeach()
]] check @ONLY)
install(CODE "${check}" ALL_COMPONENTS)
