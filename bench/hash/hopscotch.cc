#include "bench/hash/hopscotch.h"

#include "bench/hash/counted_table.h"

namespace granary::bench::hash {
namespace {

constexpr std::uint64_t kMaxProbe = 4096;  ///< the greatest distance at which a free slot is looked for

class CountedHopscotch final : public CountedTable {
 public:
  CountedHopscotch(std::uint64_t slots, std::uint64_t seed) : table_(slots, seed) {}

  /// Inserts a key. A key of a chain costs one more READ; it need not be stored to be counted.
  bool insert(std::uint64_t key) override {
    (void)table_.insert(key);
    return true;
  }
  unsigned reads(std::uint64_t key) const override { return table_.in_neighbourhood(key) ? 1 : 2; }

 private:
  Hopscotch table_;
};

}  // namespace

/// Inserts a key. The nearest free slot moves towards the key's home as long as some key may move into it.
bool Hopscotch::insert(std::uint64_t key) {
  std::optional<std::uint64_t> free = free_slot_from(home(key));
  while (free && distance(home(key), *free) >= kNeighbourhood) free = hop(*free);
  if (free) slots_[*free] = key;
  return free.has_value();
}

bool Hopscotch::in_neighbourhood(std::uint64_t key) const {
  for (std::uint64_t i = 0; i < kNeighbourhood; ++i) {
    if (slots_[(home(key) + i) % slots_.size()] == key) return true;
  }
  return false;
}

std::optional<std::uint64_t> Hopscotch::free_slot_from(std::uint64_t start) const {
  for (std::uint64_t i = 0; i < kMaxProbe && i < slots_.size(); ++i) {
    const std::uint64_t at = (start + i) % slots_.size();
    if (slots_[at] == kFree) return at;
  }
  return std::nullopt;
}

/// Moves a key of the slots before into the free one, the farthest that may move, and returns the slot that it left.
std::optional<std::uint64_t> Hopscotch::hop(std::uint64_t free) {
  for (std::uint64_t back = kNeighbourhood - 1; back > 0; --back) {
    const std::uint64_t from = (free + slots_.size() - back) % slots_.size();
    if (distance(home(slots_[from]), free) >= kNeighbourhood) continue;
    slots_[free] = slots_[from];
    slots_[from] = kFree;
    return from;
  }
  return std::nullopt;
}

std::unique_ptr<CountedTable> make_hopscotch(std::uint64_t slots, std::uint64_t seed) {
  return std::make_unique<CountedHopscotch>(slots, seed);
}

}  // namespace granary::bench::hash
