# Compiler settings that hold for every target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  message(FATAL_ERROR "Granary runs on x86-64 only; this is ${CMAKE_SYSTEM_PROCESSOR}")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(GRANARY_CCACHE ccache)
if(GRANARY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${GRANARY_CCACHE})
endif()

add_compile_options(-march=x86-64-v2 -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror=return-type)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # g++ 12 warns falsely of std::string operator+ (GCC bug 105651)
endif()
add_compile_definitions(GRANARY_TEST_HOOKS=$<BOOL:${GRANARY_TEST_HOOKS}>)
if(GRANARY_SANITIZE)
  add_compile_options(-fsanitize=${GRANARY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GRANARY_SANITIZE})
endif()
