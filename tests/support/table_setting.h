#pragma once
// Sets which kind of tables a test program's databases have where the test does not care: local ones or, by
// --tables=shared, shared ones, so that whole suites run again with these.

#include <granary/table.h>

namespace granary::tests {

inline bool asked_shared_tables = false;  // written by main() only

inline TableOptions table_setting(TableOptions options) {
  constexpr std::uint32_t kGreatestOfAnyTest = 100000;
  if (!asked_shared_tables) return options;
  options.shared = true;
  if (options.max_value_bytes == 0) options.max_value_bytes = kGreatestOfAnyTest;
  return options;
}

}  // namespace granary::tests
