#pragma once
// Reads values from documents of other nodes, which may be anything.

#include <optional>
#include <string>

#include "src/watch/node_document.h"

namespace granary::watch {

/// Returns the number at a path such as "/memory/limit_bytes"; none if there is none.
std::optional<double> number_at(const Json& document, const char* path);

/// Returns the text at the path, without control characters so that it can be printed; empty if there is none.
std::string text_at(const Json& document, const char* path);

/// Whether the value at the path is true.
bool true_at(const Json& document, const char* path);

}  // namespace granary::watch
