#pragma once
// The TOML library, as it is used here: errors are values, nothing is written back.
//
// Its parser asserts what it goes on to check, and refuses with a line: a file of the user's must not abort the program
// in a build with assertions, nor be taken for well-formed by the optimizer in one without. So its assertions are off,
// and are not turned into assumptions, which they are where NDEBUG is defined.

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(expression) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
