#pragma once
// Parts of values that a replay has met, beside the tables, until all entries have been met that may be about their
// records: only then is it known which whole values they lie on. Records of which no part was met are not here, nor
// parts that are older than what the table has when they come.

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
    std::uint64_t hash = 0;  ///< of table and key
    std::uint32_t table = 0;
    std::string key;
    MergedParts parts;
    const std::string* file = nullptr;  ///< the log's file that has the newest of them
  };

  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  explicit PendingParts(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Any thread adds a part. `file`, from where it comes, outlives this. False if all parts take more memory than the
  /// limit: then they are of no use, as some will be missing.
  [[nodiscard]] bool add(std::uint32_t table, const LoggedWrite& part, const std::string& file);
  /// Some part was refused.
  bool overflowed() const { return overflowed_.load(std::memory_order_relaxed); }
  bool empty() const { return memory_bytes_.load(std::memory_order_relaxed) == 0; }

  /// When nobody adds any more, several threads call this to share the records among them: visit(pending) is called
  /// once for each.
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

  /// Records, found by open addressing. A replay is as fast as this is, and each place that is looked at costs a cache
  /// miss: std::unordered_map looks at three.
  struct Shard {
    std::mutex mutex;  // guards what follows
    std::deque<Pending> records;
    std::vector<std::uint64_t> slots;  // a power of two: the hash's upper half, and the record's number, counted from 1
  };

  Pending& find_or_add(Shard& shard, std::uint64_t hash, std::uint32_t table, std::string_view key);
  static void grow(Shard& shard);

  const std::uint64_t limit_bytes_;
  std::array<Shard, kShards> shards_;
  // Of all parts and keys. Added to by all threads, for a rough limit and, when these have been joined, the question
  // whether there is any: relaxed.
  std::atomic<std::uint64_t> memory_bytes_{0};
  std::atomic<bool> overflowed_{false};  // set by any thread, read when these have been joined: relaxed
  std::atomic<std::size_t> next_{0};     // the shard that is taken next; only unique, so relaxed
};

}  // namespace granary::recovery
