#pragma once
// The Store back-end that stands for a system without one-sided operations. Each node holds its rows in memory.
// Transactions lock them by strict two-phase locking without waits, and commit in two phases by messages over TCP: one
// message for each participant and phase, to a thread there that sleeps in epoll. Nothing is logged, and there is no
// recovery, so a node that dies ends the run.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/store/two_pc/server.h"
#include "bench/store/two_pc/session.h"

namespace granary::bench::two_pc {

struct NodeOptions {
  std::string directory;              ///< directory of the address book, which no other user may enter
  std::string address = "127.0.0.1";  ///< the only address at which this node listens
  NodeShare share = {};
};

class TwoPcStore {
 public:
  template <typename K, typename V>
  using Table = two_pc::Table<K, V>;
  using Transaction = two_pc::Transaction;
  using SnapshotReader = two_pc::Transaction;
  using Session = two_pc::Session;

  /// Opens a node. Transactions may reach other nodes as soon as those are open, too, and have made the same tables in
  /// the same order.
  static Result<std::unique_ptr<TwoPcStore>> open(const NodeOptions& options) {
    Result<AddressBook> book = AddressBook::open(options.directory);
    if (!book.ok()) return book.status();
    std::unique_ptr<TwoPcStore> store(new TwoPcStore(std::move(*book), options.share));
    auto server = Server::start(options.address, store->rows_);
    if (!server.ok()) return server.status();
    store->server_ = std::move(*server);
    const Status written = store->book_.write(options.share.node, store->server_->entry());
    if (!written.ok()) return written;
    return store;
  }
  ~TwoPcStore() { book_.remove(share_.node); }
  TwoPcStore(const TwoPcStore&) = delete;
  TwoPcStore& operator=(const TwoPcStore&) = delete;

  template <typename K, typename V>
  Result<Table<K, V>> create_table(const std::string& /*name*/, std::uint32_t /*partition*/,
                                   const store::TableLayout& layout = {}) {
    const std::lock_guard held(rows_.latch);
    Part& part = rows_.parts.emplace_back(layout.hash);
    if (layout.hash) part.by_hash.reserve(layout.rows);
    const auto number = static_cast<std::uint32_t>(rows_.parts.size() - 1);
    return Table<K, V>{std::make_shared<TableEntry>(TableEntry{number, layout.home})};
  }
  bool splits_tables() const { return false; }

  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    return std::make_unique<Session>(rows_, book_, share_.node, share_.nodes, seed, sums_);
  }
  StoreFigures figures() const { return {}; }

  /// Returns the share of attempts that reached other nodes, and the mean of the messages and of the round trips of
  /// each of these; then the mean time of a round trip, and, as its lower bound, that of each connection's fastest
  /// ping.
  std::vector<ExtraFigure> extra_figures() const {
    const auto mean = [](const char* name, const std::atomic<std::uint64_t>& sum, const std::atomic<std::uint64_t>& of,
                         double divide = 1) -> ExtraFigure {
      const auto count = static_cast<double>(of.load(std::memory_order_relaxed));
      const auto all = static_cast<double>(sum.load(std::memory_order_relaxed));
      return {name, count == 0 ? 0 : all / count / divide, count};
    };
    return {mean("distributed_share", sums_.distributed, sums_.transactions),
            mean("messages_each", sums_.messages, sums_.distributed),
            mean("round_trips_each", sums_.round_trips, sums_.distributed),
            mean("round_trip_us", sums_.waited_ns, sums_.round_trips, 1000),
            mean("ping_us", sums_.pinged_ns, sums_.pings, 1000)};
  }

 private:
  TwoPcStore(AddressBook book, const NodeShare& share) : book_(std::move(book)), share_(share) {}

  const AddressBook book_;
  const NodeShare share_;
  Rows rows_;
  SessionSums sums_;
  std::unique_ptr<Server> server_;  // destroyed first, because its thread uses rows_
};

static_assert(store::Store<TwoPcStore>);

}  // namespace granary::bench::two_pc
