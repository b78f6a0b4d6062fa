#pragma once
// I12: memory of this node that workers of other nodes hold, to WRITE old versions of this node's records into it.
//
// A worker of another node that overwrites a record here first WRITEs the version that is there into such a block, and
// links it to the record (record_access/version_copy.h). It asks for blocks by message, many at once, so that hardly
// any transaction waits for a message.
//
// A block that was lent counts as used when its borrower asks for more, begins anew, or dies. Then it is registered as
// an old version with this node's E of that moment, which is no less than the epoch of whatever was written over its
// record: a transaction takes a block when E here has reached the transaction's epoch. So it stays while a snapshot may
// look for it. Registered earlier, with E of the moment when it was lent, it could be freed while it is some record's
// only version for a snapshot. A block that was never used costs its memory a little longer. The borrower may still
// WRITE into a block that it takes and reports in one transaction; that transaction's open epoch keeps the block.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "src/cc/worker_state.h"
#include "src/cluster/messages/requests.h"

namespace granary::cluster::messages {

/// A worker of another node.
struct Borrower {
  std::uint32_t node;
  std::uint32_t worker;
  auto operator<=>(const Borrower&) const = default;
};

/// Of the service's thread. For lend() and take_back() an epoch slot of the caller's is entered.
class LentBlocks {
 public:
  /// A worker has at most so many bytes of blocks for one table at a time, or one block.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  /// And so many blocks, while the node is short of memory.
  static constexpr std::size_t kFewBlocks = 4;

  explicit LentBlocks(cc::WorkerState& worker) : worker_(worker) {}

  /// Lends at most `count` blocks, each with room for a value of so many bytes; none if there is no memory of that
  /// urgency. What was lent to the borrower for the table before counts as used.
  std::span<cc::Record* const> lend(Borrower borrower, TableId table, std::size_t value_bytes, std::size_t count,
                                    memory::Urgency urgency);
  /// The node's life is over, and nothing that it has posted happens here any more.
  void take_back(std::uint32_t node);
  std::size_t size() const;

 private:
  void register_used(std::vector<cc::Record*>& blocks);

  cc::WorkerState& worker_;
  std::map<std::pair<Borrower, TableId>, std::vector<cc::Record*>> lent_;
};

}  // namespace granary::cluster::messages
