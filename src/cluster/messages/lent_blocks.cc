#include "src/cluster/messages/lent_blocks.h"

#include <algorithm>
#include <numeric>

#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/versions.h"

namespace granary::cluster::messages {

void LentBlocks::register_used(std::vector<cc::Record*>& blocks) {
  const epoch::Epoch epoch = worker_.shared.epochs.current();
  for (cc::Record* const block : blocks) cc::register_version(worker_, epoch, block);
  blocks.clear();
}

std::span<cc::Record* const> LentBlocks::lend(Borrower borrower, TableId table, std::size_t value_bytes,
                                              std::size_t count, memory::Urgency urgency) {
  std::vector<cc::Record*>& blocks = lent_[{borrower, table}];
  register_used(blocks);
  const std::size_t most =
      worker_.shared.slabs.short_of_memory() ? kFewBlocks : kMostBytes / record::record_bytes(value_bytes);
  count = std::clamp<std::size_t>(count, 1, std::max<std::size_t>(most, 1));
  while (blocks.size() < count) {
    cc::Record* const block = cc::allocate_record(worker_, value_bytes, urgency);
    if (block == nullptr) break;
    blocks.push_back(block);
    if (base::injected("lent-blocks-registered-at-once"))
      cc::register_version(worker_, worker_.shared.epochs.current(), block);
  }
  return blocks;
}

void LentBlocks::take_back(std::uint32_t node) {
  for (auto& [whose, blocks] : lent_) {
    if (whose.first.node == node) register_used(blocks);
  }
}

std::size_t LentBlocks::size() const {
  return std::accumulate(lent_.begin(), lent_.end(), std::size_t{0},
                         [](std::size_t sum, const auto& one) { return sum + one.second.size(); });
}

}  // namespace granary::cluster::messages
