#pragma once
// Keeps the parts of values that a replay has met beside the tables, until all entries have been met that may concern
// their records. Only then is it known which whole values the parts lie on. Records without any part are not here, nor
// are parts that are older than the table's version when they come.

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "recovery/logged_write.h"
#include "recovery/merged_parts.h"

namespace granary::recovery {

class PendingParts {
 public:
  /// The parts of one record.
  struct Pending {
    std::uint64_t hash = 0;  ///< the hash of table and key
    std::uint32_t table = 0;
    std::string key;
    MergedParts parts;
    const std::string* file = nullptr;  ///< the log's file with the newest part
  };

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  explicit PendingParts(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Adds a part, from any thread. `file`, which the part comes from, outlives this object. Returns false if all parts
  /// take more memory than the limit. Then they are of no use, as some will be missing.
  [[nodiscard]] bool add(std::uint32_t table, const LoggedWrite& part, const std::string& file);
  /// Whether the parts took more memory than the limit.
  bool overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  bool empty() const { return memory_bytes_.load(std::memory_order_relaxed) == 0; }

  /// Calls visit(pending) once for each record. Several threads call this, when no more parts are added, to share the
  /// records among them.
  template <typename Visit>
  void take_each(const Visit& visit) {
    for (std::size_t i = next_.fetch_add(1, std::memory_order_relaxed); i < kShards;
         i = next_.fetch_add(1, std::memory_order_relaxed)) {
      for (const Pending& pending : shards_[i].records) visit(pending);
      shards_[i].records.clear();
    }
  }

 private:
  static constexpr std::size_t kShards = 256;

  /// Records, found by open addressing. This decides how fast a replay is, and each place that is looked at costs a
  /// cache miss: std::unordered_map looks at three.
  struct Shard {
    std::mutex mutex;  // guards what follows
    std::deque<Pending> records;
    std::vector<std::uint64_t> slots;  // a power of two: the hash's upper half, and the record's number, counted from 1
  };

  Pending& find_or_add(Shard& shard, std::uint64_t hash, std::uint32_t table, std::string_view key);
  static void grow(Shard& shard);

  const std::uint64_t limit_bytes_;
  std::array<Shard, kShards> shards_;
  // The memory of all parts and keys. All threads add to it, for a rough limit and, when they have been joined, to tell
  // whether there is any part: relaxed.
  std::atomic<std::uint64_t> memory_bytes_{0};
  std::atomic<bool> overflowed_{false};  // set by any thread, read when all have been joined: relaxed
  std::atomic<std::size_t> next_{0};     // the shard to take next; only has to be unique, so relaxed
};

}  // namespace granary::recovery
