#pragma once
// "did you mean": the known word nearest to a mistyped one.

#include <string>
#include <string_view>
#include <vector>

namespace granary::base {

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

/// The nearest known word, or "" if none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace granary::base
