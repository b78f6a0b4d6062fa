#pragma once
// Describes a write as recovery has read it from a log.

#include <cstddef>
#include <optional>
#include <string_view>

#include "src/log/format.h"
#include "src/record/tid.h"

namespace granary::recovery {

struct LoggedWrite {
  record::TidWord tid = 0;  ///< without status bits
  bool removed = false;
  std::string_view key, value;
  std::optional<log::PartHeader> part = std::nullopt;  ///< tells which part of a value `value` is

  std::size_t bytes_after() const { return part ? part->whole_bytes : value.size(); }
};

}  // namespace granary::recovery
