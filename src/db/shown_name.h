#pragma once
// Shows in messages the names that a caller has made up.

#include <string>
#include <string_view>

namespace granary::db {

/// Returns the name in quotes, for a message. Only the beginning of a long name is shown, so that the message stays one
/// line.
inline std::string shown_name(std::string_view name) {
  constexpr std::size_t kMost = 100;
  if (name.size() <= kMost) return "'" + std::string(name) + "'";
  return "'" + std::string(name.substr(0, kMost)) + "...' (" + std::to_string(name.size()) + " bytes)";
}

}  // namespace granary::db
