#pragma once
// Database: opens, holds tables and workers, runs transactions. Start here.
//
//   auto db = granary::Database::open({}).value();
//   auto accounts = db->create_table<std::uint64_t, Account>("accounts").value();
//   auto worker = db->register_worker().value();          // one per thread
//   auto done = worker.run([&](granary::Transaction& t) { t.put(accounts, 1, Account{100}); });

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <granary/export.h>
#include <granary/function_ref.h>
#include <granary/isolation.h>
#include <granary/limits.h>
#include <granary/options.h>
#include <granary/outcome.h>
#include <granary/status.h>
#include <granary/table.h>
#include <granary/transaction.h>

namespace granary {

namespace base {
class FileSystem;
}
namespace db {
class Engine;
}
namespace txn {
class WorkerCore;
}

/// How Worker::run retries a transaction that lost a conflict.
struct RetryPolicy {
  /// 0 = until it commits or cannot. After ten attempts in a row that were open for too long
  /// (AbortReason::kOpenTooLong) it counts as one that cannot, unless patience_us is left: a body that takes longer
  /// than Options::max_open_epochs will do so again.
  std::uint32_t max_attempts = 0;
  std::uint32_t first_backoff_us = 1;  ///< upper bound of the first wait; doubles each time, jittered
  std::uint32_t max_backoff_us = 1000;
  /// For how long that is tried again, too, which is no conflict and may pass: a node that is not reached, memory that
  /// is used up, a body that is too slow for a while, in a cluster the right to commit, which goes while ZooKeeper is
  /// not reached. 0 = not at all. Memory that is full of garbage is waited for in any case, at most for two snapshot
  /// periods and a few epochs (Options::snapshot_epochs, epoch_ms), if that is all it takes.
  std::uint64_t patience_us = 0;
  TransactionOptions transaction = {};  ///< of each attempt
};

/// How Worker::run() ended.
struct [[nodiscard]] RunResult {
  AbortReason reason = AbortReason::kNone;  ///< of the last attempt
  std::uint32_t attempts = 0;
  Ticket ticket;
  /// Of a procedure in pieces that could not go on: so many are left, and those before them have committed. To call it
  /// again would do these twice. With Procedures::keep_chains() the rest is done by finish_left(), in a cluster by
  /// itself, or at the latest when the database is opened next; without, it is never done.
  std::uint32_t pieces_left = 0;
  bool committed() const { return reason == AbortReason::kNone; }
  explicit operator bool() const { return committed(); }
};

/// A worker: the right to run transactions, with its own memory, TIDs and statistics. Move-only. Used by one thread at
/// a time; the first begin() or run() after registration or attach_thread() binds it to the calling thread. It must go
/// before its database does: a Database that is destroyed while workers are registered names them on standard error and
/// ends the program.
class GRANARY_EXPORT Worker {
 public:
  Worker() = default;
  Worker(Worker&& other) noexcept;
  /// A worker that was moved from is empty, like one of the default constructor: begin() and snapshot() give what is
  /// already finished, and run() calls no body and reports AbortReason::kMisuse.
  Worker& operator=(Worker&& other) noexcept;
  /// Aborts its open transactions and gives its memory and garbage back to the database.
  ~Worker();
  explicit operator bool() const { return core_ != nullptr; }

  /// Begins a transaction. Several may be open at once (up to kMaxOpenTransactions; beyond, the returned one is already
  /// finished, as it is with an isolation that is none). If the worker belongs to another thread, every operation
  /// reports kWrongThread.
  Transaction begin(const TransactionOptions& options = {});
  /// Begins a snapshot of about a second ago. Precondition: Options::snapshots.
  Snapshot snapshot();

  /// Runs `body` as a transaction, again and again while it loses conflicts, with randomized exponential back-off. The
  /// body may run several times: keep side effects out of it. If it called abort(), the result is kUser. It must not
  /// move the transaction away. It need not call commit(). If it does, the result is that commit's, and after a lost
  /// conflict there is another attempt. kMisuse if begin() gives a transaction that cannot commit: of another thread's
  /// worker, while kMaxOpenTransactions are open, or with an isolation that is none. The body is called then, and each
  /// of its operations is refused. The body may throw, and so may a visitor that it scans with: an exception that
  /// leaves the body aborts the transaction, unless that has ended, and comes out of run(). The worker goes on as
  /// before.
  RunResult run(FunctionRef<void(Transaction&)> body, const RetryPolicy& policy = {});

  /// Runs results.size() independent transactions, each as run() would, and returns when all have ended: body(i,
  /// transaction) is the i-th's body, and results[i] how it ended. Up to kMostTogether are open at once and take turns,
  /// all on this thread, one at a time: while one waits for a record or a part of an index to come from memory, the
  /// others go on. That pays where the data is larger than the processor's caches. They are committed in any order. A
  /// body may see another one's writes as it sees another worker's, and loses conflicts to it as to another worker;
  /// each has a transaction of its own, and 256 KiB of stack. What the bodies share needs no locks, but may have
  /// changed behind each operation. They begin no other transaction. A transaction or a snapshot that was begun outside
  /// of a body, or by another one, refuses it (kWrongThread), also when that one has ended; code outside of bodies may
  /// use what they have left open. A body uses no other worker, and calls nothing else that waits, as checkpoint() and
  /// wait_released() do: that would wait for ever for what another body holds, since the others do not go on meanwhile.
  /// An exception that leaves a body aborts its transaction. Then no further body begins, those that have begun end,
  /// and the first such exception comes out of run_many(); results[i] has AbortReason::kUser where a transaction has
  /// not ended otherwise. An exception that a body catches itself is its own business, whatever the others throw
  /// meanwhile. Where the worker cannot take turns the transactions run one after the other, with the same results:
  /// with Options::protocol "drtm", within such a body, and in a cluster, where ClusterWorker::run_together() is for
  /// this.
  void run_many(std::span<RunResult> results, FunctionRef<void(std::size_t, Transaction&)> body,
                const RetryPolicy& policy = {});
  /// As run_many(), for bodies that make transactions themselves, by run() or begin(), each one at a time: calls
  /// body(0) to body(count - 1). Exceptions that leave bodies are treated alike. A body that waits for something
  /// besides, such as the release of a result, looks for it and calls let_others_run(), again and again: what the
  /// others have open would stay open, and hold back the epoch.
  void run_together(std::size_t count, FunctionRef<void(std::size_t)> body);
  /// Lets the other bodies of run_together() go on. Outside of bodies it does nothing and returns false.
  bool let_others_run();
  /// The most transactions that run_many() has open at once.
  static constexpr std::uint32_t kMostTogether = 16;

  /// Hands the worker to the calling thread. Precondition: the former thread no longer uses it (happens-before).
  void attach_thread();
  /// Frees garbage that has become safe; run() and commit() do a little of it each time. An idle worker may call it,
  /// and has to do so more than once: the memory of a deleted record is free only at a call that comes a few epochs
  /// after the one that has taken the record out of its index. In a cluster a worker that is idle for long should, now
  /// and then: it tries again to give back records that it had to leave locked at nodes that could not be reached,
  /// which nobody else may do. So do commit() and the end of a snapshot.
  void collect_garbage();
  /// Index below Options::max_workers, unique among registered workers.
  std::uint32_t id() const;

  txn::WorkerCore* core() const { return core_; }

 private:
  friend class Database;
  Worker(txn::WorkerCore* core, db::Engine* engine) : core_(core), engine_(engine) {}
  txn::WorkerCore* core_ = nullptr;
  db::Engine* engine_ = nullptr;
};

/// What became of commits in hardware transactions (Options::htm), or in simulated ones.
struct HtmStatistics {
  std::string backend = "off";  ///< what runs: "rtm", "sim", "off"
  std::uint64_t commits = 0;
  std::uint64_t fallbacks = 0;  ///< commits that took locks instead, whether they succeeded or not
  // Attempts that aborted, by cause.
  std::uint64_t conflicts = 0;
  std::uint64_t capacity = 0;
  std::uint64_t explicit_aborts = 0;
  std::uint64_t others = 0;
};

/// How long transactions have taken that committed, from begin to the end of the commit, without the attempts before:
/// of one in 64, which are chosen like random ones.
struct CommitLatencies {
  struct Bucket {
    std::uint64_t most_ns;  ///< so long or shorter, and longer than the bucket before
    std::uint64_t count;
  };
  std::uint64_t samples = 0;
  double seconds = 0;                ///< sum of the samples
  std::vector<Bucket> buckets = {};  ///< those that counted something, ascending; each 1/8 of a power of two wide
};

/// Counters since open, summed over workers; read without stopping them.
struct Statistics {
  std::uint64_t commits = 0;
  std::uint64_t snapshots = 0;
  std::array<std::uint64_t, kAbortReasons> aborts{};  ///< by AbortReason
  std::uint64_t records_bytes = 0;                    ///< in use by records and versions, after slab rounding
  std::uint64_t index_bytes = 0;                      ///< in use by index nodes, and by main headers of hash tables
  std::uint64_t reserved_bytes = 0;                   ///< cut from the region for slabs
  std::uint64_t limit_bytes = 0;                      ///< the most that the database may reserve
  std::uint64_t version_bytes = 0;                    ///< of records_bytes: old versions kept for snapshots
  std::uint64_t garbage_items = 0;  ///< waiting for their reclamation epoch, or for their worker to collect them
  std::uint64_t versions_created = 0;
  CommitLatencies commit_latencies;
  HtmStatistics htm;
  std::uint64_t epoch = 0;
  std::uint64_t epoch_thread_silence_us = 0;  ///< since the thread that advances epochs came round; 0 if there is none
  std::uint64_t stalled_ticks = 0;            ///< epoch periods in a row that a transaction has held the epoch back
  std::uint64_t durable_epoch = 0;            ///< D; 0 without a log, and so are the following
  std::uint64_t log_bytes = 0;                ///< written to log files
  std::uint64_t log_entries = 0;              ///< transactions among them
  std::uint64_t log_syncs = 0;
  std::uint64_t log_segments = 0;      ///< files of the log that no checkpoint has made needless yet
  std::uint64_t ring_waits = 0;        ///< transactions that had to wait because the worker's ring was full
  std::uint64_t ring_bytes = 0;        ///< of all rings
  std::uint64_t ring_held_bytes = 0;   ///< of these, what waits to be synced
  double ring_fullest = 0;             ///< the share of the fullest ring that waits to be synced
  std::uint64_t checkpoints = 0;       ///< taken
  std::uint64_t checkpoint_bytes = 0;  ///< written to their files
  double checkpoint_seconds = 0;       ///< during which one was in progress, up to now
  bool checkpoint_in_progress = false;
  /// Since the last one was installed; negative if none was since the database was opened.
  double checkpoint_age_s = -1;
};

/// What opening a directory found and did.
struct RecoveryReport {
  bool recovered = false;           ///< false: the directory was new, or there is none
  std::uint64_t durable_epoch = 0;  ///< exactly the transactions up to this epoch are there
  /// The former process's rings were there, so nothing that committed is missing; in a cluster those of every node that
  /// had not ended in order.
  bool rings = false;
  std::uint64_t transactions = 0;  ///< replayed from logs and rings
  std::uint64_t records = 0;       ///< written by them, and by the checkpoint
  std::uint64_t bytes = 0;         ///< of logs, rings and checkpoint read
  double seconds = 0;
  std::uint64_t checkpoint_records = 0;  ///< of these, what came from the checkpoint
  std::uint64_t checkpoint_bytes = 0;
  double checkpoint_seconds = 0;
  /// A line for each torn tail cut off, for what could not be removed, and, with Options::salvage, for each loss.
  std::vector<std::string> notes;
};

/// Tables, workers, memory, and the log of one directory if it has one. A process may have several. Thread-safe but for
/// create_index(), resize(), step() and close(), which say what they need; transactions are the workers'.
///
/// A child that the process forks cannot use the database, since it has none of the database's threads. There each call
/// that returns a Status or a Result is refused (kFailedPrecondition), operations of transactions report kWrongThread
/// or kFinished, run() and commit() report kMisuse, and statistics() are empty. Destructors do nothing there, so the
/// child may end by exit(). The parent does not notice any of it. The child may open databases of its own.
class GRANARY_EXPORT Database {
 public:
  /// With Options::directory: recovers what is there, tables and indexes included. kResourceExhausted if the system
  /// refuses a thread.
  static Result<std::unique_ptr<Database>> open(const Options& options);
  /// The same on another file system: for tests and simulators.
  static Result<std::unique_ptr<Database>> open(const Options& options, base::FileSystem& files);
  /// Around an engine that was opened otherwise: a cluster's (granary/cluster.h).
  explicit Database(std::unique_ptr<db::Engine> engine);
  /// Precondition: all workers are gone. If some are not, the program ends with a message that names them, since they
  /// would go on to use memory that is no longer there. Handles (Table, Index), transactions and snapshots are not
  /// counted: whoever uses one of them after its database is gone, an open one's destructor included, uses freed
  /// memory.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// A new table, or, once, the recovered one of that name if it was created with the same options. kAlreadyExists if
  /// the name is taken; kFailedPrecondition if the recovered one is otherwise; kInvalidArgument for options out of
  /// their ranges; kResourceExhausted if there is no memory for it: then nothing of it is left.
  Result<Table> create_table(std::string_view name, const TableOptions& options = {});
  /// The same with typed keys and values: `options.max_value_bytes` is a value's size, whatever it says.
  template <typename K, Plain V>
  Result<TypedTable<K, V>> create_table(std::string_view name, TableOptions options = {}) {
    options.max_value_bytes = sizeof(V);
    auto table = create_table(name, options);
    if (!table.ok()) return table.status();
    return TypedTable<K, V>(*table);
  }
  /// Adds a secondary index to a table that holds no records yet; or, once, the recovered one, as for tables.
  /// kFailedPrecondition if it holds some; also while one that was removed, or whose insert was aborted, has not been
  /// collected as garbage yet, which takes some epochs in which workers run: try again. Precondition: nobody writes to
  /// the table until this returns.
  Result<Index> create_index(const Table& table, std::string_view name, const IndexOptions& options);

  /// Gives a hash table an index for so many keys: where it was made for far fewer, every operation gets faster. Moves
  /// all of its keys, one thread, and takes 32 bytes a key at once; the former index's memory is free again only when
  /// the database closes. With a directory the next opening makes the table so, too; by itself, an opening, or the one
  /// after a checkpoint, makes room for all keys that are there. Not of shared tables: other nodes know where the index
  /// is. Precondition: alone. No transaction is open (or kFailedPrecondition), and until this returns no worker begins
  /// one or collects garbage; snapshots may be open. On an error the table is as before, but for one of the manifest:
  /// then it is resized, and only the next opening does not know.
  Status resize(const Table& table, std::uint64_t expected_keys);

  /// Seals a table that was declared `immutable`, and its indexes, for good: from now on writes to it are refused
  /// (Outcome::kImmutable). Waits, at most `timeout_us`, until transactions that are open have ended, so the caller has
  /// none open; and, with a directory, until what they wrote is released. Reads of transactions that begin an epoch
  /// later are validated no more. In a cluster each node seals its own keys once it has loaded them, and the others
  /// know it behind the next Cluster::barrier(). A recovered table is sealed if it was (Table::sealed), except with
  /// Options::salvage. kFailedPrecondition if the table is not declared so; kUnavailable, or another error of
  /// wait_released(), if something was waited for in vain: then the table is as before. After an error of the directory
  /// it takes no writes, and may be sealed later. Sealing once more does nothing. Thread-safe.
  Status seal(const Table& table, std::uint64_t timeout_us = kReleaseTimeout_us);

  /// By name, recovered ones as well, whether or not they have been created anew in this life; else kNotFound.
  Result<Table> table(std::string_view name) const;
  Result<Index> index(std::string_view name) const;

  /// Thread-safe. kResourceExhausted when Options::max_workers are registered, or if there is no memory for one more.
  Result<Worker> register_worker();

  /// E: transactions that commit now get this epoch, or the next one.
  std::uint64_t current_epoch() const;
  /// Results of transactions with Ticket::epoch ≤ this may be shown outside (Options::release). Without a log that is
  /// every committed one.
  std::uint64_t released_epoch() const;
  static constexpr std::uint64_t kReleaseTimeout_us = 10'000'000;
  /// Waits until the ticket's result may be shown, at most `timeout_us`. kUnavailable if it may not be by then, with
  /// the reason as far as it is known: in a cluster the node that is dead (then nothing is released until it has been
  /// recovered), or stands still. Another error if it never will be in this life, because the log has failed or this
  /// node is no member of its cluster any more: whether the transaction survives is then unknown until the database is
  /// opened again.
  Status wait_released(const Ticket& ticket, std::uint64_t timeout_us = kReleaseTimeout_us) const;
  /// Returns kOk while the log works, else the reason why nothing becomes durable: for good, or, with kUnavailable,
  /// until the device answers again. Meanwhile writers abort with kLogFailed, and reads go on. After close() it is
  /// kFailedPrecondition, unless the log has failed.
  Status log_status() const;

  /// Writes a checkpoint now and removes the log that it makes unnecessary. Thread-safe; one at a time. A new database
  /// has nothing that a checkpoint could hold before its first snapshot, 2 * Options::snapshot_epochs epochs after it
  /// was made; then the call waits for it. kUnavailable if kReleaseTimeout_us has passed and another checkpoint still
  /// waits, or there is no snapshot yet, or the epoch of the written checkpoint is not durable yet. With
  /// Background::kManual nobody advances epochs meanwhile, so the call returns that at once if there is no snapshot.
  /// kResourceExhausted if the system has no memory for its work. After an error the checkpoint before it still counts.
  Status checkpoint();
  /// What open() recovered.
  const RecoveryReport& recovery_report() const;
  /// Makes everything durable and ends; the destructor does the same and can only warn. kFailedPrecondition, with the
  /// workers' ids, if workers are registered: then nothing was done. After kOk or another error the database is closed:
  /// register_worker(), create_table(), create_index(), resize(), seal() and checkpoint() are refused
  /// (kFailedPrecondition), and so is wait_released() of what is not released by then; log_status() tells that it is
  /// closed, or why the log has failed. Tables, indexes and statistics can still be looked at. A second close() does
  /// nothing and returns what the first did. The destructor unlocks the directory.
  Status close();

  Statistics statistics() const;
  const Options& options() const;
  /// What backs memory: "2 MiB (transparent)", "4 KiB", ...
  std::string page_kind() const;

  /// One turn of the periodic work: advances the epoch if every worker has caught up. Returns true if it advanced; with
  /// another Options::background than kManual it does nothing and returns false. One caller at a time.
  bool step();

  db::Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<db::Engine> engine_;
};

/// "0.1.0 (commit abc1234, release)".
GRANARY_EXPORT std::string version();

}  // namespace granary
