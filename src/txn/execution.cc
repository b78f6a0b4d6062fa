// Says for each operation where its keys live, and passes it on.

#include "src/txn/execution.h"

#include <new>

#include "src/base/test_hooks.h"
#include "src/txn/index_range.h"
#include "src/txn/multi_get.h"
#include "src/txn/remote_access.h"

namespace granary::txn {

Outcome Execution::get(Home home, TableCore& table, std::string_view key, std::string& value) {
  if (!home) [[likely]]
    return local_.get(table, key, value);
  RemoteGet get{.key = {&table, *home, key}};
  const Outcome outcome = find_elsewhere(get);
  value.assign(get.value);
  return outcome;
}

Outcome Execution::multi_get(std::span<MultiGet> gets) try {
  GetsElsewhere<RemoteGet> elsewhere(local_.arena(), gets.size());
  const Outcome here = split_by_home(gets, local_.shared(), elsewhere,
                                     [this](const LocalGets& batch) { return local_.get_together(batch); });
  return here != Outcome::kOk || elsewhere.gets.empty() ? here : multi_get_elsewhere(elsewhere);
} catch (const std::bad_alloc&) {  // for the lists of gets, or for a local read
  return transaction_.doom_with(AbortReason::kOutOfMemory);
}

Outcome Execution::declare(std::span<const Declared> keys) {
  base::Batch<DeclaredKey> elsewhere(local_.arena(), keys.size());
  for (const Declared& declared : keys) {
    const Home home = home_elsewhere(*declared.table.core(), declared.key);
    if (home) {
      elsewhere.push_back({{declared.table.core(), *home, declared.key}, declared.write});
    } else {
      local_.declare(*declared.table.core(), declared.key);
    }
  }
  return elsewhere.empty() ? Outcome::kOk : declare_elsewhere(elsewhere);
}

ScanResult Execution::scan(TableCore& table, TableCore* index, const ScanRange& range, ScanFn visit) {
  const Home home = home_elsewhere(index == nullptr ? table : *index, range.from);
  if (index == nullptr) return scan_at(home, table, nullptr, range, visit);
  const IndexRange entries(index->index_options(), range);
  return scan_at(home, table, index, entries.entries(), visit);
}

GetResult Execution::get_part(TableCore& table, std::string_view key, std::size_t from, std::span<char> buffer) {
  const Home home = home_elsewhere(table, key);
  if (!home && local_.reads_parts(table)) return local_.get_part(table, key, from, buffer);
  const Outcome got = get(home, table, key, whole_);
  return got == Outcome::kOk ? copy_part_out(whole_, from, buffer) : GetResult{got, 0};
}

Outcome Execution::write_part(TableCore& table, std::string_view key, std::size_t from, std::string_view bytes) {
  const Home home = home_elsewhere(table, key);
  if (!home && table.indexes().empty() && local_.writes_parts(table)) return local_.write_part(table, key, from, bytes);
  if (home) {
    RemoteGet one{.key = {&table, *home, key}, .will_write = true};
    const Outcome found = find_elsewhere(one);
    if (found != Outcome::kOk) return found;
    whole_.assign(one.value);
  } else {
    if (const Outcome locked = local_.lock_to_write(table, key); locked != Outcome::kOk) return locked;
    if (const Outcome found = local_.get(table, key, whole_); found != Outcome::kOk) return found;
  }
  if (!part_fits(from, bytes.size(), whole_.size())) return Outcome::kPartBeyondValue;
  bytes.copy(whole_.data() + from, bytes.size());
  return write(table, key, whole_, kUpdate);
}

}  // namespace granary::txn
