#include "src/db/table_difference.h"

#include <fmt/format.h>

namespace granary::db {
namespace {

std::string kind(const recovery::TableEntry& entry) {
  return entry.base ? fmt::format("an index of table {}", *entry.base) : std::string("a table");
}

std::string_view kind_of_index(const recovery::TableEntry& entry) {
  return entry.kind() == IndexKind::kHash ? "a hash table" : "ordered";
}

std::string text(const IndexPart& part) {
  return fmt::format("{} bytes {} to {} with encoding {}", part.source == IndexPart::Source::kKey ? "key" : "value",
                     part.offset, part.offset + part.length, static_cast<int>(part.encoding));
}

}  // namespace

std::string difference(const recovery::TableEntry& recovered, const recovery::TableEntry& declared) {
  if (recovered.base != declared.base) return fmt::format("it was {}, not {}", kind(recovered), kind(declared));
  if (recovered.max_value_bytes != declared.max_value_bytes)
    return fmt::format("max_value_bytes was {}, not {}", recovered.max_value_bytes, declared.max_value_bytes);
  if (recovered.kind() != declared.kind())
    return fmt::format("its index was {}, not {}", kind_of_index(recovered), kind_of_index(declared));
  if (recovered.shared != declared.shared)
    return fmt::format("it was {}, not {}", recovered.shared ? "shared" : "local",
                       declared.shared ? "shared" : "local");
  if (recovered.immutable != declared.immutable)
    return fmt::format("it was {}immutable", recovered.immutable ? "" : "not ");
  if (recovered.index.unique != declared.index.unique)
    return fmt::format("it was {}, not {}", recovered.index.unique ? "unique" : "not unique",
                       declared.index.unique ? "unique" : "not unique");
  if (recovered.index.parts.size() != declared.index.parts.size())
    return fmt::format("it had {} parts, not {}", recovered.index.parts.size(), declared.index.parts.size());
  for (std::size_t i = 0; i < recovered.index.parts.size(); ++i) {
    const std::string was = text(recovered.index.parts[i]), is = text(declared.index.parts[i]);
    if (was != is) return fmt::format("part {} was {}, not {}", i + 1, was, is);
  }
  return {};
}

}  // namespace granary::db
