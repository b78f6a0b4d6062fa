#pragma once
// Includes the TOML library, with errors as values and without writing.
//
// The library's parser asserts conditions that it checks right after that, and then refuses with a line. A user's file
// must neither abort the program in a build with assertions, nor be taken for well-formed by the optimizer in a build
// without. So its assertions are off, and are not turned into assumptions either, as they are where NDEBUG is defined.

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(expression) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
