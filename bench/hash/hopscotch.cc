#include <optional>
#include <vector>

#include "bench/hash/counted_table.h"
#include "bench/hash/place.h"

namespace granary::bench::hash {
namespace {

constexpr std::uint64_t kNeighbourhood = 8;
constexpr std::uint64_t kMaxProbe = 4096;  ///< how far a free slot is looked for

class Hopscotch final : public CountedTable {
 public:
  Hopscotch(std::uint64_t slots, std::uint64_t seed) : seed_(seed), slots_(slots, kFree) {}

  /// The nearest free slot hops towards the key's home as long as some key may move into it. A key that gets no slot goes to the
  /// chain of its home, which is a READ more; it need not be stored to be counted.
  bool insert(std::uint64_t key) override {
    std::optional<std::uint64_t> free = free_slot_from(home(key));
    while (free && distance(home(key), *free) >= kNeighbourhood) free = hop(*free);
    if (free) slots_[*free] = key;
    return true;
  }

  unsigned reads(std::uint64_t key) const override {
    for (std::uint64_t i = 0; i < kNeighbourhood; ++i) {
      if (slots_[(home(key) + i) % slots_.size()] == key) return 1;
    }
    return 2;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  std::uint64_t home(std::uint64_t key) const { return place_of(key, seed_, slots_.size()); }
  std::uint64_t distance(std::uint64_t from, std::uint64_t to) const {
    return (to + slots_.size() - from) % slots_.size();
  }

  std::optional<std::uint64_t> free_slot_from(std::uint64_t start) const {
    for (std::uint64_t i = 0; i < kMaxProbe && i < slots_.size(); ++i) {
      const std::uint64_t at = (start + i) % slots_.size();
      if (slots_[at] == kFree) return at;
    }
    return std::nullopt;
  }

  /// Moves a key of the slots before into the free one and returns the slot it left; the farthest that may move.
  std::optional<std::uint64_t> hop(std::uint64_t free) {
    for (std::uint64_t back = kNeighbourhood - 1; back > 0; --back) {
      const std::uint64_t from = (free + slots_.size() - back) % slots_.size();
      if (distance(home(slots_[from]), free) >= kNeighbourhood) continue;
      slots_[free] = slots_[from];
      slots_[from] = kFree;
      return from;
    }
    return std::nullopt;
  }

  const std::uint64_t seed_;
  std::vector<std::uint64_t> slots_;
};

}  // namespace

std::unique_ptr<CountedTable> make_hopscotch(std::uint64_t slots, std::uint64_t seed) {
  return std::make_unique<Hopscotch>(slots, seed);
}

}  // namespace granary::bench::hash
