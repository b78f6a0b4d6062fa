// How a process becomes a node of its cluster: a member with a database of its own, which is recovered, and a fabric.

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cluster_config/load.h"
#include "cluster_config/membership/life.h"
#include "recovery/manifest.h"
#include "src/base/build_info.h"
#include "src/base/file.h"
#include "src/node/cluster_node.h"
#include "src/node/cluster_protocol.h"
#include "src/node/node_fabric.h"
#include "src/node/recover_across_hosts.h"
#include "src/node/recover_directories.h"
#include "src/db/engine.h"
#include "src/cluster/cluster_epoch/member.h"
#include "src/cluster/record_access/regions.h"

namespace granary::db {

using cluster_config::ClusterConfig;
using cluster_config::NodeConfig;

namespace {

/// Registered memory of a worker's operations.
constexpr std::uint64_t kBufferBytes = std::uint64_t{4} << 20;

/// How long a node may seem to serve that is about to end.
constexpr std::uint64_t kLeaving_us = 1'000'000;

Result<std::unique_ptr<memory::Region>> map(std::uint64_t bytes, bool shared) {
  return memory::Region::map({.reserve_bytes = bytes, .huge_pages = HugePages::kOff, .shared = shared});
}

Options database_options(const ClusterOptions& options, const ClusterConfig& config, const NodeConfig& node) {
  Options database = options.database;
  database.shared_memory = true;
  database.epoch_ms = config.epoch_ms;
  database.snapshot_epochs = config.snapshot_epochs;
  database.max_workers = 2 * node.workers + 2;
  database.numa_node = node.numa_node;
  database.release = config.release == cluster_config::ReleaseKind::kDurable ? Release::kDurable : Release::kCommit;
  if (node.memory_bytes != 0) database.memory_limit_bytes = node.memory_bytes;
  database.directory = node.data_directory;
  database.log_directories = node.log_directories;
  database.reliable_directory = node.reliable_directory;
  return database;
}

/// The calling thread, and those that it starts from then on.
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

/// Returns the life that the node's directory remembers; an empty one if it holds no data, or the node has no directory. Data without the
/// file MEMBER are refused. A node that salvages takes them for its own, and their manifest tells of which life they are.
Result<membership::Life> read_life(const ClusterConfig& config, const NodeConfig& node, bool salvage) {
  if (node.data_directory.empty()) return membership::Life();
  auto life = membership::read_life(base::system_files(), node.data_directory, config.name, node.id);
  if (!life.ok() || life->generation != 0) return life;
  const auto manifest = recovery::read_manifest(base::system_files(), node.data_directory);
  if (!manifest.ok()) return manifest.status().code() == StatusCode::kNotFound ? life : manifest.status();
  if (!salvage) return membership::lost_life(node.data_directory);
  for (const recovery::Generation& generation : manifest->generations)
    life->generation = std::max(life->generation, generation.life);
  return life;
}

/// With what the node's data remember.
membership::MembershipOptions membership_options(const ClusterConfig& config, const NodeConfig& node,
                                                 const membership::Life& life) {
  membership::MembershipOptions options{.node = node.id,
                                        .cluster = config.name,
                                        .fingerprint = cluster_config::fingerprint(config),
                                        .address = node.address.empty() ? node.host : node.address,
                                        .protocol = cluster_protocol(),
                                        .release = base::version_text(),
                                        .together_us = kLeaving_us,
                                        .ends_with_others = cluster_config::has_logs(config)};
  options.remember(life);
  options.data_place = node.data_directory;
  // The run directory of a host may be gone after a restart of the machine, which must not keep nodes from starting.
  if (config.membership.kind == cluster_config::MembershipKind::kLocal) options.known_cluster_id = 0;
  return options;
}

}  // namespace

Result<std::unique_ptr<ClusterNode>> ClusterNode::join(const ClusterOptions& options) {
  Result<ClusterConfig> config = cluster_config::load(options.file);
  if (!config.ok()) return config.status();
  if (config->find(options.node) == nullptr) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("{}: there is no node {}; add it, or name one of the file's", options.file, options.node));
  }
  if (options.database.htm == Htm::kSim) {
    return Status(StatusCode::kInvalidArgument,
                  "Options::htm is kSim, which does not see what other nodes do to this one's memory; a cluster takes "
                  "kOff, kAuto or kRtm");
  }
  std::unique_ptr<ClusterNode> node(new ClusterNode(options, std::move(config).value()));
  if (Status joined = node->or_given_up(node->join()); !joined.ok()) return joined;
  return node;
}

Status ClusterNode::join() {
  Status status = run_on(own_.cpus);
  if (status.ok()) status = become_member();
  if (status.ok()) status = open_database();
  return status.ok() ? open_fabric() : status;
}

/// `status` of a step, unless the node was told to give up: then whatever else ended the step has followed from that.
Status ClusterNode::or_given_up(Status status) const {
  if (!start_watch_.gives_up()) return status;
  return {StatusCode::kUnavailable, fmt::format("node {} was told to give up before it served", own_.id)};
}

Status ClusterNode::become_member() {
  make_run_directory(config_);
  auto board = open_board(config_, [this] { return start_watch_.gives_up(); });
  if (!board.ok()) return board.status();
  const auto former = read_life(config_, own_, options_.database.salvage);
  if (!former.ok()) return former.status();
  served_ = former->served;
  membership::Membership::Listener listener;
  listener.changed = [this](const membership::Configuration& configuration) { follow(configuration); };
  listener.lost = [this](const Status& why) {
    if (control_ != nullptr) cluster::stop_serving(control_block());
    tell(NoticeSeverity::kError, NoticeTopic::kMembership, why.message());
  };
  listener.warn = [this](const std::string& warning) {
    tell(NoticeSeverity::kWarning, NoticeTopic::kMembership, warning);
  };
  membership::MembershipOptions options = membership_options(config_, own_, *former);
  options.give_up = [this] { return start_watch_.gives_up(); };
  options.accepts_older_data = options_.database.salvage;
  options.note_life = [this, life = *former](membership::Generation generation) { return note_life(life, generation); };
  auto joined = membership::Membership::join(std::move(board).value(), std::move(options), std::move(listener));
  if (!joined.ok()) return joined.status();
  membership_ = std::move(joined).value();
  start_watch_.on_give_up([this] { membership_->stop(); });  // which ends whatever waits for other nodes
  const auto found = membership_->configuration();
  for (const membership::Member& member : found->members) {
    if (!member.live()) former_lives_[member.id] = member.generation;
  }
  if (own_.data_directory.empty()) return {};
  membership::Life life = membership_->life();
  life.served = served_;
  return membership::write_life(base::system_files(), own_.data_directory, life);
}

/// Notes in the node's directory which life begins, beside what was known of the cluster. The cluster's id follows once the node has
/// joined.
Status ClusterNode::note_life(membership::Life life, membership::Generation generation) const {
  if (own_.data_directory.empty()) return {};
  life.cluster = config_.name;
  life.node = own_.id;
  life.generation = generation;
  return membership::write_life(base::system_files(), own_.data_directory, life);
}

/// Returns the life that a node lives by the newest configuration, 0 if it lives none.
membership::Generation ClusterNode::life_now(NodeNumber node) {
  constexpr std::uint64_t kBrief_us = 1'000;
  membership_->step(kBrief_us);
  const auto configuration = membership_->configuration();
  const membership::Member* const member = configuration->find(node);
  return member != nullptr && member->live() ? member->generation : 0;
}

bool ClusterNode::sees(const NodeConfig& node) const {
  return node.id == own_.id || (node.host == own_.host && config_.directories == cluster_config::Directories::kByHost);
}

bool ClusterNode::sees_all() const {
  return std::all_of(config_.nodes.begin(), config_.nodes.end(), [this](const NodeConfig& node) { return sees(node); });
}

/// A node takes what is its own from the logs of all nodes: of those that it sees where they are, of others when it starts.
Status ClusterNode::prepare_directories(ClusterPart& part) {
  for (const NodeConfig& node : config_.nodes) {
    if (node.id == own_.id || node.data_directory.empty() || own_.data_directory.empty()) continue;
    if (!sees(node)) {
      part.others_elsewhere = true;
      continue;
    }
    part.others.push_back(node.data_directory);
    if (const auto theirs = read_life(config_, node, options_.database.salvage); !theirs.ok()) return theirs.status();
  }
  return sees_all() ? prepare_alone(part) : prepare_together(part);
}

Status ClusterNode::prepare_alone(ClusterPart& part) {
  if (own_.data_directory.empty()) return {};
  std::vector<NodeDirectory> all;
  for (const NodeConfig& node : config_.nodes) {
    const auto life = read_life(config_, node, options_.database.salvage);
    if (!life.ok()) return life.status();
    all.push_back({.options = database_options(options_, config_, node),
                   .served = life->served,
                   .life_now = [this, id = node.id] { return life_now(id); }});
  }
  const auto first_epoch =
      recover_directories(all, config_.run_directory + "/recovery", options_.start_timeout_ms, files_);
  if (!first_epoch.ok()) return first_epoch.status();
  part.first_epoch = *first_epoch;
  return {};
}

/// All nodes take part if any has a directory.
Status ClusterNode::prepare_together(ClusterPart& part) {
  if (!cluster_config::has_logs(config_)) return {};
  const OwnDirectory own{.options = database_options(options_, config_, own_), .served = served_};
  const auto first_epoch = recover_across_hosts(*membership_, nodes(), own, options_.start_timeout_ms, files_);
  if (!first_epoch.ok()) return first_epoch.status();
  part.first_epoch = *first_epoch;
  return {};
}

Status ClusterNode::open_database() {
  auto clock = NodeClock::open(config_);
  if (!clock.ok()) return clock.status();
  clock_ = std::move(clock).value();
  auto control = map(sizeof(epoch::ControlBlock), /*shared=*/true);
  if (!control.ok()) return control.status();
  control_ = std::move(control).value();
  ClusterPart part{.control = &control_block(), .node = own_.id, .life = membership_->generation()};
  if (Status status = prepare_directories(part); !status.ok()) return status;
  auto engine = Engine::open(database_options(options_, config_, own_), files_, part);
  if (!engine.ok()) return engine.status();
  (*engine)->set_fence(membership_->fence());
  (*engine)->set_living(membership_->living());
  (*engine)->set_time(clock_->time());
  database_ = std::make_unique<Database>(std::move(engine).value());
  return {};
}

Status ClusterNode::open_fabric() {
  auto mail = map(layout_.region_bytes(), /*shared=*/true);
  if (!mail.ok()) return mail.status();
  mail_ = std::move(mail).value();
  const bool shared = false;
  auto buffers = map(kBufferBytes * (2 * std::uint64_t{own_.workers} + 2), shared);
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
  parts_.reset(
      new cluster::NodeParts{.fabric = *fabric_,
                             .layout = layout_,
                             .mailboxes = mail_->base(),
                             .directory = directory_,
                             .buffers = *pool_,
                             .waiter = waiter_,
                             .time = &clock_->time(),
                             .lease_us = config_.lease_us,
                             .reads_lease = options_.read_lock == ReadLock::kLease,
                             .now_us = membership::lifetime_us,
                             .lives = [this](rdma::NodeId node) { return membership_->living().lives(node); }});
  return status;
}

}  // namespace granary::db
