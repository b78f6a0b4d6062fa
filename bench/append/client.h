#pragma once
// One client of a list-append run: makes up transactions, runs them, and writes down what it asked for and what it
// was told.

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include <granary/granary.h>

#include "bench/append/history/history.h"
#include "bench/append/journal.h"
#include "bench/append/key_slots.h"
#include "bench/append/lists.h"
#include "bench/append/options.h"
#include "src/base/random.h"

namespace granary::bench::append {

/// What all clients of a process have in common.
struct ClientPlace {
  const Database& database;
  const Lists lists;
  KeySlots& slots;
  const AppendOptions& options;
  std::chrono::steady_clock::time_point start = {};  ///< what times count from
  std::uint32_t clients = 0;                         ///< of all nodes
  std::uint64_t earlier_lives = 0;                   ///< of this node in this run
  Journal* journal = nullptr;                        ///< gets all events as they happen, if there is one
  bool keep = true;                                  ///< clients keep what they have noted
};

/// What a client calls while it waits, if others share its thread.
using LetOthersRun = std::function<void()>;

class Client {
 public:
  using Clock = std::chrono::steady_clock;

  /// Process numbers are id, id + clients, id + 2 · clients, ..., in a later life others. Used by one thread, the
  /// worker's.
  Client(Worker& worker, const ClientPlace& place, std::uint32_t id, LetOthersRun let_others_run = {});

  /// Runs one transaction, whatever comes of it.
  void run_one();
  /// A transaction that reads these lists, again and again until it commits. An error if it is no conflict that keeps
  /// it from that, or conflicts have kept it from that for ten seconds.
  Status read_quietly(const std::vector<history::Key>& keys);

  history::History& noted() { return noted_; }

 private:
  /// Some micro-operations of one kind of access: one get or append each, or one scan for all.
  struct Plan {
    std::vector<history::MicroOp> ops;
    std::size_t scan_begin = 0, scan_count = 0;  // these ops are read by one scan
    Order scan_order = Order::kAscending;
  };
  Plan make_plan();
  void plan_scan(Plan& plan, std::size_t count);
  /// Fills in what was read; false if the transaction cannot go on.
  bool execute(Transaction& transaction, Plan& plan);
  bool execute_one(Transaction& transaction, history::MicroOp& op);
  bool scan(Transaction& transaction, Plan& plan);
  void run_transaction();
  history::EventType commit(Transaction& transaction);
  bool await_release(const Ticket& ticket);
  void pause(std::uint64_t us);
  /// Gives the processor away: to the others on this thread, and to other threads.
  void yield();
  void note_abort(AbortReason reason);
  void run_snapshot();
  void note(history::EventType type, std::vector<history::MicroOp> ops, bool snapshot = false);
  std::uint64_t now() const;

  Worker& worker_;
  const LetOthersRun let_others_run_;
  const ClientPlace& place_;
  const Lists& lists_;
  KeySlots& slots_;
  const AppendOptions& options_;
  base::Random random_;
  std::uint64_t process_;
  bool needs_absent_ = false;  ///< the last transaction needed a node that is not there
  history::History noted_;
};

}  // namespace granary::bench::append
