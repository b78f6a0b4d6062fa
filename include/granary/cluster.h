#pragma once
// Cluster: this process as a node of a cluster. Each node runs the same program: it joins, makes the same tables in the
// same order, starts, and then runs transactions on the keys of all nodes as if they were its own.
//
//   auto cluster = granary::Cluster::join({.file = "cluster.toml", .node = 1}).value();
//   auto accounts = cluster->create_table<std::uint64_t, Account>("accounts", {}, by_range).value();
//   cluster->start();                                        // waits for the other nodes
//   auto worker = cluster->register_worker().value();        // one per thread
//   worker->run([&](granary::Transaction& t) { ... });

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <granary/cluster_statistics.h>
#include <granary/database.h>
#include <granary/export.h>
#include <granary/procedure.h>

namespace granary {

/// Which node has which keys of a table. Keys of other nodes are reached one-sided, or, in ordered tables, by message.
struct Placement {
  /// Partitioned: the home of an encoded key, a node of the cluster; the same on all nodes, for good. Thread-safe. A
  /// scan visits the home of its range's lower end, so keys that are scanned together live together. If it names a node
  /// that the cluster file does not have, transactions on the key end with AbortReason::kMisuse, and snapshots report
  /// kUnreachable. Empty: every node has a copy of its own, which it loads itself and nobody changes afterwards.
  std::function<NodeNumber(std::string_view key)> home = {};

  static Placement replicated() { return {}; }
};

/// How Transaction::declare() holds records of other nodes that will only be read.
enum class ReadLock : std::uint8_t {
  kLease,      ///< by leases, which many readers share, and which end by themselves (`lease_us` of the cluster file)
  kExclusive,  ///< by locks, like records that will be written: to measure what leases bring
};

struct ClusterOptions {
  std::string file = {};  ///< the cluster file (docs/cluster-file.md)
  NodeNumber node = 0;    ///< which of its nodes this process is, 1 to 4095
  /// The options of the node's database. Directories, memory, workers and epochs come from the cluster file instead.
  /// The sink in `notices` takes the node's notices as well as the database's.
  Options database = {};
  std::uint32_t start_timeout_ms = 60'000;  ///< how long start() waits for the other nodes, 1 to 86400000 (a day)
  /// How long barrier() waits for a node that lives and answers, but does not come, 1 to 86400000 (a day); so does
  /// start(), where nodes wait for each other.
  std::uint32_t barrier_timeout_ms = 600'000;
  ReadLock read_lock = ReadLock::kLease;  ///< of this node's transactions
  /// Whether this node recovers dead ones whose directories it can open, its own former life included. If none does,
  /// results are not released, and the dead node does not come back, until all nodes have been ended and started again.
  bool recovers_others = true;
  /// Starts with the node's data also where ZooKeeper has lost what it knew of the cluster. Say it at all nodes, and
  /// start them together, if ZooKeeper's data are lost for good: nodes with data do not start otherwise. It is refused
  /// where ZooKeeper knows of a cluster that has served there with other data. Until the cluster has served there, the
  /// node's data belong to the former one.
  bool new_board = false;
  /// Whether this node, once it has started, ends its membership when its log has failed, so that the others recover it
  /// and go on: status() then tells why, and over shared memory the others end this process. false: it stays, its reads
  /// go on, and no node of the cluster releases a result until the application has left the cluster or has ended.
  bool leaves_when_log_fails = true;
  /// Asked fifty times a second by a thread of the node until start() has returned: true ends join() or start() within
  /// seconds, wherever it is, with kUnavailable. A recovery that is cut short so is begun anew by the next one. Empty:
  /// never.
  std::function<bool()> give_up = {};
};

namespace db {
class ClusterNode;
class ClusterThread;
}  // namespace db

/// A worker of a cluster's node (granary::Worker), used by the thread that registered it. It must go before its Cluster
/// does.
class GRANARY_EXPORT ClusterWorker {
 public:
  /// For Cluster::register_worker().
  ClusterWorker(db::ClusterNode& node, std::unique_ptr<db::ClusterThread> thread);
  /// Ends the worker. If its transactions have left records locked at nodes that live and cannot be reached
  /// (ClusterStatistics::unfinished), this waits for these nodes, for some 10 s at most, and as long once more if
  /// records were removed there. After that the node goes on to give the records back, without the worker.
  ~ClusterWorker();
  ClusterWorker(const ClusterWorker&) = delete;
  ClusterWorker& operator=(const ClusterWorker&) = delete;

  /// The same worker, whose transactions reach all nodes.
  Worker& worker();
  Transaction begin() { return worker().begin(); }
  Snapshot snapshot() { return worker().snapshot(); }
  RunResult run(FunctionRef<void(Transaction&)> body, const RetryPolicy& policy = {}) {
    return worker().run(body, policy);
  }

  /// The most that run_together() takes.
  static constexpr std::uint32_t kMostTogether = 8;
  /// Calls body(0) … body(count − 1), each in a fiber of its own, and returns when all have: all on this thread, one at
  /// a time. While the transaction of one waits for another node, the others go on, which hides the network's latency;
  /// where nothing waits it is one after the other. A commit returns when it is decided; what it wrote at other nodes
  /// is on its way, and has arrived when this function returns. Others find the records locked until then. Each fiber
  /// has at most one transaction or snapshot open at a time, and begins no transaction within another's. One that was
  /// begun outside of a body, or by another one, refuses it (kWrongThread), also when that one has ended; code outside
  /// of bodies may use what they have left open. What the bodies share needs no locks, but is not the same after an
  /// operation on keys of other nodes, nor after a transaction has ended. A body has 256 KiB of stack, and does not
  /// call this function. It uses no other worker, and calls nothing else that waits, as Database::checkpoint() and
  /// Cluster::barrier() do: the other bodies do not go on meanwhile, and what one of them holds would be waited for for
  /// ever. If an exception leaves a body, bodies that have not begun do not run, the others end, and the first such
  /// exception comes out of this function; the transaction that it has left is aborted, and the worker goes on as
  /// before. Throws std::bad_alloc if there is no memory for the bodies; then none runs. kInvalidArgument unless 1 ≤
  /// count ≤ kMostTogether; kFailedPrecondition from within a body, or if another thread uses the worker.
  Status run_together(std::uint32_t count, FunctionRef<void(std::uint32_t)> body);
  /// Lets the other bodies of run_together() go on, and then other threads. A body that waits for something besides,
  /// such as the release of a result, calls it again and again: if it kept the thread, what the others have open would
  /// stay open, and hold back the epoch. Does nothing outside of bodies.
  void let_others_run();

  /// Runs a procedure at a node, here or there: as one transaction of a worker of that node, with retries. An error if
  /// there is no such procedure, the node does not answer, or another thread uses the worker (kFailedPrecondition);
  /// kUnavailable leaves open whether it has run, unless the message says that nothing was done. At another node, name
  /// and arguments together have kMaxCallBytes at most, and so has the reply: kInvalidArgument otherwise, and nothing
  /// was done.
  Result<RunResult> call(NodeNumber node, std::string_view procedure, std::string_view args, std::string& reply);
  /// The same with plain structs, as the procedure was registered. kFailedPrecondition if that node's reply is of
  /// another size: its program is another, and the procedure has run. Strings and views of text are bytes, for the form
  /// above.
  template <Plain Args, Plain Reply>
  Result<RunResult> call(NodeNumber node, std::string_view procedure, const Args& args, Reply& reply) {
    std::string bytes;
    auto done = call(node, procedure, bytes_of(args), bytes);
    return take(std::move(done), procedure, bytes, reply);
  }

  /// Runs a procedure at the home of a key of the table, which its placement tells; here if the table is replicated.
  /// kInvalidArgument if the table was not made by Cluster::create_table: then its keys have no home.
  Result<RunResult> call(const Table& table, std::string_view key, std::string_view procedure, std::string_view args,
                         std::string& reply);
  template <typename K, Plain V>
  Result<RunResult> call(const TypedTable<K, V>& table, const std::type_identity_t<K>& key, std::string_view procedure,
                         std::string_view args, std::string& reply) {
    return call(static_cast<const Table&>(table), EncodedKey<K>(key), procedure, args, reply);
  }
  template <typename K, Plain V, Plain Args, Plain Reply>
  Result<RunResult> call(const TypedTable<K, V>& table, const std::type_identity_t<K>& key, std::string_view procedure,
                         const Args& args, Reply& reply) {
    std::string bytes;
    auto done = call(static_cast<const Table&>(table), EncodedKey<K>(key), procedure, bytes_of(args), bytes);
    return take(std::move(done), procedure, bytes, reply);
  }

 private:
  template <typename Args>
  static std::string_view bytes_of(const Args& args) {
    return {reinterpret_cast<const char*>(&args), sizeof args};
  }
  template <typename Reply>
  static Result<RunResult> take(Result<RunResult> done, std::string_view procedure, const std::string& bytes,
                                Reply& reply) {
    if (!done.ok()) return done;
    if (bytes.size() != sizeof reply) return other_reply(procedure, bytes.size(), sizeof reply);
    std::memcpy(&reply, bytes.data(), sizeof reply);
    return done;
  }
  static Status other_reply(std::string_view procedure, std::size_t bytes, std::size_t expected);

  db::ClusterNode& node_;
  std::unique_ptr<db::ClusterThread> thread_;
};

/// This process's node. What comes up to start(), start() itself, barrier() and leave() are one thread's at a time; the
/// rest, after start(), is thread-safe. A child that the process forks cannot use it: what holds for a Database there
/// (granary/database.h) holds for the node, its workers and its figures.
class GRANARY_EXPORT Cluster {
 public:
  /// Reads the cluster file, becomes a member, opens the node's database. kFailedPrecondition if the cluster runs with
  /// another file or another version. kUnavailable if its membership cannot be reached. If other nodes serve, this one
  /// comes back to them, once what its former life, or any other that has died, had under way is recovered (by itself,
  /// if no node that serves sees its directories); kUnavailable if that takes longer than start_timeout_ms, or if the
  /// cluster keeps no logs: then all nodes start together. kAlreadyExists if this node runs already. kDamaged if its
  /// data are gone, though it has served with data. kResourceExhausted if the system refuses a thread. A node whose
  /// membership was lost (status()) may join again in the same process, once its Cluster is gone.
  static Result<std::unique_ptr<Cluster>> join(const ClusterOptions& options);
  /// Leaves, if leave() was not called, and then waits as long as that. If leave() has returned kUnavailable and the
  /// others have not been told of the end yet, they count the node as dead now. Precondition: all workers are gone; if
  /// some are not, the program ends with a message that names them.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  NodeNumber node() const;
  /// All of the cluster file's, ascending.
  std::vector<NodeNumber> nodes() const;

  // Before start(): the same on all nodes, in the same order.
  /// The table's records are shared with the other nodes, unless it is replicated; so it needs max_value_bytes.
  /// kFailedPrecondition after start() or leave(); otherwise errors are those of Database.
  Result<Table> create_table(std::string_view name, TableOptions options, Placement placement);
  template <typename K, Plain V>
  Result<TypedTable<K, V>> create_table(std::string_view name, TableOptions options, Placement placement) {
    options.max_value_bytes = sizeof(V);
    auto table = create_table(name, options, std::move(placement));
    if (!table.ok()) return table.status();
    return TypedTable<K, V>(*table);
  }
  /// An entry lives where its record does. A scan of the index is of one node, which `home` tells from the range's
  /// lower end.
  Result<Index> create_index(const Table& table, std::string_view name, const IndexOptions& options,
                             Placement placement);
  /// What other nodes may call here.
  Procedures& procedures();

  /// Waits until all nodes have come so far, and connects with them; of a node that comes back, loads what it missed.
  /// Transactions may begin afterwards, also before other nodes have returned from it. An error names the node that is
  /// missing or does not answer after ClusterOptions::start_timeout_ms (kUnavailable), or whose tables differ
  /// (kFailedPrecondition). kResourceExhausted if the system refuses a thread. After an error, leave: a second call, as
  /// one after leave(), is refused (kFailedPrecondition).
  Status start();
  /// Waits until every node has called this as often as this node, or has left, e.g. between loading and running.
  /// Transactions that begin here afterwards know what the other nodes had sealed before it (Database::seal), if those
  /// answer. One that is on its way back is waited for. An error if one has died, does not answer for start_timeout_ms,
  /// or has not come after barrier_timeout_ms (kUnavailable; the message names the node), or if this one is no member
  /// any more (kMembershipLost). kFailedPrecondition before start() has succeeded, and after leave().
  Status barrier();

  /// Whether others served when this node joined: it has come back to a cluster that goes on. Then its data are there,
  /// no other node waits for it, and it counts as many barriers as the others have come to.
  bool rejoined() const;

  /// Counts the lives of this node, from 1; this one's number.
  std::uint32_t generation() const;
  /// The version of the newest configuration of the cluster that this node knows; grows with each change. Thread-safe.
  std::uint64_t configuration() const;

  /// Names this start of the cluster: the same text on all nodes that started together, and on no others. Empty before
  /// start().
  const std::string& start_id() const;

  /// kResourceExhausted when as many are registered as the cluster file has for the node. A worker that has ended
  /// counts as well while records that it has left locked have not been given back, as their homes cannot be reached.
  /// kFailedPrecondition before start() and after leave().
  Result<std::unique_ptr<ClusterWorker>> register_worker();
  /// The node's database: its own keys, statistics, durability.
  Database& database();
  ClusterStatistics statistics() const;
  ClockStatus clock() const;
  /// OK, or why this node takes part no more (kMembershipLost: exit code 6).
  Status status() const;
  /// OK, or why no result is released at present: kUnavailable, with the node that is dead or stands still and for how
  /// long, of which a notice has told (Options::notices); or status(). Thread-safe after start().
  Status release_status() const;
  /// The lives of nodes that have died and are yet to be recovered, in the order in which they ended; then the last 16
  /// at most that this node has recovered, the latest at the end, its own former one included. Empty if nothing of that
  /// kind has happened. In a cluster without logs nobody recovers a dead node, and it waits for ever. Thread-safe after
  /// start().
  std::vector<NodeRecovery> recoveries() const;

  /// Ends the membership in order, or as dead if something is left to recover: the log has failed, or records of other
  /// nodes are left locked. kFailedPrecondition, with their numbers, if workers are registered: then nothing was done.
  /// kUnavailable if the others could not be told, as the membership's ZooKeeper or files could not be used for a few
  /// seconds (with ZooKeeper also a few times `session_timeout_ms`): the node has left, and goes on to tell them while
  /// this object lives. Before that this waits for procedures that run for other nodes, for the log, half a second for
  /// each node that cannot be reached and at which ended workers have left records locked, and some 10 s if such
  /// records were removed and their nodes do not answer. If workers that ran procedures for other nodes have left such
  /// records, each of them is ended as ~ClusterWorker() says.
  Status leave();

 private:
  explicit Cluster(std::unique_ptr<db::ClusterNode> node);
  std::unique_ptr<db::ClusterNode> node_;
};

}  // namespace granary
