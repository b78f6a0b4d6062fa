#pragma once
// A simulated cluster whose nodes die, are recovered by others, and come back, while clients on all nodes append to
// lists and read them, also as snapshots show them. Nodes follow a membership at a board in memory, and do in fibers
// what the threads of a real node do: they cut dead nodes off, become quiet, recover (db::SurvivorTurns,
// db::Recoverer), lead the epochs (EpochLeader), and come back with what all logs have.
//
// A node's process ends in an instant, maybe some time after the others have begun to take it for dead. Its rings stay
// as they are then, and so does its disk, or what the disk had synced and some of the rest; nothing that the node does
// afterwards reaches anybody, but its fibers go on until they find out. Its next life begins when they have ended. The
// lives are in crash_world.cc, how they end and come back is in crash_fate.cc, and what clients do in crash_clients.cc
// and crash_snapshots.cc.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/append/history/history.h"
#include "cluster_config/membership/memory_board.h"
#include "cluster_config/membership/membership.h"
#include "src/base/random.h"
#include "src/cluster/cluster_epoch/leader.h"
#include "src/node/recoverer.h"
#include "src/node/recoveries.h"
#include "src/node/survivor.h"
#include "tests/cluster/recovery/host_files.h"
#include "tests/cluster/transaction/epoch_order.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/support/ring_directory.h"

namespace granary::cluster::test {

struct CrashOptions {
  std::uint64_t seed = 1;
  IndexKind index = IndexKind::kHash;
  unsigned nodes = 3;
  unsigned clients = 2;          ///< of each node, each with a worker of its own
  unsigned lists = 2;            ///< of each node, at a time
  unsigned length = 12;          ///< of a list; then another takes its place. Many short ones make leaves split
  unsigned deaths = 1;           ///< one after the other, at random moments; one node at least serves at any time
  unsigned most_between = 2000;  ///< turns between two deaths
  std::string protocol = "silo";
};

class CrashWorld {
 public:
  explicit CrashWorld(const CrashOptions& options);
  ~CrashWorld();

  /// Runs it to its end. Returns an empty string, or what went wrong beside the history.
  std::string run();
  const bench::history::History& history() const { return history_; }

  struct Counts {
    unsigned committed = 0;
    unsigned unknown = 0;            ///< transactions whose node died before their client heard of them
    unsigned released = 0;           ///< that clients waited for
    unsigned to_write = 0;           ///< that have told before their commit what they would write
    unsigned looks = 0;              ///< snapshots that have seen something
    unsigned again = 0;              ///< lists that a snapshot has read a second time
    unsigned again_after_death = 0;  ///< with a death in between
    unsigned kept = 0;               ///< versions that were copied into borrowed blocks, and linked
    unsigned died_keeping = 0;       ///< nodes that died behind a block that they had borrowed, or behind its link
    SettleCounts settled{};
    unsigned cut_short = 0;          ///< recoveries whose recoverer died
    unsigned returned = 0;           ///< lives that came back and served
    unsigned lost_at_death = 0;      ///< disks that lost what was not synced when their node's process ended
    unsigned lost_when_adopted = 0;  ///< and when the dead node's rings had just been adopted
  };
  const Counts& counts() const { return counts_; }

 private:
  using MicroOp = bench::history::MicroOp;
  using Ops = std::vector<MicroOp>;
  using List = std::vector<bench::history::Element>;
  static constexpr std::uint32_t kMostBytes = 128;  ///< of a list

  /// One life of a node.
  struct Life {
    unsigned node = 0;
    std::unique_ptr<membership::Membership> membership;
    std::optional<db::SurvivorTurns> turns{};
    db::Recoveries recoveries{};
    std::optional<db::Recoverer> recoverer{};
    LeaderOptions leads{};  ///< without members: it does not lead
    std::map<membership::NodeId, membership::Generation> learned{};
    std::map<membership::NodeId, membership::Generation> lends_to{};
    std::vector<FormerLife> former{};  ///< what it knew of others before, which readers may still use
    epoch::Epoch durable = 0;
    bool serves = false;
    epoch::Epoch first_epoch = 0;  ///< of its transactions, if it serves
    bool condemned = false;        ///< the others may take it for dead
    bool dead = false;             ///< its process has ended
    unsigned fibers = 0;
  };
  using LifePtr = std::shared_ptr<Life>;
  /// Ends a fiber of a life that is over where the process would have died.
  struct Killed {};

  std::vector<membership::NodeId> ids() const;
  Options engine_options(unsigned node) const;
  SimClusterNode& node(const Life& life) { return cluster_.node(life.node); }
  bool goes_on(const Life& life) const { return !life.dead && !over_; }
  void spawn(const LifePtr& life, std::function<void()> body);
  void pause(unsigned most);
  /// Lets the others go on until `holds`; false if the world stands still.
  bool await(const char* what, const std::function<bool()>& holds);
  void expect_ends();
  void note_wrong(const std::string& what);
  void pass_point(std::string_view point);

  // Lives.
  void join(unsigned node);
  void open(const LifePtr& life);
  void follow_membership(const LifePtr& life);
  db::SurvivorDuties duties(Life& life);
  void forget_ended(Life& life, const membership::Configuration& configuration);
  void take_back_lent(Life& life, const membership::Configuration& configuration);
  bool look_after_others(Life& life, const membership::Configuration& configuration);
  db::RecovererParts recoverer_parts(Life& life);
  void lead(Life& life);
  void publish(Life& life);
  void expect_logged(epoch::Epoch durable);
  bool is_settled(const Life& life);
  void begin_to_serve(const LifePtr& life);
  void die_soon(const LifePtr& life);
  void pause_until_dead(const Life& life);
  void condemn(unsigned node);
  void end_process(unsigned node);
  void keep_what_is_left(unsigned node);
  void lose_unsynced(unsigned node);
  void replace_disk(unsigned node, std::unique_ptr<tests::FaultFiles> image);
  void lose_unsynced_of_adopted(const Life& recoverer);
  void come_back(unsigned node);
  bool prepare_return(Life& life);
  bool take_from_others(Life& life);

  // Clients.
  bench::history::Key key_at(std::size_t slot, std::uint64_t appended) const;
  std::string key_of(bench::history::Key key) const;
  static List list_of(std::string_view bytes);
  bench::history::Key some_key();
  MicroOp some_op();
  void run_client(const LifePtr& life, unsigned worker);
  bool transact(Life& life, unsigned worker, std::uint64_t process, Ops ops);
  bool declare(Transaction& t, const Table& table, const Ops& ops);
  bool execute(Transaction& t, const Table& table, Ops& ops);
  Outcome read_to_write(Transaction& t, const Table& table, const std::string& key, std::string& value);
  void note_epoch(const Life& life, const CommitResult& done, const Ops& ops);
  void look_back(Life& life, unsigned worker);
  using Looked = std::map<bench::history::Key, List>;
  void look(const Life& life, Snapshot& snapshot, const std::vector<bench::history::Key>& keys, Looked& looked);
  void await_release(Life& life, epoch::Epoch epoch);
  void note(bench::history::EventType type, std::uint64_t process, Ops ops, bool snapshot = false);
  void read_all();
  void expect_all_free();

  void fate();
  bool all_serve() const;
  bool may_die(unsigned node) const;
  void kill_somebody();

  const CrashOptions options_;
  base::Random random_;
  const tests::RingDirectory rings_;
  std::vector<std::unique_ptr<tests::FaultFiles>> former_disks_;  ///< of lives that are over, which may still use them
  HostFiles host_;
  std::shared_ptr<membership::MemoryPlace> place_ = std::make_shared<membership::MemoryPlace>();
  std::vector<db::ClusterPart> parts_;  ///< with which each node's next life opens its database
  std::vector<std::map<membership::NodeId, std::optional<epoch::Epoch>>> up_to_;  ///< how far it takes each other log
  SimCluster cluster_;
  std::vector<Table> tables_;
  std::vector<LifePtr> lives_;
  std::map<rdma::fiber::Fiber*, LifePtr> life_of_fiber_;
  std::vector<std::uint64_t> appends_;  ///< of each slot: a node's list of the moment
  bench::history::History history_;
  std::vector<Seen> seen_;  ///< by snapshots, and by transactions that have committed
  Counts counts_;
  std::uint64_t processes_ = 0;
  unsigned clients_ = 0;
  unsigned fibers_ = 0;  ///< of all lives
  unsigned deaths_ = 0;  ///< of nodes that others may take for dead
  unsigned ended_ = 0;   ///< processes
  epoch::Epoch last_commit_ = 0;
  std::string deadly_point_;  ///< the next node that passes this sync point dies there; empty: none does
  bool enough_ = false;
  bool over_ = false;
  std::string wrong_;
};

}  // namespace granary::cluster::test
