// Makes many puts. The searches of a batch of them come first, together, and then each is made as a single one is.

#include <algorithm>
#include <array>

#include "src/base/check.h"
#include "src/txn/execution.h"

namespace granary::txn {

Outcome Execution::multi_put(std::span<MultiPut> puts) {
  if (const Outcome read = read_replaced_elsewhere(puts); read != Outcome::kOk) return read;
  const std::uint64_t serial = transaction_.serial();
  while (!puts.empty()) {
    const std::span<MultiPut> batch = puts.first(std::min(LocalAccess::kMostPuts, puts.size()));
    std::array<cc::Record*, LocalAccess::kMostPuts> found;
    local_.find_together(batch, found);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      MultiPut& put = batch[i];
      if (put.outcome != Outcome::kOk) continue;
      TableCore& table = *put.table.core();
      put.outcome = found[i] != nullptr && table.indexes().empty() ? local_.put(table, put.key, put.value, found[i])
                                                                   : write(table, put.key, put.value, kPut);
      if (put.outcome != Outcome::kOk && transaction_.standing(serial) != Outcome::kOk) return put.outcome;
    }
    puts = puts.subspan(batch.size());
  }
  return Outcome::kOk;
}

/// A record that is found stays valid, also when other transactions of the worker run before it is written: the
/// transaction's epoch slot stays entered. Until then the key may get another record, as after any other search.
void LocalAccess::find_together(std::span<const MultiPut> puts, std::span<cc::Record*> found) {
  base::debug_check(puts.size() <= kMostPuts, "puts come in batches");
  const cc::IndexTime time(worker_.state().timed_work, worker_.shared().meter);
  std::array<std::string_view, kMostPuts> keys;
  std::array<cc::Lookup, kMostPuts> at;
  std::array<std::size_t, kMostPuts> put_of;
  for (std::size_t from = 0, to = 0; from < puts.size(); from = to) {
    TableCore* const table = puts[from].table.core();
    std::size_t count = 0;
    for (; to < puts.size() && puts[to].table.core() == table; ++to) {
      found[to] = nullptr;
      if (puts[to].outcome != Outcome::kOk || home_elsewhere(*table, puts[to].key)) continue;
      found[to] = lookups_.remembered(table->index(), puts[to].key);
      if (found[to] != nullptr) continue;
      put_of[count] = to;
      keys[count++] = puts[to].key;
    }
    if (count == 0) continue;
    table->index().find_many({keys.data(), count}, {at.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      cc::Record* const record = record::record_of(at[i].value);
      if (record == nullptr) continue;
      found[put_of[i]] = lookups_.remembered(table->index(), keys[i]) = record;
      table->prefetch(record);
    }
  }
}

}  // namespace granary::txn
