#pragma once
// The TOML library, as it is used here: errors are values, nothing is written back.

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
