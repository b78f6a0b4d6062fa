#pragma once
// Lists the options of a table, with their ranges. include/granary/table.h has their types and defaults, and says more
// of each.

#include <granary/limits.h>
#include <granary/table.h>

#include "src/base/option.h"

namespace granary::option {

template <>
struct Table<TableOptions> {
  static constexpr std::tuple kRows{
      number("max_value_bytes", &TableOptions::max_value_bytes, 1, kMaxValueBytes, kBytes,
             "size of the largest value; a shared table, whose records take room for it, requires it and allows less",
             "the greatest"),
      choice("index", &TableOptions::index, {{IndexKind::kOrdered, "ordered"}, {IndexKind::kHash, "hash"}},
             "how the table finds a key: by an ordered index, which can be scanned, or by a faster hash index"),
      number("expected_keys", &TableOptions::expected_keys, 1, kMaxExpectedKeys, "keys",
             "keys that a hash index is made for"),
      on_off("shared", &TableOptions::shared, "let other nodes reach the records one-sided"),
      on_off("immutable", &TableOptions::immutable, "let the table be sealed once it is loaded"),
  };
};

}  // namespace granary::option
