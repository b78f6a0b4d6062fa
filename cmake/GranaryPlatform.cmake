# Compiler settings that hold for every target.

include(CheckLinkerFlag)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(FATAL_ERROR "Granary runs on x86-64 only; this is ${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(GRANARY_LTO AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(STATUS "GRANARY_LTO is for g++ only: building without optimization across translation units")
  set(GRANARY_LTO OFF)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# The compiler cache serves every checkout of the project, wherever it lies: it sees paths relative to the source folder. It takes
# precompiled headers only if it is told that these define no macro otherwise than the sources do, which holds for ours.
find_program(GRANARY_CCACHE ccache)
if(GRANARY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${GRANARY_CCACHE})
endif()

# mold links the two hundred test programs in a third of the time that GNU ld takes. Programs that are optimized across translation units are
# left to GNU ld, since the compiler takes nearly all of the time there.
find_program(GRANARY_MOLD mold)
if(GRANARY_MOLD AND NOT GRANARY_LTO)
  check_linker_flag(CXX -fuse-ld=mold GRANARY_TAKES_MOLD)
  if(GRANARY_TAKES_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

add_compile_options(-march=x86-64-v2 -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror=return-type)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # g++ 12 warns falsely of std::string operator+ (GCC bug 105651)
endif()
add_compile_definitions(GRANARY_TEST_HOOKS=$<BOOL:${GRANARY_TEST_HOOKS}>)
if(GRANARY_SANITIZE)
  add_compile_options(-fsanitize=${GRANARY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GRANARY_SANITIZE})
  if(GRANARY_SANITIZE MATCHES "undefined")
    # AddressSanitizer notices null pointers and dead objects as well; the two checks cost a sixth of the compilation.
    add_compile_options(-fno-sanitize=null,vptr)
  endif()
endif()
if(GRANARY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
