#pragma once
// Draws the operations and their keys, and defines what values look like. It is the same for every store.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string_view>

#include "bench/harness/zipf.h"
#include "bench/ycsb/parameters.h"
#include "src/base/cache_line.h"
#include "src/base/random.h"

namespace granary::bench::ycsb {

/// A key's number as 8 bytes, which sort like the numbers.
class KeyBytes {
 public:
  explicit KeyBytes(std::uint64_t number) : bytes_(__builtin_bswap64(number)) {}
  std::string_view view() const { return {reinterpret_cast<const char*>(&bytes_), sizeof bytes_}; }
  bool operator==(const KeyBytes&) const = default;
  static std::uint64_t number(std::string_view key) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, key.data(), sizeof bytes);
    return __builtin_bswap64(bytes);
  }

 private:
  std::uint64_t bytes_;
};

/// Returns a value's counter. Values hold it in their first and in their last 8 bytes. Read-modify-writes add one to
/// both, so a lost update changes the sum over all records, and a torn value has two different counters.
inline std::uint64_t counter_of(std::string_view value) {
  std::uint64_t counter = 0;
  std::memcpy(&counter, value.data(), sizeof counter);
  return counter;
}
inline bool whole(std::string_view value) {
  return std::memcmp(value.data(), value.data() + value.size() - sizeof(std::uint64_t), sizeof(std::uint64_t)) == 0;
}
inline void set_counter(char* value, std::size_t size, std::uint64_t counter) {
  std::memcpy(value, &counter, sizeof counter);
  std::memcpy(value + size - sizeof counter, &counter, sizeof counter);
}

/// One operation of a transaction.
struct Step {
  Operation operation = Operation::kRead;
  KeyBytes key{0};
  std::uint32_t field = 0;  ///< the field that it changes
  std::size_t length = 0;   ///< how many records it visits if it is a scan

  bool writes() const { return operation != Operation::kRead && operation != Operation::kScan; }
  /// Whether it reads the present value of the record that has its key. A step that reads and writes changes one field.
  bool reads(std::uint32_t fields) const {
    switch (operation) {
      case Operation::kRead:
      case Operation::kReadModifyWrite: return true;
      case Operation::kUpdate: return fields > 1;
      case Operation::kPut:
      case Operation::kInsert:
      case Operation::kScan: break;
    }
    return false;
  }
  /// Whether its key is that of a record that is there: it can be declared.
  bool meets_record() const { return operation != Operation::kInsert && operation != Operation::kScan; }
};

/// The part of a record that the steps of a transaction read and write: all of it, or only the field that the step
/// changes.
struct Portion {
  std::size_t bytes;     ///< size of the record or of the field
  bool part;             ///< whether it is a field
  std::uint32_t fields;  ///< fields of a record

  /// Returns where the step's field begins in the record. Precondition: `part`.
  std::uint32_t from(const Step& step) const { return static_cast<std::uint32_t>(step.field * bytes); }
};

/// The keys of this node: those loaded and, with higher numbers, those inserted since. All clients share it.
class KeySpace {
 public:
  explicit KeySpace(std::uint64_t loaded) : loaded_(loaded), next_(loaded) {}
  std::uint64_t loaded() const { return loaded_; }
  /// Returns the number of a new key. Clients that insert add to next_; clients of mix d read it, and so does the
  /// workload when all have ended. Relaxed: a reader that draws a key before its record is inserted finds it missing.
  std::uint64_t take_next() { return next_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t count() const { return next_.load(std::memory_order_relaxed); }

 private:
  const std::uint64_t loaded_;
  alignas(base::kCacheLine) std::atomic<std::uint64_t> next_;
};

/// One client's stream of requests.
class Requests {
 public:
  Requests(const Parameters& parameters, const Zipf& zipf, KeySpace& keys, base::Random& random)
      : zipf_(zipf),
        keys_(keys),
        random_(random),
        latest_(parameters.latest),
        distributed_(parameters.distributed),
        share_(parameters.share),
        fields_(parameters.fields),
        scan_length_(parameters.scan_length) {
    const auto& percent = parameters.shares.percent;
    const double all = std::accumulate(percent.begin(), percent.end(), 0.0);
    double sum = 0;
    for (std::size_t i = 0; i < kOperations; ++i) {
      sum += percent[i];
      upto_[i] = static_cast<std::uint64_t>(std::llround(sum / all * static_cast<double>(kDraws)));
    }
  }

  Operation next_operation() {
    const std::uint64_t draw = random_.below(kDraws);
    std::size_t operation = 0;
    while (draw >= upto_[operation]) ++operation;
    return static_cast<Operation>(operation);
  }

  std::uint64_t next_key() {
    if (latest_) [[unlikely]] {
      const std::uint64_t age = zipf_.next(random_);
      return keys_.count() - 1 - age;
    }
    const std::uint64_t key = zipf_.next_scrambled(random_);
    return share_.alone() ? key : key + keys_.loaded() * next_node();
  }

  /// Returns a new key, for an insert.
  std::uint64_t next_new_key() { return keys_.take_next(); }

  /// Fills `steps` with operations on distinct keys.
  void next_steps(std::span<Step> steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].operation = next_operation();
      if (steps[i].operation == Operation::kInsert) {
        steps[i].key = KeyBytes(next_new_key());
        continue;
      }
      if (steps[i].operation == Operation::kScan) steps[i].length = next_scan_length();
      steps[i].field = static_cast<std::uint32_t>(random_.below(fields_));
      do steps[i].key = KeyBytes(next_key());
      while (std::any_of(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](const Step& before) { return before.key == steps[i].key; }));
    }
  }

  std::size_t next_scan_length() { return 1 + random_.below(scan_length_); }

 private:
  /// Returns the node whose key is drawn: mostly this one, and another one with probability `distributed_`.
  std::uint32_t next_node() {
    if (!random_.chance(distributed_)) return share_.node;
    const auto other = static_cast<std::uint32_t>(random_.below(share_.nodes - 1));
    return other < share_.node ? other : other + 1;
  }

  const Zipf& zipf_;
  KeySpace& keys_;
  base::Random& random_;
  /// An operation is drawn as a number below kDraws. Operation i has the numbers below upto_[i] that none before has.
  static constexpr std::uint64_t kDraws = std::uint64_t{1} << 32;
  std::uint64_t upto_[kOperations] = {};
  const bool latest_;
  const double distributed_;
  const NodeShare share_;
  const std::uint32_t fields_;
  const std::uint32_t scan_length_;
};

}  // namespace granary::bench::ycsb
