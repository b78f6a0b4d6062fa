#include <utility>
#include <vector>

#include "bench/hash/counted_table.h"
#include "bench/hash/place.h"

namespace granary::bench::hash {
namespace {

constexpr unsigned kFunctions = 3;
constexpr unsigned kMaxKicks = 100'000;

class Cuckoo final : public CountedTable {
 public:
  Cuckoo(std::uint64_t slots, std::uint64_t seed) : seed_(seed * kFunctions), slots_(slots, kFree), random_(seed) {}

  /// A key whose slots are all taken drives one out, never the one that it was driven out of itself.
  bool insert(std::uint64_t key) override {
    std::uint64_t last = slots_.size();
    for (unsigned kick = 0; kick < kMaxKicks; ++kick) {
      for (unsigned function = 0; function < kFunctions; ++function) {
        std::uint64_t& slot = slots_[place(key, function)];
        if (slot != kFree) continue;
        slot = key;
        return true;
      }
      std::uint64_t victim = place(key, static_cast<unsigned>(random_.below(kFunctions)));
      if (victim == last) continue;
      last = victim;
      std::swap(key, slots_[victim]);
    }
    return false;
  }

  unsigned reads(std::uint64_t key) const override {
    unsigned function = 0;
    while (function < kFunctions && slots_[place(key, function)] != key) ++function;
    return function + 1;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  std::uint64_t place(std::uint64_t key, unsigned function) const {
    return place_of(key, seed_ + function, slots_.size());
  }

  const std::uint64_t seed_;
  std::vector<std::uint64_t> slots_;
  base::Random random_;
};

}  // namespace

std::unique_ptr<CountedTable> make_cuckoo(std::uint64_t slots, std::uint64_t seed) {
  return std::make_unique<Cuckoo>(slots, seed);
}

}  // namespace granary::bench::hash
