#include "bench/hash/cuckoo.h"

#include <utility>

#include "bench/hash/counted_table.h"

namespace granary::bench::hash {
namespace {

constexpr unsigned kMaxKicks = 100'000;

class CountedCuckoo final : public CountedTable {
 public:
  CountedCuckoo(std::uint64_t slots, std::uint64_t seed) : table_(slots, seed) {}
  bool insert(std::uint64_t key) override { return table_.insert(key); }
  unsigned reads(std::uint64_t key) const override { return table_.looks(key); }

 private:
  Cuckoo table_;
};

}  // namespace

/// Inserts a key. If its slots are all taken, it drives one key out, but never the one by which it was driven out
/// itself.
bool Cuckoo::insert(std::uint64_t key) {
  std::uint64_t last = slots_.size();
  for (unsigned kick = 0; kick < kMaxKicks; ++kick) {
    for (unsigned function = 0; function < kFunctions; ++function) {
      std::uint64_t& slot = slots_[place(key, function)];
      if (slot != kFree) continue;
      slot = key;
      return true;
    }
    const std::uint64_t victim = place(key, static_cast<unsigned>(random_.below(kFunctions)));
    if (victim == last) continue;
    last = victim;
    std::swap(key, slots_[victim]);
  }
  return false;
}

unsigned Cuckoo::looks(std::uint64_t key) const {
  unsigned function = 0;
  while (function < kFunctions && slots_[place(key, function)] != key) ++function;
  return function + 1;
}

std::unique_ptr<CountedTable> make_cuckoo(std::uint64_t slots, std::uint64_t seed) {
  return std::make_unique<CountedCuckoo>(slots, seed);
}

}  // namespace granary::bench::hash
