# What `cmake --install` copies. In it, the library of all layers that the public headers need, once shared and once as an archive,
# and a package of each kind to find it with: find_package(granary) and pkg-config (docs/decisions/shared-library.md).
#
# Components: command, library, development, notices (the license and the changelog, which Debian packages have in other places).

include(CMakePackageConfigHelpers)
include(GranaryPlainArchive)

# granary_compressed_file(<file> <name>): <name> in packaging/ of the build folder, the file through gzip.
function(granary_compressed_file file name)
  set(output ${PROJECT_BINARY_DIR}/packaging/${name})
  add_custom_command(OUTPUT ${output} COMMAND gzip -9nc ${file} > ${output} DEPENDS ${file})
  add_custom_target(granary_${name} DEPENDS ${output})
  add_dependencies(granary_package granary_${name})
endfunction()

set(GRANARY_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/granary)
set(GRANARY_ABI ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})  # before 1.0 a minor version may change the interface

add_library(granary_shared SHARED)
add_library(granary_static STATIC)
set_target_properties(granary_shared PROPERTIES EXPORT_NAME granary VERSION ${PROJECT_VERSION} SOVERSION ${GRANARY_ABI})
set_target_properties(granary_static PROPERTIES EXPORT_NAME granary_static)
set(GRANARY_PRIVATE_LIBRARIES "")  # what the archive's users have to link as well, as names for the linker
foreach(library ${GRANARY_LIBRARIES})
  get_target_property(layer granary_${library} GRANARY_LAYER)
  if(layer LESS GRANARY_PROGRAM_LAYER)
    get_target_property(links granary_${library} GRANARY_LINKS)
    foreach(target granary_shared granary_static)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:granary_${library}>)
    endforeach()
    target_link_libraries(granary_shared PRIVATE ${links})
    foreach(link ${links})
      string(REGEX REPLACE "^.*/lib|[.](so|a)$|::.*$" "" name "${link}")
      list(APPEND GRANARY_PRIVATE_LIBRARIES ${name})
    endforeach()
  endif()
endforeach()
list(REMOVE_DUPLICATES GRANARY_PRIVATE_LIBRARIES)
list(REMOVE_ITEM GRANARY_PRIVATE_LIBRARIES nlohmann_json)  # headers only
target_link_libraries(granary_static PRIVATE Threads::Threads ${GRANARY_PRIVATE_LIBRARIES})
foreach(target granary_shared granary_static)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME granary LINKER_LANGUAGE CXX)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

# The script hides what the standard library's templates would export in spite of hidden visibility, and names the version.
set(GRANARY_SYMBOLS ${PROJECT_SOURCE_DIR}/packaging/symbols.map)
configure_file(${GRANARY_SYMBOLS}.in ${PROJECT_BINARY_DIR}/symbols.map @ONLY)
target_link_options(granary_shared PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/symbols.map -Wl,--as-needed)
set_target_properties(granary_shared PROPERTIES LINK_DEPENDS ${PROJECT_BINARY_DIR}/symbols.map)
if(NOT GRANARY_SANITIZE)  # whose functions are in the program
  target_link_options(granary_shared PRIVATE -Wl,-z,defs)
endif()
if(GRANARY_LTO)
  target_link_options(granary_shared PRIVATE -flto=auto -O3)
  granary_plain_archive(granary_static)
endif()
add_dependencies(granary_package granary_command granary_shared granary_static)

install(TARGETS granary_shared EXPORT granary_shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS granary_static EXPORT granary_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/granary DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN *.h)
foreach(kind shared static)
  install(EXPORT granary_${kind} NAMESPACE granary:: FILE granary_${kind}.cmake DESTINATION ${GRANARY_CMAKE_DIR}
          COMPONENT development)
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/granaryConfig.cmake.in ${PROJECT_BINARY_DIR}/granaryConfig.cmake
                              INSTALL_DESTINATION ${GRANARY_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/granaryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/granaryConfig.cmake ${PROJECT_BINARY_DIR}/granaryConfigVersion.cmake
        DESTINATION ${GRANARY_CMAKE_DIR} COMPONENT development)

list(TRANSFORM GRANARY_PRIVATE_LIBRARIES PREPEND -l OUTPUT_VARIABLE GRANARY_PRIVATE_FLAGS)
list(JOIN GRANARY_PRIVATE_FLAGS " " GRANARY_PRIVATE_FLAGS)
string(REGEX REPLACE "[^/]+" ".." GRANARY_PC_TO_PREFIX ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(name granary granary-static)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

granary_compressed_file(${PROJECT_SOURCE_DIR}/packaging/granary.1 granary.1.gz)
install(FILES ${PROJECT_BINARY_DIR}/packaging/granary.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/completion.bash RENAME granary COMPONENT command
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT notices)
# Scripts that work with an installed command.
set(scripts ${CMAKE_INSTALL_DATADIR}/granary/scripts)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/scripts/cluster.sh ${PROJECT_SOURCE_DIR}/scripts/run_figure.py DESTINATION ${scripts}
        COMPONENT command)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts/cluster ${PROJECT_SOURCE_DIR}/scripts/figure DESTINATION ${scripts}
        COMPONENT command FILES_MATCHING PATTERN *.py)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/figures DESTINATION ${CMAKE_INSTALL_DATADIR}/granary COMPONENT command
        FILES_MATCHING PATTERN *.toml)
