#pragma once
// One client of a list-append run: makes up transactions, runs them, and writes down its requests and their answers.

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

/// Holds the state that all clients of a process share.
struct ClientPlace {
  const Database& database;
  const Lists lists;
  KeySlots& slots;
  const AppendOptions& options;
  std::chrono::steady_clock::time_point start = {};  ///< the moment from which times count
  std::uint32_t clients = 0;                         ///< the number of clients of all nodes
  std::uint64_t earlier_lives = 0;                   ///< the number of earlier lives of this node in this run
  Journal* journal = nullptr;                        ///< gets all events as they happen; nullptr if there is none
  bool keep = true;                                  ///< whether clients keep their events
};

/// Called by a client while it waits, if others share its thread.
using LetOthersRun = std::function<void()>;

class Client {
 public:
  using Clock = std::chrono::steady_clock;

  /// Makes a client whose process numbers are id, id + clients, id + 2 · clients, ...; a later life of the node has
  /// other numbers. Used by one thread, the worker's.
  Client(Worker& worker, const ClientPlace& place, std::uint32_t id, LetOthersRun let_others_run = {});

  /// Runs one transaction, which may end in any way.
  void run_one();
  /// Runs a transaction that reads these lists, again and again until it commits. Returns an error if anything but a
  /// conflict keeps it from that, or if conflicts have done so for ten seconds.
  Status read_quietly(const std::vector<history::Key>& keys);

  history::History& noted() { return noted_; }

 private:
  /// Micro-operations of one kind of access: one get or append each, or one scan for all.
  struct Plan {
    std::vector<history::MicroOp> ops;
    std::size_t scan_begin = 0, scan_count = 0;  // one scan reads for these ops
    Order scan_order = Order::kAscending;
  };
  Plan make_plan();
  void plan_scan(Plan& plan, std::size_t count);
  /// Runs the plan and fills in the values that were read. Returns false if the transaction cannot go on.
  bool execute(Transaction& transaction, Plan& plan);
  bool execute_one(Transaction& transaction, history::MicroOp& op);
  bool scan(Transaction& transaction, Plan& plan);
  void run_transaction();
  history::EventType commit(Transaction& transaction);
  bool await_release(const Ticket& ticket);
  void pause(std::uint64_t us);
  /// Lets the others on this thread run, and then other threads.
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
  bool needs_absent_ = false;  ///< whether the last transaction needed a node that is not there
  history::History noted_;
};

}  // namespace granary::bench::append
