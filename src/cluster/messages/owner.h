#pragma once
// Answers what other nodes ask about this node's data, with a worker of its engine.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rdma/mailbox/rpc.h"
#include "src/base/arena.h"
#include "src/base/waiter.h"
#include "src/cc/access_set.h"
#include "src/cc/index.h"
#include "src/cluster/messages/frame.h"
#include "src/cluster/messages/lent_blocks.h"
#include "src/cluster/messages/requests.h"
#include "src/memory/region.h"
#include "src/txn/table_core.h"
#include "src/txn/worker_core.h"

namespace granary::cluster::messages {

/// Only the worker's thread uses it. An answer waits for locked records alone, for a bounded time, and ends with kBusy
/// after that.
class Owner {
 public:
  /// A longer value is not sent along.
  static constexpr std::size_t kMostValueBytes = std::size_t{16} << 10;
  /// A scan's piece ends with the entry that makes it so long, or before one that does not fit into its message.
  static constexpr std::size_t kPieceBytes = std::size_t{32} << 10;

  /// `tables`: all of the database, secondary indexes too, by id. `region`: the engine's memory. `slot`: one that
  /// nobody else uses, to enter for each answer. All outlive the owner. An answer goes into a message of at most
  /// `most_message_bytes`.
  Owner(txn::WorkerCore& worker, epoch::Slot& slot, std::span<txn::TableCore* const> tables,
        const memory::Region& region, std::uint64_t most_message_bytes)
      : worker_(worker),
        slot_(slot),
        tables_(tables),
        region_(region),
        most_body_bytes_(most_message_bytes - rdma::mailbox::Rpc::kHeaderBytes - kFrameBytes),
        lent_(worker.state()),
        buffer_(kMostValueBytes, '\0') {
    worker_.lending().allow(false);  // answers use the worker's memory in a slot of their own
    worker_.state().waiter = &brief_;
    access_.region_run.way =
        cc::drtm::RegionRun::Way::kLocks;  // an answer is no transaction that could run in a region
  }
  ~Owner() { worker_.state().waiter = &worker_.shared().waiter; }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  /// Returns what Describe tells of all shared tables.
  DescribeAnswer description() const { return describe(0, ~std::size_t{0}); }
  // The bytes of views in an answer are valid until the next answer.
  ReplyStatus answer(const Describe& request, DescribeAnswer& answer);
  ReplyStatus answer(const FindRecord& request, FindRecordAnswer& answer);
  ReplyStatus answer(const Scan& request, ScanAnswer& answer);
  ReplyStatus answer(const SnapshotGet& request, SnapshotGetAnswer& answer);
  ReplyStatus answer(const SnapshotScan& request, SnapshotScanAnswer& answer);
  ReplyStatus answer(const LendBlocks& request, LendBlocksAnswer& answer, Borrower borrower);
  ReplyStatus answer(const NoteRemoved& request, NoteRemovedAnswer& answer);

  /// Takes back what an ended life of the node has borrowed. Called when nothing that it has posted happens any more.
  void forget(std::uint32_t node);
  /// Between answers: frees what has become garbage.
  void rest() { worker_.collect_some(worker_.shared().epochs.current()); }

 private:
  friend class PieceOfScan;

  /// The end of a look at a record.
  enum class RecordLook : std::uint8_t { kSeen, kReplaced, kBusy, kHeldByDead };

  ReplyStatus find_table(TableId id, std::string_view key, txn::TableCore*& table) const;
  /// Finds the table like find_table(), but refuses immutable ones.
  ReplyStatus find_table_to_write(TableId id, std::string_view key, txn::TableCore*& table) const;
  DescribeAnswer describe(TableId from, std::size_t most_bytes) const;
  TableDescription description(const txn::TableCore& table) const;
  cc::Record* make_placeholder(txn::TableCore& table, std::string_view key, FindRecordAnswer& answer);
  /// Returns the status that answers the asker for this look.
  static ReplyStatus status_after(RecordLook look);
  /// `held`: as Scan::held.
  RecordLook look(cc::Record& record, std::string_view key, bool with_value, SeenRecord& seen,
                  std::span<const std::uint64_t> held = {});
  /// Looks the key up: a record (kSeen), or the place where it is missed (`seen.offset` is 0, and `missed` is told).
  ReplyStatus look_up(txn::TableCore& table, std::string_view key, SeenRecord& seen, SeenNode& missed,
                      std::span<const std::uint64_t> held);
  SeenNode node(cc::IndexNode place, cc::Version version) const;
  /// Tells of a leaf that other nodes may READ.
  void tell(const cc::Leaf* leaf, std::vector<SeenLeaf>& leaves) const;
  ChangedNode change(const cc::PlaceChange<cc::IndexNode>& change) const;
  std::uint64_t offset_of(const void* at) const {
    return static_cast<std::uint64_t>(static_cast<const char*>(at) - region_.base());
  }

  txn::WorkerCore& worker_;
  epoch::Slot& slot_;
  const std::span<txn::TableCore* const> tables_;
  const memory::Region& region_;
  const std::size_t most_body_bytes_;  ///< of an answer
  LentBlocks lent_;
  base::BriefWaiter brief_;  ///< other nodes wait for answers, too
  std::string buffer_;       ///< for values that may still prove torn
  std::string value_;        ///< that a snapshot has seen
  cc::AccessSet access_;     ///< of no transaction: what is read here is the asker's to remember
  base::Arena memory_;       ///< for the bytes of the present answer
};

}  // namespace granary::cluster::messages
