#include "bench/recovery/verify.h"

#include <fmt/format.h>

#include "bench/recovery/victim.h"

namespace granary::bench::recovery {
namespace {

constexpr std::uint64_t kBatch = 1000;

Status unreadable(const RunResult& done) {
  return {StatusCode::kResourceExhausted, fmt::format("cannot read what was recovered: {}", name(done.reason))};
}

/// The counts of one pass over the keys.
struct KeyCounts {
  std::uint64_t present = 0, wrong = 0, missing = 0, unexpected = 0;
  std::uint64_t first_bad = 0;

  void bad(std::uint64_t key, std::uint64_t* what) {
    if (wrong + missing + unexpected == 0) first_bad = key;
    ++*what;
  }
};

void look_at(const Load& load, std::uint64_t key, std::uint64_t operation, bool found, const std::string& value,
             KeyCounts* counts) {
  std::string expected;
  if (found) ++counts->present;
  if (operation == 0) {
    if (found) counts->bad(key, &counts->unexpected);
    return;
  }
  if (!found) return counts->bad(key, &counts->missing);
  make_value(load, key, operation, &expected);
  if (value != expected) counts->bad(key, &counts->wrong);
}

/// Counts the records of the table in the order of their keys, those that no load writes included.
Result<std::uint64_t> count_records(Worker& worker, const Table& table, const EarlyEnd& end) {
  std::string from;
  std::uint64_t records = 0, seen = kBatch;
  while (seen == kBatch && !end.requested()) {
    std::string last;
    const RunResult done = worker.run([&](Transaction& transaction) {
      seen = 0;
      static_cast<void>(transaction.scan(table, {.from = from, .limit = kBatch}, [&](std::string_view key, auto) {
        ++seen;
        last = key;
        return true;
      }));
    });
    if (!done.committed()) return unreadable(done);
    records += seen;
    from = last + '\0';  // the key that follows the last one
  }
  return records;
}

}  // namespace

Result<Finding> verify(Database& database, const Load& load, const EarlyEnd& end) {
  const auto table = database.table(kTableName);
  if (!table.ok()) return table.status();
  auto worker = database.register_worker();
  if (!worker.ok()) return worker.status();
  const std::vector<std::uint64_t> last = last_operations(load);
  KeyCounts counts;
  for (std::uint64_t from = 0; from < load.keys && !end.requested(); from += kBatch) {
    KeyCounts attempt;
    const RunResult done = worker->run([&](Transaction& transaction) {
      attempt = counts;
      std::string value;
      for (std::uint64_t key = from; key < std::min(load.keys, from + kBatch); ++key) {
        const bool found = transaction.get(*table, key_of(key), value) == Outcome::kOk;
        look_at(load, key, last[key], found, value, &attempt);
      }
    });
    if (!done.committed()) return unreadable(done);
    counts = attempt;
  }
  const auto records = count_records(*worker, *table, end);
  if (!records.ok()) return records.status();
  const std::uint64_t bad = counts.wrong + counts.missing + counts.unexpected;
  const bool same_count = *records == counts.present || end.requested();
  Finding finding{"recovered contents", bad == 0 && same_count,
                  fmt::format("{} records, {} wrong, {} missing, {} unexpected", counts.present, counts.wrong,
                              counts.missing, counts.unexpected)};
  if (bad != 0) finding.detail += fmt::format("; the first at key {}", counts.first_bad);
  if (!same_count) {
    const bool more = *records > counts.present;
    finding.detail += fmt::format("; a scan of the table finds {} records, so {} {}", *records,
                                  more ? *records - counts.present : counts.present - *records,
                                  more ? "of them have keys that the load does not have" : "are missing in it");
  }
  return finding;
}

}  // namespace granary::bench::recovery
