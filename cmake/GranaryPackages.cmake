# The target `package` makes, in packages/ of the build folder, the Debian packages granary, libgranary<ABI> and libgranary-dev, and for
# other machines an archive granary-<version>-linux-x86_64.tar.gz with the command, and its checksum. It is a target of our own since
# CPack's would build all tests before. packaging/cpack_options.cmake has what differs between the two kinds.

if(GRANARY_SANITIZE)
  return()  # a program that links a sanitized library has to be sanitized as well
endif()

set(debian ${PROJECT_SOURCE_DIR}/packaging/debian)
set(generated ${PROJECT_BINARY_DIR}/packaging)
set(GRANARY_DEBIAN_VERSION ${PROJECT_VERSION}-1)

# In the packages' documentation folders: papers that Debian asks for, as components that nothing else takes.
configure_file(${debian}/changelog.in ${generated}/changelog.Debian @ONLY)
granary_compressed_file(${generated}/changelog.Debian changelog.Debian.gz)
granary_compressed_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md changelog.gz)
set(package_of_command granary)
set(package_of_library libgranary${GRANARY_ABI})
set(package_of_development libgranary-dev)
foreach(component command library development)
  install(FILES ${debian}/copyright ${generated}/changelog.gz ${generated}/changelog.Debian.gz
          DESTINATION share/doc/${package_of_${component}} COMPONENT ${component}_papers EXCLUDE_FROM_ALL)
  install(FILES ${debian}/overrides-${component} RENAME ${package_of_${component}} DESTINATION share/lintian/overrides
          COMPONENT ${component}_papers EXCLUDE_FROM_ALL)
endforeach()
# Programs that link the shared library need this version or a later one of the same interface; and ld.so's cache is renewed.
configure_file(${debian}/shlibs.in ${generated}/shlibs @ONLY)
configure_file(${debian}/triggers ${generated}/triggers COPYONLY)
set(CPACK_DEBIAN_DEB_LIBRARY_PACKAGE_CONTROL_EXTRA ${generated}/shlibs ${generated}/triggers)

# In the archive: what it needs of the system.
configure_file(${PROJECT_SOURCE_DIR}/packaging/write_install_text.cmake.in ${generated}/write_install_text.cmake @ONLY)
install(SCRIPT ${generated}/write_install_text.cmake COMPONENT archive EXCLUDE_FROM_ALL)

set(CPACK_OUTPUT_CONFIG_FILE ${generated}/cpack.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/cpack_options.cmake)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_SOURCE_GENERATOR "")
set(CPACK_PACKAGE_VENDOR "Granary developers")
set(CPACK_PACKAGE_CONTACT "Granary developers <developers@granary.invalid>")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(about "Granary gives serializable transactions over ordered and hashed tables at\nthe speed of one machine's cores. \
Nodes of a cluster reach each other's\nrecords by one-sided operations: RDMA, or shared memory.\n\nThis package has")
# granary_debian_package(<component> <section> <synopsis> <what it has>)
macro(granary_debian_package component section synopsis has)
  string(TOUPPER deb_${component} group)
  set(CPACK_DEBIAN_${group}_PACKAGE_NAME ${package_of_${component}})
  set(CPACK_DEBIAN_${group}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${group}_DESCRIPTION "${synopsis}\n${about} ${has}")
endmacro()
granary_debian_package(command database "in-memory transaction system: command"
                       "the command, which runs nodes and benchmarks\nand looks after a database's files.")
granary_debian_package(library libs "in-memory transaction system: shared library" "the shared library that programs use.")
granary_debian_package(development libdevel "in-memory transaction system: development files"
                       "headers, the static library, and files for\nCMake and pkg-config.")
# Only scripts/cluster.sh and `granary figure` run by Python, the latter draws, and only other hosts are reached by ssh.
set(CPACK_DEBIAN_DEB_COMMAND_PACKAGE_RECOMMENDS "python3 (>= 3.11), python3-matplotlib")
set(CPACK_DEBIAN_DEB_COMMAND_PACKAGE_SUGGESTS openssh-client)
set(CPACK_DEBIAN_DEB_DEVELOPMENT_PACKAGE_DEPENDS "libgranary${GRANARY_ABI} (= ${GRANARY_DEBIAN_VERSION})")
set(CPACK_DEBIAN_DEB_DEVELOPMENT_PACKAGE_SUGGESTS granary)

include(CPack)
foreach(component command library development)
  cpack_add_component_group(deb_${component})
  cpack_add_component(${component} GROUP deb_${component})
  cpack_add_component(${component}_papers GROUP deb_${component})
endforeach()

add_custom_target(package VERBATIM USES_TERMINAL
  COMMAND ${CMAKE_CPACK_COMMAND} --config ${CPACK_OUTPUT_CONFIG_FILE}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages
  COMMENT "Packages, in ${CPACK_PACKAGE_DIRECTORY}")
add_dependencies(package granary_package)
