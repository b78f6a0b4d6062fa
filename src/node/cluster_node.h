#pragma once
// A node of a cluster: what stands behind granary::Cluster. It puts together membership, fabric, database, epochs, messages and
// workers, and takes them apart in the other order.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <granary/cluster.h>

#include "cluster_config/config.h"
#include "cluster_config/membership/membership.h"
#include "cluster_config/membership/membership_thread.h"
#include "src/base/interruptible_files.h"
#include "src/node/call_workers.h"
#include "src/node/cluster_thread.h"
#include "src/node/leader_thread.h"
#include "src/node/log_files.h"
#include "src/db/cluster_part.h"
#include "src/node/node_clock.h"
#include "src/node/peer_watch.h"
#include "src/node/start_watch.h"
#include "src/cluster/messages/owner.h"
#include "src/cluster/messages/service.h"
#include "src/cluster/messages/service_thread.h"
#include "src/memory/region.h"

namespace granary::db {

class ClusterNode {
 public:
  static Result<std::unique_ptr<ClusterNode>> join(const ClusterOptions& options);
  /// Precondition: all workers are gone (check_no_workers()).
  ~ClusterNode();
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  NodeNumber node() const { return own_.id; }
  std::vector<NodeNumber> nodes() const;
  Database& database() { return *database_; }
  Procedures& procedures() { return procedures_; }
  Status status() const { return membership_->status(); }
  Status release_status() const;

  Result<Table> create_table(std::string_view name, TableOptions options, Placement placement);
  Result<Index> create_index(const Table& table, std::string_view name, const IndexOptions& options,
                             Placement placement);
  Status start();
  Status barrier();
  const std::string& start_id() const { return start_id_; }
  Result<std::unique_ptr<ClusterThread>> register_worker();
  Result<RunResult> call(ClusterThread& worker, NodeNumber node, std::string_view procedure, std::string_view args,
                         std::string& reply);
  /// Of a key of a table that this made.
  Result<NodeNumber> home_of(const Table& table, std::string_view key) const;
  ClusterStatistics statistics() const;
  ClockStatus clock() const;
  /// kFailedPrecondition, with their numbers, if workers of register_worker() are there.
  Status check_no_workers() const;
  Status leave();

 private:
  ClusterNode(const ClusterOptions& options, cluster_config::ClusterConfig config);

  // Joining and starting, step by step.
  Status join();
  Status start_with_all();
  Status or_given_up(Status status) const;
  Status become_member();
  Status note_life(membership::Life life, membership::Generation generation) const;
  membership::Generation life_now(NodeNumber node);
  /// Whether this node sees the other's directories.
  bool sees(const cluster_config::NodeConfig& node) const;
  bool sees_all() const;
  Status prepare_directories(ClusterPart& part);
  Status prepare_alone(ClusterPart& part);
  Status prepare_together(ClusterPart& part);
  Status open_database();
  Status open_fabric();
  void place(txn::TableCore* core, Placement placement);
  Status begin_service();
  Status await_members();
  Status meet_all();
  Status refuse_start(Status why);
  std::string refusal_by(const membership::Configuration& configuration) const;
  void watch_peers();
  /// Tells a notice about this node.
  void tell(NoticeSeverity severity, NoticeTopic topic, std::string text) const;
  Status await_admission();
  Status take_from_others();
  Status learn_tables();
  Status compare_tables(NodeNumber node, const cluster::messages::DescribeAnswer& said) const;
  Status begin_call_workers();
  Status note_served();

  /// Asks with the node's own worker until it is answered or the time for starting is up.
  template <typename Request>
  Status ask(cluster::messages::Ask<Request>& question);
  std::string answer_control() const;
  bool has_left(NodeNumber node) const;
  epoch::ControlBlock& control_block() const { return *reinterpret_cast<epoch::ControlBlock*>(control_->base()); }
  void follow(const membership::Configuration& configuration);
  void count_in(ClusterThread& thread);
  void end_service();
  Status end_membership();
  Result<std::unique_ptr<ClusterThread>> open_thread(WorkerNumber number);

  const ClusterOptions options_;
  const cluster_config::ClusterConfig config_;
  const cluster_config::NodeConfig& own_;
  const std::vector<NodeNumber> ids_;  ///< of all nodes
  const cluster::messages::MailboxLayout layout_;
  Procedures procedures_;
  StartWatch start_watch_{options_.give_up};  ///< until start() has returned
  base::InterruptibleFiles files_{base::system_files(), [this] { return start_watch_.gives_up(); }};

  std::unique_ptr<NodeClock> clock_;
  std::unique_ptr<membership::Membership> membership_;
  std::map<membership::NodeId, membership::Generation> former_lives_;  ///< that were over when this node joined
  std::unique_ptr<memory::Region> control_;
  std::unique_ptr<memory::Region> mail_;
  std::unique_ptr<memory::Region> buffers_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<cluster::BufferPool> pool_;
  base::ThreadWaiter waiter_;
  cluster::Directory directory_{own_.location_cache_bytes};
  std::unique_ptr<cluster::NodeParts> parts_;
  std::vector<txn::TableCore*> made_;    ///< tables and indexes of create_table() and create_index()
  std::vector<txn::TableCore*> tables_;  ///< all of the database's by id, for the owner, from begin_service() on

  std::unique_ptr<LeaderThread> leader_;
  std::unique_ptr<membership::MembershipThread> membership_thread_;
  std::unique_ptr<PeerWatch> peer_watch_;  ///< from the end of start() on
  Worker service_worker_;
  epoch::Slot* service_slot_ = nullptr;
  std::unique_ptr<rdma::Endpoint> service_endpoint_;
  std::unique_ptr<cluster::messages::Owner> owner_;
  std::unique_ptr<cluster::messages::CallQueue> calls_;
  std::unique_ptr<LogFiles> log_files_;  ///< none without a directory
  std::unique_ptr<cluster::messages::Service> service_;
  std::unique_ptr<cluster::messages::ServiceThread> service_thread_;
  std::unique_ptr<ClusterThread> own_thread_;  ///< for what the node itself asks
  std::unique_ptr<CallWorkers> call_workers_;
  std::atomic<std::uint64_t> barriers_{
      0};  ///< reached by this node; written by barrier(), read by the service: release, acquire
  bool started_ = false;
  bool left_ = false;     ///< leave() has ended the membership
  bool served_ = false;   ///< what its directory has is of a cluster that has served; written while it joins and starts
  std::string start_id_;  ///< written by start()

  mutable std::mutex threads_mutex_;     // guards what follows
  std::vector<ClusterThread*> threads_;  ///< those of register_worker() have numbers below the node's workers
  std::vector<std::uint32_t> free_numbers_;
  ClusterStatistics ended_;  ///< of threads that are gone, and of the service
};

}  // namespace granary::db
