// Measures the ordered index alone, with one thread: inserts in order and in random order, random lookups one by one
// and many at once, and scans. Values are pointers to 128-byte records. Lookups touch a record's first word, as the
// engine does.
//
//   granary_index_bench [keys] [lookups]

#include <time.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kvstore/common/node_memory.h"
#include "kvstore/ordered/tree.h"
#include "src/base/random.h"
#include "src/epoch/epoch.h"
#include "src/memory/region.h"
#include "src/memory/slab.h"

namespace granary::bench {
namespace {

using kvstore::ordered::Lookup;
using kvstore::ordered::Tree;

struct Record {
  std::uint64_t number;
  char value[120];
};

struct Key {
  char bytes[8];
  explicit Key(std::uint64_t number) {
    const std::uint64_t word = __builtin_bswap64(number);
    __builtin_memcpy(bytes, &word, sizeof bytes);
  }
  operator std::string_view() const { return {bytes, sizeof bytes}; }
};

class CountingVisitor final : public kvstore::ordered::ScanVisitor {
 public:
  explicit CountingVisitor(std::uint64_t limit) : limit_(limit) {}
  void on_leaf(const kvstore::ordered::Leaf*, kvstore::ordered::Version) override {}
  bool on_entry(std::string_view, kvstore::ordered::Value value) override {
    sum += reinterpret_cast<const Record*>(value)->number;
    return ++seen_ < limit_;
  }
  std::uint64_t sum = 0;

 private:
  const std::uint64_t limit_;
  std::uint64_t seen_ = 0;
};

/// Returns the processor time of this thread. Other programs on the machine disturb it less than the wall clock.
double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename Work>
void measure(const char* what, std::uint64_t operations, Work&& work) {
  const double start = seconds_now();
  const std::uint64_t sum = work();
  const double seconds = seconds_now() - start;
  fmt::print("{:<28} {:>8.2f} M/s {:>8.0f} ns   (sum {})\n", what, static_cast<double>(operations) / seconds / 1e6,
             seconds / static_cast<double>(operations) * 1e9, sum);
}

class IndexBench {
 public:
  IndexBench(std::uint64_t keys, std::uint64_t lookups)
      : keys_(keys),
        lookups_(lookups),
        region_(memory::Region::map({.reserve_bytes = keys * 128 + (1u << 30)}).value()),
        records_(reinterpret_cast<Record*>(region_->take((keys * sizeof(Record) / kExtent + 1) * kExtent))),
        pool_(*region_, {}),
        epochs_({}),
        cache_(pool_),
        memory_(cache_, epochs_) {
    for (std::uint64_t i = 0; i < keys; ++i) records_[i].number = i;
  }

  void run() {
    fmt::print("{} keys of 8 bytes, pages {}\n", keys_, region_->page_kind());
    std::vector<std::uint64_t> numbers(keys_);
    std::iota(numbers.begin(), numbers.end(), 0);
    load("insert in order", numbers);
    lookups();
    base::Random random(1);
    for (std::uint64_t i = keys_; i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
    load("insert in random order", numbers);
    lookups();
  }

 private:
  void load(const char* what, const std::vector<std::uint64_t>& numbers) {
    tree_ = std::make_unique<Tree>(memory_);
    const std::int64_t before = cache_.index_bytes_in_use();
    measure(what, keys_, [&] {
      std::uint64_t inserted = 0;
      for (const std::uint64_t number : numbers) {
        const auto value = reinterpret_cast<kvstore::ordered::Value>(&records_[number]);
        inserted += tree_->insert_if_absent(Key(number), value, memory_).changes.size() != 0;
      }
      return inserted;
    });
    const std::int64_t bytes = cache_.index_bytes_in_use() - before;
    fmt::print("{:<28} {:>8.1f} bytes a key\n", "", static_cast<double>(bytes) / static_cast<double>(keys_));
  }

  void lookups() {
    measure("find", lookups_, [&] {
      base::Random random(2);
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < lookups_; ++i) {
        sum += reinterpret_cast<const Record*>(tree_->find(Key(random.below(keys_))).value)->number;
      }
      return sum;
    });
    measure("find_many of 16", lookups_, [&] { return find_many(16); });
    measure("scan of 100 (entries)", lookups_, [&] {
      base::Random random(3);
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < lookups_ / 100; ++i) {
        CountingVisitor visitor(100);
        const Key from(random.below(keys_ - 100));
        tree_->scan({from, true, {}, false, true}, kvstore::ordered::Direction::kForward, visitor);
        sum += visitor.sum;
      }
      return sum;
    });
    measure("scan of 1", lookups_ / 10, [&] {
      base::Random random(3);
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < lookups_ / 10; ++i) {
        CountingVisitor visitor(1);
        const Key from(random.below(keys_ - 100));
        tree_->scan({from, true, {}, false, true}, kvstore::ordered::Direction::kForward, visitor);
        sum += visitor.sum;
      }
      return sum;
    });
  }

  std::uint64_t find_many(std::size_t batch) {
    base::Random random(2);
    std::vector<Key> keys(batch, Key(0));
    std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<Lookup> results(batch);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < lookups_ / batch; ++i) {
      for (Key& key : keys) key = Key(random.below(keys_));
      tree_->find_many(views, results);
      for (const Lookup& result : results) sum += reinterpret_cast<const Record*>(result.value)->number;
    }
    return sum;
  }

  static constexpr std::uint64_t kExtent = memory::SlabPool::kExtentBytes;

  const std::uint64_t keys_, lookups_;
  std::unique_ptr<memory::Region> region_;
  Record* const records_;
  memory::SlabPool pool_;
  epoch::EpochManager epochs_;
  memory::SlabCache cache_;
  kvstore::NodeMemory memory_;
  std::unique_ptr<Tree> tree_;
};

}  // namespace
}  // namespace granary::bench

int main(int argc, char** argv) {
  const std::uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  const std::uint64_t lookups = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4000000;
  if (keys < 200 || lookups < 16) {
    fmt::print(stderr, "usage: granary_index_bench [keys ≥ 200] [lookups ≥ 16]\n");
    return 2;
  }
  granary::bench::IndexBench(keys, lookups).run();
  return 0;
}
