# granary_build_info(<template> <output>): generates a source file that says what is being built. Everything but the
# commit is known when CMake runs; the commit is looked up at each build, and the file changes only if it did.

function(granary_build_info template output)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  get_directory_property(options COMPILE_OPTIONS)
  string(JOIN " " GRANARY_BUILD_FLAGS ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${options})
  set(GRANARY_COMMIT "@GRANARY_COMMIT@")  # stays a placeholder for the second step
  configure_file(${template} ${output}.in @ONLY)
  add_custom_target(granary_build_info
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DTEMPLATE=${output}.in -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/WriteCommit.cmake
    BYPRODUCTS ${output} COMMENT "" VERBATIM)
endfunction()
