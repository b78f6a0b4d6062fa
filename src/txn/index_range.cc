#include "src/txn/index_range.h"

#include <optional>

#include "src/txn/index_key.h"

namespace granary::txn {
namespace {

/// Returns the first key behind all keys that begin with `prefix`; nullopt if there is none.
std::optional<std::string> behind_all(std::string_view prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.remove_suffix(1);
  if (prefix.empty()) return std::nullopt;
  std::string next(prefix);
  next.back() = static_cast<char>(next.back() + 1);
  return next;
}

}  // namespace

IndexRange::IndexRange(const IndexOptions& options, const ScanRange& range) : entries_(range) {
  if (options.unique) return;
  // A bound that is no whole secondary key equals none, so the entries compare to it as their secondary keys do.
  const std::optional<std::size_t> from = index_key_bytes(options, range.from);
  if (from && (*from < range.from.size() || !range.from_inclusive)) {
    // The entries of this secondary key are before the range. If none come behind them, the range is empty.
    const std::optional<std::string> behind = behind_all(range.from.substr(0, *from));
    if (!behind) entries_.limit = 0;
    behind_from_ = behind.value_or(std::string());
    entries_.from = behind_from_;
    entries_.from_inclusive = true;
  }
  const std::optional<std::size_t> to = range.to ? index_key_bytes(options, *range.to) : std::nullopt;
  if (to && (*to < range.to->size() || range.to_inclusive)) {
    // The entries of this secondary key are in the range, unless it begins behind them.
    const std::optional<std::string> behind = behind_all(range.to->substr(0, *to));
    behind_to_ = behind.value_or(std::string());
    entries_.to = behind ? std::optional<std::string_view>(behind_to_) : std::nullopt;
    entries_.to_inclusive = false;
  }
}

}  // namespace granary::txn
