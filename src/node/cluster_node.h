#pragma once
// The implementation of granary::Cluster, a node of a cluster. It puts together membership, fabric, database, epochs,
// messages and workers, and takes them apart in the other order.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <granary/cluster.h>

#include "cluster_config/config.h"
#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/membership_thread.h"
#include "src/base/interruptible_files.h"
#include "src/base/periodic_thread.h"
#include "src/base/process_mark.h"
#include "src/node/call_workers.h"
#include "src/node/cluster_tables.h"
#include "src/node/cluster_threads.h"
#include "src/node/leader_thread.h"
#include "src/node/node_clock.h"
#include "src/node/node_life.h"
#include "src/node/node_service.h"
#include "src/node/peer_watch.h"
#include "src/node/peers.h"
#include "src/node/prepare_directories.h"
#include "src/node/recoverer.h"
#include "src/node/recoveries.h"
#include "src/node/start_watch.h"
#include "src/node/survivor.h"
#include "src/memory/region.h"
#include "src/watch/node_report.h"
#include "src/watch/service.h"

namespace granary::db {

class ClusterNode {
 public:
  static Result<std::unique_ptr<ClusterNode>> join(const ClusterOptions& options);
  /// Precondition: all workers are gone (ClusterThreads::check_none_registered()).
  ~ClusterNode();
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  /// Whether this process is a fork of the node's. In a fork only inherited(), check_usable() and functions that return
  /// a number, a name or a reference may be called; the destructor may not.
  bool inherited() const { return !process_.is_of_this_process(); }
  /// Returns kFailedPrecondition in a fork.
  Status check_usable() const { return inherited() ? base::used_in_fork("joined the cluster") : Status(); }

  NodeNumber node() const { return own_.id; }
  const std::vector<NodeNumber>& nodes() const { return ids_; }
  Database& database() { return *database_; }
  Procedures& procedures() { return procedures_; }
  ClusterTables& tables() { return *tables_; }
  ClusterThreads& threads() { return threads_; }
  Peers& peers() { return *peers_; }

  Status start();
  /// Does what Cluster::barrier() promises, and then learns what the other nodes have sealed.
  Status barrier();
  bool rejoined() const { return membership_->rejoined(); }
  std::uint32_t generation() const { return membership_->generation(); }
  std::uint64_t configuration() const { return membership_->configuration()->version; }
  const std::string& start_id() const { return start_id_; }
  Result<RunResult> call(ClusterThread& worker, NodeNumber node, std::string_view procedure, std::string_view args,
                         std::string& reply);
  Status status() const { return membership_->status(); }
  Status release_status() const;
  std::vector<NodeRecovery> recoveries() const { return recoveries_.list(*membership_->configuration()); }
  ClusterStatistics statistics() const;
  ClockStatus clock() const;
  Status leave();

 private:
  ClusterNode(const ClusterOptions& options, cluster_config::ClusterConfig config);
  /// Returns the options with a sink that adds to each notice which life of the node tells it.
  ClusterOptions with_life(ClusterOptions options) const;

  // These make what the node tells of itself by HTTP. The thread of watch_ calls report().
  watch::NodeReport report() const;
  void report_membership(watch::NodeReport& report) const;
  void report_database(watch::NodeReport& report) const;
  void enter(watch::Stage stage);

  /// How far the application has come with this node.
  enum class Use : std::uint8_t { kJoined, kStarted, kFailed, kLeft };
  /// Returns kFailedPrecondition, with a message about `call`, unless the node has come as far as `expected` and no
  /// further.
  Status check_use(std::string_view call, Use expected) const;

  // These are the steps of joining and starting.
  Status join();
  Status start_serving();
  Status begin_threads();
  Status start_together();
  Status come_back();
  bool sees_directory(const cluster_config::NodeConfig& node, const membership::Owed& debt) const;
  bool recovers_by_itself(const membership::Configuration& configuration, const membership::Owed& debt) const;
  bool can_be_recovered(const membership::Configuration& configuration, NodeNumber dead) const;
  bool has_to_recover(const membership::Configuration& configuration, const membership::Owed& debt) const;
  bool has_to_visit(const membership::Configuration& configuration) const;
  Status check_visit(const membership::Configuration& configuration);
  Status visit();
  Status failure_of_visit() const;
  bool others_serve(const membership::Configuration& configuration) const;
  Status or_given_up(Status status) const;
  Status map_control();
  std::size_t miss_lines() const;
  Status become_member();
  PreparedNode preparing();
  Status find_others();
  Status open_database();
  Status open_fabric();
  bool takes_from_elsewhere() const;
  Status take_from_elsewhere();
  Status take_from(NodeNumber node, std::optional<epoch::Epoch> up_to);
  Status take_from_running(NodeNumber node);
  Status learn_all_tables();
  Status learn_tables_of(const std::vector<ServingLife>& others);
  Status learn_tables(const ServingLife& life, const cluster::messages::DescribeAnswer& theirs);
  bool has_immutable_tables() const;
  bool may_ask(NodeNumber node) const;
  std::uint64_t start_barriers() const;
  Status begin_to_serve(FunctionRef<Status(const membership::Configuration&)> may);
  Status begin_workers();
  Status open_call_workers();
  void begin_transactions();
  void watch_peers();
  void give_back_periodically();
  void end_without_log();

  /// Tells a notice about this node.
  void tell(NoticeSeverity severity, NoticeTopic topic, std::string text) const;
  epoch::ControlBlock& control_block() const { return *reinterpret_cast<epoch::ControlBlock*>(control_->base()); }
  void follow(const membership::Configuration& configuration);
  // These are the survivor's duties (survivor.h).
  SurvivorDuties survivor_duties();
  void act_in(const membership::Configuration& configuration);
  bool look_after_others(const membership::Configuration& configuration);
  void forget_ended(const membership::Configuration& configuration);
  void take_back_lent(const membership::Configuration& configuration);
  void learn_returned(const membership::Configuration& configuration);
  void drop_former_tables();
  std::optional<Options> seen_directory(NodeNumber id) const;
  Result<membership::Generation> remembered_life(NodeNumber id) const;
  RecovererParts recoverer_parts();
  bool comes_back(NodeNumber node) const;
  std::function<bool(rdma::NodeId)> come_back_predicate() const;
  Status end_membership();
  void disconnect();

  const base::ProcessMark process_;
  // Written by become_member() and the membership's thread, read by threads that tell a notice; relaxed, since each is
  // a value of its own.
  std::atomic<membership::Generation> told_generation_{0};  ///< 0 before the node is a member
  std::atomic<std::uint64_t> told_configuration_{0};
  const ClusterOptions options_;
  const cluster_config::ClusterConfig config_;
  const cluster_config::NodeConfig& own_;
  const std::vector<NodeNumber> ids_;  ///< of all nodes
  const cluster::messages::MailboxLayout layout_;
  Procedures procedures_;
  StartWatch start_watch_{options_.give_up};  ///< until start() has returned
  base::InterruptibleFiles files_{base::system_files(), [this] { return start_watch_.gives_up(); }};
  NodeLife life_{config_, own_};
  ClusterThreads threads_{own_.id, own_.workers, config_.file};

  std::unique_ptr<NodeClock> clock_;
  std::unique_ptr<membership::Membership> membership_;
  std::optional<membership::Configuration> returns_by_;  ///< if others serve, says how far their logs count here
  bool begins_anew_ = false;                             ///< this life only joined; a next one starts with all others
  std::optional<Peers> peers_;                           ///< since the node is a member
  std::unique_ptr<memory::Region> control_;
  std::unique_ptr<memory::Region> mail_;
  std::unique_ptr<memory::Region> buffers_;
  std::unique_ptr<Database> database_;
  std::optional<ClusterTables> tables_;  ///< since there is a database
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<cluster::BufferPool> pool_;
  base::ThreadWaiter waiter_;
  cluster::Directory directory_{own_.location_cache_bytes};
  std::unique_ptr<cluster::NodeParts> parts_;
  std::unique_ptr<cluster::NodeParts> survivor_parts_;  ///< parts_ with less patience, for the survivor's thread

  Recoveries recoveries_;
  std::unique_ptr<LeaderThread> leader_;
  std::unique_ptr<ClusterThread> survivor_worker_;  ///< used by the survivor's thread, to ask other nodes
  std::span<char> settle_room_;                     ///< memory of pool_, with which dead nodes' debts are settled
  std::optional<Recoverer> recoverer_;              ///< used by the survivor's thread
  /// The lives whose tables are known. Used by start(), and from may_learn_ on by the survivor's thread.
  std::map<NodeNumber, membership::Generation> learned_;
  /// The lives that may have borrowed memory of this node. Used by the survivor's thread.
  std::map<NodeNumber, membership::Generation> lends_to_;
  /// Tables of lives that are over, until no transaction uses them. Used by the survivor's thread.
  std::vector<std::pair<epoch::Epoch, cluster::FormerLife>> former_tables_;
  std::atomic<bool> may_learn_{false};  ///< set (release) by start() when it has learned the tables of all that serve
  std::mutex survivor_mutex_;  ///< guards the pointer: the membership's thread may run before there is a survivor
  std::unique_ptr<Survivor> survivor_;
  std::unique_ptr<membership::MembershipThread> membership_thread_;
  std::unique_ptr<PeerWatch> peer_watch_;  ///< from the end of start() on
  /// Gives back what ended workers have left locked, from the end of start() on.
  std::unique_ptr<base::PeriodicThread> give_back_thread_;
  NodeService service_;
  std::unique_ptr<ClusterThread> own_thread_;  ///< asks other nodes for the node itself
  std::unique_ptr<CallWorkers> call_workers_;
  Use use_ = Use::kJoined;
  bool left_ = false;     ///< leave() has ended the membership
  std::string start_id_;  ///< written by start(); empty until the node has started

  mutable std::mutex stage_mutex_;               ///< guards stage_
  watch::Stage stage_ = watch::Stage::kJoining;  ///< members that a report in this stage reads are there before it
  std::unique_ptr<watch::Service> watch_;        ///< goes first, as it looks at the above; nullptr without an address
};

}  // namespace granary::db
