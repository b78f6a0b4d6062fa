// Makes a process a node of its cluster: a member with a fabric and with a database of its own, which is recovered.

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cluster_config/load.h"
#include "cluster_config/provider.h"
#include "src/base/build_info.h"
#include "src/base/test_hooks.h"
#include "src/node/cluster_options.h"
#include "src/node/cluster_node.h"
#include "src/node/cluster_protocol.h"
#include "src/node/node_fabric.h"
#include "src/node/node_needs.h"
#include "src/node/node_watch.h"
#include "src/node/prepare_directories.h"
#include "src/db/engine.h"
#include "src/db/options_check.h"
#include "src/cluster/cluster_epoch/member.h"
#include "src/cluster/record_access/regions.h"

namespace granary::db {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

namespace {

/// For how long a node that starts asks ZooKeeper again if it does not answer; a server is looked for as long at first.
constexpr std::uint64_t kUnreachable_us = 30'000'000;

/// For how long a node that starts waits for others that seem to serve, as they may be about to end.
constexpr std::uint64_t kLeaving_us = 1'000'000;

Result<std::unique_ptr<memory::Region>> map(std::uint64_t bytes, bool shared) {
  return memory::Region::map({.reserve_bytes = bytes, .huge_pages = HugePages::kOff, .shared = shared});
}

/// Pins the calling thread, and the threads that it starts from then on.
Status run_on(const std::vector<std::uint32_t>& cpus) {
  if (cpus.empty()) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::uint32_t cpu : cpus) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return {};
  return Status(StatusCode::kInvalidArgument,
                fmt::format("this process may run on none of the node's {} 'cpus': {}; see `granary cluster check`",
                            cpus.size(), std::strerror(errno)));
}

std::vector<membership::NodeId> nodes_of(const ClusterConfig& config) {
  std::vector<membership::NodeId> nodes;
  for (const NodeConfig& node : config.nodes) nodes.push_back(node.id);
  return nodes;
}

/// Returns the options of the membership, with what the node's data remember of it.
membership::MembershipOptions membership_options(const ClusterConfig& config, const NodeConfig& node,
                                                 const NodeLife& life, std::uint64_t start_timeout_ms) {
  membership::MembershipOptions options{.node = node.id,
                                        .cluster = config.name,
                                        .fingerprint = cluster_config::fingerprint(config),
                                        .nodes = nodes_of(config),
                                        .address = node.address.empty() ? node.host : node.address,
                                        .protocol = cluster_protocol(),
                                        .release = base::version_text(),
                                        .together_us = kLeaving_us,
                                        .rejoins_us = {}};
  constexpr std::uint64_t kMicroseconds = 1000;
  if (cluster_config::has_logs(config)) options.rejoins_us = start_timeout_ms * kMicroseconds;
  options.remember(life.former());
  options.data_place = node.data_directory;
  options.finds_data = life.finds_data();
  // The run directory of a host may be gone after a restart of the machine, which must not keep nodes from starting.
  if (config.membership.kind == cluster_config::MembershipKind::kLocal) {
    options.known_cluster_id = 0;
  } else {
    options.unreachable_us = kUnreachable_us;
  }
  return options;
}

/// Returns an error if simulated HTM regions would not see what other nodes do to this node's memory. They see it if
/// the processors of these nodes do it, and in builds with test hooks.
Status check_simulation(cluster_config::Provider provider) {
  if (!traits(provider).by_processor) {
    return {
        StatusCode::kInvalidArgument,
        fmt::format("Options::htm is kSim, and with provider '{}' nothing tells a simulated region what other nodes' "
                    "devices do to this node's memory; take kOff, kAuto or kRtm, or provider '{}'",
                    name(provider), name(cluster_config::Provider::kShm))};
  }
  if (!base::kTestHooks) {
    return {StatusCode::kUnavailable,
            "Options::htm is kSim, the simulated HTM, which this build does not have: it needs -DGRANARY_TEST_HOOKS=ON "
            "on all nodes"};
  }
  return {};
}

std::vector<membership::NamedLife> lives_in(const membership::Configuration& configuration) {
  std::vector<membership::NamedLife> lives;
  for (const membership::Member& member : configuration.members)
    if (member.live()) lives.push_back({.node = member.id, .generation = member.generation});
  return lives;
}

/// Clears the directories, since a life that is there to recover others has no data of its own.
void forget_directories(Options& options) {
  options.directory.clear();
  options.log_directories.clear();
  options.reliable_directory.clear();
}

}  // namespace

Result<std::unique_ptr<ClusterNode>> ClusterNode::join(const ClusterOptions& options) {
  if (const Status checked = option::check("ClusterOptions::", options); !checked.ok()) return checked;
  Result<ClusterConfig> config = cluster_config::load(options.file);
  if (!config.ok()) return config.status();
  if (config->find(options.node) == nullptr) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("{}: there is no node {}; add it, or name one of the file's", options.file, options.node));
  }
  if (options.database.htm == Htm::kSim) {
    if (const Status sees = check_simulation(config->provider); !sees.ok()) return sees;
  }
  if (!reaches_shared_tables(options.database)) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("Options::protocol is '{}', which does not reach records of other nodes; a cluster takes {}",
                    options.database.protocol, fmt::join(shared_protocol_names(), " or ")));
  }
  Recoveries visited;
  for (;;) {
    std::unique_ptr<ClusterNode> node(new ClusterNode(options, *config));
    node->recoveries_.inherit(visited);
    Status joined = node->join();
    const bool visits = joined.ok() && node->membership_->visits();
    const bool begins_anew = joined.ok() && node->begins_anew_;
    if (visits) joined = node->visit();
    if (begins_anew) joined = node->leave();
    if (joined = node->or_given_up(std::move(joined)); !joined.ok()) return joined;
    if (!visits && !begins_anew) return node;
    visited.inherit(node->recoveries_);
    node.reset();
    if (visits) base::sync_point("visit.ended");
  }
}

Status ClusterNode::join() {
  Status status = run_on(own_.cpus);
  if (!status.ok()) return status;
  auto watch = watch_node(config_, own_, [this] { return report(); });
  status = become_member();
  // If the node runs already, its address is in use for that reason, so the error of the membership is the one to tell.
  if (status.ok() && !watch.ok())
    status = {watch.status().code(), fmt::format("node {}: {}", own_.id, watch.status().message())};
  if (!status.ok()) return status;
  watch_ = std::move(watch).value();
  enter(watch::Stage::kRecovering);
  status = find_others();
  if (status.ok() && !begins_anew_) status = open_database();
  // The note is taken back because a volume may be mounted in the directory later. If the membership is lost, another
  // life of the node may use the directory by now.
  const bool opened = status.ok() && !begins_anew_;
  if (!opened && (membership_->status().ok() || start_watch_.gives_up())) life_.take_back();
  if (!opened) return status;
  status = open_fabric();
  if (status.ok()) enter(watch::Stage::kStarting);
  return status;
}

/// Returns the `status` of a step, unless the node was told to give up: then the step has ended because of that.
Status ClusterNode::or_given_up(Status status) const {
  if (!start_watch_.gives_up()) return status;
  return {StatusCode::kUnavailable, fmt::format("node {} was told to give up before it served", own_.id)};
}

Status ClusterNode::map_control() {
  auto control = map(sizeof(epoch::ControlBlock) + miss_lines() * sizeof(cc::SharedMissTimes::Line), /*shared=*/true);
  if (!control.ok()) return control.status();
  control_ = std::move(control).value();
  return {};
}

/// Joins the membership. It maps the control block first, since the membership's thread uses that when the membership
/// is lost.
Status ClusterNode::become_member() {
  if (Status mapped = map_control(); !mapped.ok()) return mapped;
  if (Status made = make_run_directory(config_); !made.ok()) return made;
  auto board = open_board(config_, [this] { return start_watch_.gives_up(); });
  if (!board.ok()) return board.status();
  if (const Status read = life_.read(options_.database.salvage); !read.ok()) return read;
  membership::Membership::Listener listener;
  listener.changed = [this](const membership::Configuration& configuration) { follow(configuration); };
  listener.lost = [this](const Status& why) {
    cluster::stop_serving(control_block());
    tell(NoticeSeverity::kError, NoticeTopic::kMembership, why.message());
  };
  listener.warn = [this](const std::string& warning) {
    tell(NoticeSeverity::kWarning, NoticeTopic::kMembership, warning);
  };
  membership::MembershipOptions options = membership_options(config_, own_, life_, options_.start_timeout_ms);
  options.give_up = [this] { return start_watch_.gives_up(); };
  options.accepts_older_data = options_.database.salvage;
  options.visits = [this](const membership::Configuration& found) { return has_to_visit(found); };
  options.accepts_new_board = options_.new_board;
  options.recovers = options_.recovers_others;
  options.check_visit = [this](const membership::Configuration& found) { return check_visit(found); };
  options.note_life = [this](membership::Generation generation) { return life_.note_begun(generation); };
  auto joined = membership::Membership::join(std::move(board).value(), std::move(options), std::move(listener));
  if (!joined.ok()) return joined.status();
  membership_ = std::move(joined).value();
  told_configuration_.store(membership_->configuration()->version, std::memory_order_relaxed);
  told_generation_.store(membership_->generation(), std::memory_order_relaxed);
  start_watch_.on_give_up([this] { membership_->stop(); });  // which ends all waits for other nodes
  peers_.emplace(options_, config_, *membership_);
  // Loading its data takes the node some time, in which the others look whether it is alive.
  if (membership_->rejoined()) membership_thread_ = std::make_unique<membership::MembershipThread>(*membership_);
  return life_.note_joined(membership_->life());
}

PreparedNode ClusterNode::preparing() {
  return {.options = options_,
          .config = config_,
          .own = own_,
          .served = life_.served(),
          .membership = *membership_,
          .files = files_};
}

/// Waits until a node that comes back can do so. If the last node that served has ended since this one joined, as after
/// a kill shortly before, this node begins anew: in a next life it starts together with all others, and it keeps
/// nothing of what this life has found.
Status ClusterNode::find_others() {
  if (!membership_->rejoined() || membership_->visits()) return {};
  auto found = await_return(preparing());
  if (!found.ok()) return found.status();
  returns_by_ = std::move(found).value();
  begins_anew_ = !returns_by_.has_value();
  if (begins_anew_)
    tell(NoticeSeverity::kInfo, NoticeTopic::kMembership,
         "the nodes that served when this one came back have all ended since, so it starts together with all others");
  return {};
}

Status ClusterNode::open_database() {
  auto clock = NodeClock::open(config_);
  if (!clock.ok()) return clock.status();
  clock_ = std::move(clock).value();
  ClusterPart part{.control = &control_block(), .node = own_.id, .life = membership_->generation()};
  Options database = database_options(options_, config_, own_);
  if (membership_->visits()) {
    forget_directories(database);
  } else if (Status status = prepare_directories(preparing(), part, returns_by_); !status.ok()) {
    return status;
  }
  // Nobody has stepped the membership since the nodes agreed, so its configuration has the lives that did.
  if (!membership_->rejoined() && takes_from_elsewhere()) peers_->start_with(lives_in(*membership_->configuration()));
  auto engine = Engine::open(database, files_, part);
  if (!engine.ok()) return engine.status();
  (*engine)->set_fence(membership_->fence());
  (*engine)->set_living(membership_->living());
  (*engine)->set_time(clock_->time());
  (*engine)->set_misses(
      {reinterpret_cast<cc::SharedMissTimes::Line*>(control_->base() + sizeof(epoch::ControlBlock)), miss_lines()});
  database_ = std::make_unique<Database>(std::move(engine).value());
  tables_.emplace(own_.id, *database_);
  return {};
}

std::size_t ClusterNode::miss_lines() const {
  return cc::SharedMissTimes::lines_for(std::size_t{layout_.nodes} * layout_.workers);
}

/// Returns the function that says whether a node comes back; an empty one without logs, as then no node comes back
/// while others serve.
std::function<bool(rdma::NodeId)> ClusterNode::come_back_predicate() const {
  if (!cluster_config::has_logs(config_)) return {};
  return [this](rdma::NodeId node) { return comes_back(node); };
}

Status ClusterNode::open_fabric() {
  auto mail = map(layout_.region_bytes(), /*shared=*/true);
  if (!mail.ok()) return mail.status();
  mail_ = std::move(mail).value();
  const bool shared = false;
  auto buffers = map(buffer_bytes(own_), shared);
  if (!buffers.ok()) return buffers.status();
  buffers_ = std::move(buffers).value();
  pool_ = std::make_unique<cluster::BufferPool>(*buffers_);
  auto fabric = db::open_fabric(config_, own_, membership_->generation());
  if (!fabric.ok()) return fabric.status();
  fabric_ = std::move(fabric).value();
  Status status = fabric_->register_region({.id = cluster::kDataRegion}, database_->engine().region());
  if (status.ok()) status = fabric_->register_region({.id = cluster::kControlRegion}, *control_);
  if (status.ok()) status = fabric_->register_region({.id = cluster::kMailRegion}, *mail_);
  if (status.ok()) {
    status = fabric_->register_region({.id = cluster::kBufferRegion, .access = rdma::Access::kLocal}, *buffers_);
  }
  parts_.reset(new cluster::NodeParts{.fabric = *fabric_,
                                      .layout = layout_,
                                      .mailboxes = mail_->base(),
                                      .directory = directory_,
                                      .buffers = *pool_,
                                      .waiter = waiter_,
                                      .time = &clock_->time(),
                                      .lease_us = config_.lease_us,
                                      .reads_lease = options_.read_lock == ReadLock::kLease,
                                      .now_us = membership::lifetime_us,
                                      .lives = [this](rdma::NodeId node) { return may_ask(node); },
                                      .comes_back = come_back_predicate()});
  threads_.begin(*database_, *parts_);
  return status;
}

}  // namespace granary::db
