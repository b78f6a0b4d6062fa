# What other projects get: one static library of all layers that the public headers need (0 to 8), those headers, and a
# package to find them with: find_package(granary), target granary::granary.

include(CMakePackageConfigHelpers)
include(GranaryPlainArchive)

set(GRANARY_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/granary)

add_library(granary_library STATIC)
add_library(granary::granary ALIAS granary_library)
set_target_properties(granary_library PROPERTIES OUTPUT_NAME granary EXPORT_NAME granary)
target_compile_features(granary_library PUBLIC cxx_std_20)
target_include_directories(granary_library INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(granary_library PUBLIC Threads::Threads)
foreach(library ${GRANARY_LIBRARIES})
  get_target_property(layer granary_${library} GRANARY_LAYER)
  if(layer LESS GRANARY_PROGRAM_LAYER)
    get_target_property(links granary_${library} GRANARY_LINKS)
    target_sources(granary_library PRIVATE $<TARGET_OBJECTS:granary_${library}>)
    target_link_libraries(granary_library PRIVATE ${links})
  endif()
endforeach()

if(GRANARY_LTO)
  granary_plain_archive(granary_library)
endif()
add_dependencies(granary_package granary_command granary_library)

install(TARGETS granary_library EXPORT granary ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/granary DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(EXPORT granary NAMESPACE granary:: DESTINATION ${GRANARY_PACKAGE_DIR} FILE granaryTargets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/granaryConfig.cmake.in ${PROJECT_BINARY_DIR}/granaryConfig.cmake
                              INSTALL_DESTINATION ${GRANARY_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/granaryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/granaryConfig.cmake ${PROJECT_BINARY_DIR}/granaryConfigVersion.cmake
        DESTINATION ${GRANARY_PACKAGE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
