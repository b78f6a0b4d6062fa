#pragma once
// Finds the known word that is nearest to a mistyped one, for "did you mean".

#include <string>
#include <string_view>
#include <vector>

namespace granary::base {

/// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

/// Returns the nearest known word, or "" if none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace granary::base
