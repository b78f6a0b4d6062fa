# granary_library(NAME <name> LAYER <n> SOURCES ... [USES <library>...] [LINKS <external target>...])
#
# One library per folder. USES names the Granary libraries whose headers it may include; each must be of a
# lower layer. tests/layers checks the includes against what is declared here.

set(GRANARY_LIBRARIES "" CACHE INTERNAL "")

function(granary_library)
  cmake_parse_arguments(LIB "" "NAME;LAYER" "SOURCES;USES;LINKS" ${ARGN})
  set(target granary_${LIB_NAME})
  add_library(${target} OBJECT ${LIB_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PUBLIC Threads::Threads ${LIB_LINKS})
  foreach(used ${LIB_USES})
    get_target_property(used_layer granary_${used} GRANARY_LAYER)
    if(NOT used_layer LESS LIB_LAYER)
      message(FATAL_ERROR "${LIB_NAME} (layer ${LIB_LAYER}) may not use ${used} (layer ${used_layer})")
    endif()
  endforeach()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_target_properties(${target} PROPERTIES GRANARY_LAYER ${LIB_LAYER} GRANARY_FOLDER "${folder}" GRANARY_USES "${LIB_USES}")
  set(GRANARY_LIBRARIES ${GRANARY_LIBRARIES} ${LIB_NAME} CACHE INTERNAL "")
endfunction()
