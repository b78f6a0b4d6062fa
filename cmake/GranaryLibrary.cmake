# granary_library(NAME <name> LAYER <n> SOURCES ... [USES <library>...] [LINKS <external target>...])
#
# One library per folder. USES names the Granary libraries whose headers it includes; each must be of a lower layer
# (programs, layer 10, may also use a library of their own layer that stands before them; a folder, that of the folder it
# lies in). tests/layers checks the
# includes against what is declared here, tests/linkage that the library links whole with what it declares.
#
# They are object libraries: whoever links them says so with granary_link, which also brings in what they use
# (docs/decisions/object-libraries.md).

set(GRANARY_LIBRARIES "" CACHE INTERNAL "")
set(GRANARY_PROGRAMS "" CACHE INTERNAL "")
set(GRANARY_PROGRAM_LAYER 10)

function(granary_library)
  cmake_parse_arguments(LIB "" "NAME;LAYER" "SOURCES;USES;LINKS" ${ARGN})
  set(target granary_${LIB_NAME})
  add_library(${target} OBJECT ${LIB_SOURCES})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${target} PUBLIC Threads::Threads ${LIB_LINKS})
  # What the shared library offers is marked with GRANARY_EXPORT (include/granary/export.h).
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(GRANARY_LTO)
    # Fat objects: programs of ours link across units; whoever links the installed library need not.
    target_compile_options(${target} PRIVATE -flto -ffat-lto-objects)
  endif()
  # Several sources at once compile in much less time. So names in a library's anonymous namespaces differ from source to source.
  if(GRANARY_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(used ${LIB_USES})
    if(NOT TARGET granary_${used})
      message(FATAL_ERROR "${LIB_NAME} uses ${used}, which is not declared before it")
    endif()
    get_target_property(used_layer granary_${used} GRANARY_LAYER)
    get_target_property(used_folder granary_${used} GRANARY_FOLDER)
    string(FIND "${folder}" "${used_folder}/" below)
    if(below EQUAL 0 AND used_layer EQUAL LIB_LAYER)
      continue()
    endif()
    if(NOT used_layer LESS LIB_LAYER AND NOT LIB_LAYER EQUAL GRANARY_PROGRAM_LAYER)
      message(FATAL_ERROR "${LIB_NAME} (layer ${LIB_LAYER}) may not use ${used} (layer ${used_layer})")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES GRANARY_LAYER ${LIB_LAYER} GRANARY_FOLDER "${folder}"
                        GRANARY_USES "${LIB_USES}" GRANARY_LINKS "${LIB_LINKS}")
  set(GRANARY_LIBRARIES ${GRANARY_LIBRARIES} ${LIB_NAME} CACHE INTERNAL "")
endfunction()

# granary_closure(<variable> <library>...): the libraries and all that they use, each once.
function(granary_closure variable)
  set(found "")
  set(open ${ARGN})
  while(open)
    list(POP_FRONT open library)
    if(NOT TARGET granary_${library})
      message(FATAL_ERROR "no Granary library is named '${library}'; declared are: ${GRANARY_LIBRARIES}")
    endif()
    if(NOT library IN_LIST found)
      list(APPEND found ${library})
      get_target_property(uses granary_${library} GRANARY_USES)
      list(APPEND open ${uses})
    endif()
  endwhile()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# granary_link(<target> <library>...): links an executable with the libraries and all that they use. An object library
# gives its objects only to those that link it directly, so the closure is named in full.
function(granary_link target)
  granary_closure(libraries ${ARGN})
  list(TRANSFORM libraries PREPEND granary_)
  target_link_libraries(${target} PRIVATE ${libraries})
endfunction()

# granary_program(NAME <name> SOURCES ... USES <library>... [LINKS <external target>...])
#
# An executable of layer 10, target granary_<name>, with the libraries it uses.
function(granary_program)
  cmake_parse_arguments(PROGRAM "" "NAME" "SOURCES;USES;LINKS" ${ARGN})
  set(target granary_${PROGRAM_NAME})
  add_executable(${target} ${PROGRAM_SOURCES})
  granary_link(${target} ${PROGRAM_USES})
  target_link_libraries(${target} PRIVATE ${PROGRAM_LINKS})
  if(GRANARY_LTO)
    target_link_options(${target} PRIVATE -flto=auto -O3)
  endif()
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_target_properties(${target} PROPERTIES GRANARY_LAYER ${GRANARY_PROGRAM_LAYER} GRANARY_FOLDER "${folder}"
                        GRANARY_USES "${PROGRAM_USES}")
  set(GRANARY_PROGRAMS ${GRANARY_PROGRAMS} ${PROGRAM_NAME} CACHE INTERNAL "")
endfunction()

# granary_write_layers(<file>): all that was declared, for tests/layers. Call it when everything is declared.
function(granary_write_layers file)
  set(entries "")
  foreach(name ${GRANARY_LIBRARIES} ${GRANARY_PROGRAMS})
    foreach(property LAYER FOLDER USES)
      get_target_property(${property} granary_${name} GRANARY_${property})
    endforeach()
    list(JOIN USES "\", \"" uses)
    list(APPEND entries "  {\"name\": \"${name}\", \"layer\": ${LAYER}, \"folder\": \"${FOLDER}\", \"uses\": [\"${uses}\"]}")
  endforeach()
  get_property(folders GLOBAL PROPERTY GRANARY_TEST_FOLDERS)
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    get_property(uses GLOBAL PROPERTY GRANARY_TEST_USES_${folder})
    granary_closure(uses ${uses})
    list(JOIN uses "\", \"" uses)
    list(APPEND entries "  {\"name\": \"${folder}\", \"layer\": 11, \"folder\": \"${folder}\", \"uses\": [\"${uses}\"]}")
  endforeach()
  list(JOIN entries ",\n" text)
  string(REPLACE "[\"\"]" "[]" text "${text}")
  file(WRITE ${file} "[\n${text}\n]\n")
endfunction()
