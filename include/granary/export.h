#pragma once
// GRANARY_EXPORT marks the classes and functions of the public headers whose code is in the shared library. The library
// is compiled with hidden visibility, so nothing else of it is visible from outside.

#define GRANARY_EXPORT __attribute__((visibility("default")))
