#pragma once
// Tells what this binary was built from, so that every result can say so. The build generates the values.

#include <string>
#include <string_view>

namespace granary::base {

struct BuildInfo {
  std::string_view version;     ///< "0.1.0"
  std::string_view commit;      ///< "abc1234567", "...-dirty", or "unknown" outside a git checkout
  std::string_view build_type;  ///< "Release"
  std::string_view compiler;    ///< "GNU 12.2.0"
  std::string_view flags;       ///< as given to the compiler
  bool test_hooks;              ///< whether sync points and injected bugs are compiled in
};

const BuildInfo& build_info();

/// Returns a text such as "0.1.0 (commit abc1234567, release)".
std::string version_text();

}  // namespace granary::base
