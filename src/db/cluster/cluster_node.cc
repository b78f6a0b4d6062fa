#include "src/db/cluster/cluster_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cluster_config/load.h"
#include "cluster_config/membership/life.h"
#include "src/base/build_info.h"
#include "src/base/file.h"
#include "src/db/cluster/cluster_protocol.h"
#include "src/db/cluster/node_fabric.h"
#include "src/db/cluster/recover_across_hosts.h"
#include "src/db/cluster/recover_directories.h"
#include "src/db/engine.h"
#include "src/dist/cluster_epoch/member.h"
#include "src/dist/record_access/regions.h"

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

/// Numbers of a node's workers that ask others: those of the application, as many that run calls, and the node's own.
std::uint32_t asking_workers(const ClusterConfig& config) {
  std::uint32_t most = 0;
  for (const NodeConfig& node : config.nodes) most = std::max(most, node.workers);
  return 2 * most + 1;
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

/// Of a directory that is the node's; an empty Life if there is nothing, or no directory.
Result<membership::Life> read_life(const ClusterConfig& config, const NodeConfig& node) {
  if (node.data_directory.empty()) return membership::Life();
  return membership::read_life(base::system_files(), node.data_directory, config.name, node.id);
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
  // The run directory of a host may be gone after a restart of the machine, which must not keep nodes from starting.
  if (config.membership.kind == cluster_config::MembershipKind::kLocal) options.known_cluster_id = 0;
  return options;
}

}  // namespace

ClusterNode::ClusterNode(const ClusterOptions& options, ClusterConfig config)
    : options_(options),
      config_(std::move(config)),
      own_(*config_.find(options.node)),
      ids_(nodes()),
      layout_{.region = dist::kMailRegion,
              .nodes = static_cast<rdma::NodeId>(ids_.size()),
              .ids = ids_,
              .workers = asking_workers(config_)} {
  for (std::uint32_t i = own_.workers; i > 0; --i) free_numbers_.push_back(i - 1);
}

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
  Status status = run_on(node->own_.cpus);
  if (status.ok()) status = node->become_member();
  if (status.ok()) status = node->open_database();
  if (status.ok()) status = node->open_fabric();
  if (!status.ok()) return status;
  return node;
}

Status ClusterNode::become_member() {
  make_run_directory(config_);
  auto board = open_board(config_);
  if (!board.ok()) return board.status();
  const auto former = read_life(config_, own_);
  if (!former.ok()) return former.status();
  served_ = former->served;
  membership::Membership::Listener listener;
  listener.changed = [this](const membership::Configuration& configuration) { follow(configuration); };
  listener.lost = [this](const Status& why) {
    if (control_ != nullptr) dist::stop_serving(control_block());
    std::fprintf(stderr, "granary: %s\n", why.message().c_str());
  };
  listener.warn = [](const std::string& warning) { std::fprintf(stderr, "granary: warning: %s\n", warning.c_str()); };
  auto joined = membership::Membership::join(std::move(board).value(), membership_options(config_, own_, *former),
                                             std::move(listener));
  if (!joined.ok()) return joined.status();
  membership_ = std::move(joined).value();
  const auto found = membership_->configuration();
  for (const membership::Member& member : found->members) {
    if (!member.live()) former_lives_[member.id] = member.generation;
  }
  if (own_.data_directory.empty()) return {};
  membership::Life life = membership_->life();
  life.served = served_;
  return membership::write_life(base::system_files(), own_.data_directory, life);
}

/// By the newest configuration.
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
    if (const auto theirs = read_life(config_, node); !theirs.ok()) return theirs.status();
  }
  return sees_all() ? prepare_alone(part) : prepare_together(part);
}

Status ClusterNode::prepare_alone(ClusterPart& part) {
  if (own_.data_directory.empty()) return {};
  std::vector<NodeDirectory> all;
  for (const NodeConfig& node : config_.nodes) {
    const auto life = read_life(config_, node);
    if (!life.ok()) return life.status();
    all.push_back({.options = database_options(options_, config_, node),
                   .served = life->served,
                   .life_now = [this, id = node.id] { return life_now(id); }});
  }
  const auto first_epoch =
      recover_directories(all, config_.run_directory + "/recovery", options_.start_timeout_ms, base::system_files());
  if (!first_epoch.ok()) return first_epoch.status();
  part.first_epoch = *first_epoch;
  return {};
}

/// All nodes take part if any has a directory.
Status ClusterNode::prepare_together(ClusterPart& part) {
  if (!cluster_config::has_logs(config_)) return {};
  const OwnDirectory own{.options = database_options(options_, config_, own_), .served = served_};
  const auto first_epoch =
      recover_across_hosts(*membership_, nodes(), own, options_.start_timeout_ms, base::system_files());
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
  auto engine = Engine::open(database_options(options_, config_, own_), base::system_files(), part);
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
  pool_ = std::make_unique<dist::BufferPool>(*buffers_);
  auto fabric = db::open_fabric(config_, own_, membership_->generation());
  if (!fabric.ok()) return fabric.status();
  fabric_ = std::move(fabric).value();
  Status status = fabric_->register_region({.id = dist::kDataRegion}, database_->engine().region());
  if (status.ok()) status = fabric_->register_region({.id = dist::kControlRegion}, *control_);
  if (status.ok()) status = fabric_->register_region({.id = dist::kMailRegion}, *mail_);
  if (status.ok()) {
    status = fabric_->register_region({.id = dist::kBufferRegion, .access = rdma::Access::kLocal}, *buffers_);
  }
  parts_.reset(new dist::NodeParts{.fabric = *fabric_,
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

std::vector<NodeNumber> ClusterNode::nodes() const {
  std::vector<NodeNumber> all;
  for (const NodeConfig& node : config_.nodes) all.push_back(node.id);
  return all;
}

void ClusterNode::place(txn::TableCore* core, Placement placement) {
  made_.push_back(core);
  if (!placement.home) return;
  core->place(
      std::make_shared<const txn::Placement>(txn::Placement{.self = own_.id, .home = std::move(placement.home)}));
}

Result<Table> ClusterNode::create_table(std::string_view name, TableOptions options, Placement placement) {
  if (started_) return Status(StatusCode::kFailedPrecondition, "tables of a cluster are made before it starts");
  options.shared = static_cast<bool>(placement.home);
  auto table = database_->create_table(name, options);
  if (table.ok()) place(table->core(), std::move(placement));
  return table;
}

Result<Index> ClusterNode::create_index(const Table& table, std::string_view name, const IndexOptions& options,
                                        Placement placement) {
  if (started_) return Status(StatusCode::kFailedPrecondition, "indexes of a cluster are made before it starts");
  auto index = database_->create_index(table, name, options);
  if (index.ok()) place(index->core(), std::move(placement));
  return index;
}

ClusterNode::~ClusterNode() {
  if (const Status left = leave(); !left.ok())
    std::fprintf(stderr, "granary: warning: leaving the cluster: %s\n", left.message().c_str());
}

Status ClusterNode::check_no_workers() const {
  const std::lock_guard lock(threads_mutex_);
  std::vector<std::uint32_t> held;
  for (const ClusterThread* thread : threads_) {
    if (thread->number() < own_.workers) held.push_back(thread->number());
  }
  if (held.empty()) return {};
  return {StatusCode::kFailedPrecondition, fmt::format("{} {} of node {} {} still registered; a cluster's workers have "
                                                       "to be destroyed before it is left or destroyed",
                                                       held.size() == 1 ? "worker" : "workers", fmt::join(held, ", "),
                                                       own_.id, held.size() == 1 ? "is" : "are")};
}

Status ClusterNode::leave() {
  const bool member = membership_ != nullptr && membership_->status().ok();
  if (peer_watch_ != nullptr) peer_watch_->stop();
  if (call_workers_ != nullptr && call_workers_->end()) call_workers_.reset();
  own_thread_.reset();
  if (member) membership_->stop();
  call_workers_.reset();
  const Status left = member ? end_membership() : Status();
  membership_thread_.reset();
  leader_.reset();
  service_thread_.reset();
  end_service();
  owner_.reset();
  service_endpoint_.reset();
  if (service_slot_ != nullptr) {
    database_->engine().epochs().release_slot(service_slot_);
    service_slot_ = nullptr;
  }
  service_worker_ = {};
  return left;
}

/// Others take a node that has left for one whose log is whole: D goes on without it, and who starts again reads it to its end. So it
/// leaves when that is so, and has died if it cannot be.
Status ClusterNode::end_membership() {
  const Status closed = database_ != nullptr ? database_->engine().close() : Status();
  base::sync_point("cluster.closed");
  const Status ended = closed.ok() ? membership_->leave() : membership_->die();
  return closed.ok() ? ended : closed;
}

// --- workers ---

Result<std::unique_ptr<ClusterThread>> ClusterNode::open_thread(WorkerNumber number) {
  auto thread = ClusterThread::open(*database_, *parts_, std::move(number));
  if (!thread.ok()) return thread.status();
  const std::lock_guard lock(threads_mutex_);
  threads_.push_back(thread->get());
  (*thread)->on_end([this](ClusterThread& ending) { count_in(ending); });
  return thread;
}

Result<std::unique_ptr<ClusterThread>> ClusterNode::register_worker() {
  if (!started_)
    return Status(StatusCode::kFailedPrecondition, "workers of a cluster are registered after it has started");
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(threads_mutex_);
    if (free_numbers_.empty()) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("node {} has {} workers by {}, and all are registered, or have left records locked at "
                                "nodes that could not be reached",
                                own_.id, own_.workers, config_.file));
    }
    number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  return open_thread(WorkerNumber(number, [this](std::uint32_t free) {
    const std::lock_guard lock(threads_mutex_);
    free_numbers_.push_back(free);
  }));
}

namespace {

void add(ClusterStatistics& sum, const dist::ReachCounters& counters) {
  const auto rounds = [&counters](dist::Phase phase) {
    return counters.rounds[static_cast<std::size_t>(phase)].load();
  };
  sum.transactions += counters.transactions;
  sum.execute_rounds += rounds(dist::Phase::kExecute);
  sum.lock_rounds += rounds(dist::Phase::kLock);
  sum.agree_rounds += rounds(dist::Phase::kAgree);
  sum.validate_rounds += rounds(dist::Phase::kValidate);
  sum.write_back_rounds += rounds(dist::Phase::kWriteBack);
  for (const auto& phase : counters.rounds) sum.rounds += phase.load(std::memory_order_relaxed);
  sum.reads += counters.reads;
  sum.writes += counters.writes;
  sum.compare_swaps += counters.compare_swaps;
  sum.leases += counters.leases;
  sum.messages += counters.messages;
  sum.epoch_waits += counters.epoch_waits;
  sum.location_hits += counters.locations.hits;
  sum.location_misses += counters.locations.misses;
  sum.location_stale += counters.locations.stale;
  sum.unfinished += counters.unfinished;
}

}  // namespace

void ClusterNode::end_service() {
  const std::lock_guard lock(threads_mutex_);
  if (service_ != nullptr) ended_.cut_off += service_->counts().cut_off.load(std::memory_order_relaxed);
  service_.reset();
}

void ClusterNode::count_in(ClusterThread& thread) {
  const std::lock_guard lock(threads_mutex_);
  add(ended_, thread.counters());
  std::erase(threads_, &thread);
}

ClusterStatistics ClusterNode::statistics() const {
  const std::lock_guard lock(threads_mutex_);
  ClusterStatistics sum = ended_;
  for (const ClusterThread* thread : threads_) add(sum, thread->counters());
  if (service_ != nullptr) sum.cut_off += service_->counts().cut_off.load(std::memory_order_relaxed);
  return sum;
}

ClockStatus ClusterNode::clock() const {
  const cluster_config::clock::ClockReport report = clock_->report();
  std::string state(name(report.state));
  if (!report.cause.empty()) state += ": " + report.cause;
  return {.source = cluster_config::name(config_.clock.kind),
          .state = std::move(state),
          .synchronized = report.state == cluster_config::clock::ClockState::kSynchronized,
          .delta_us = report.delta_us,
          .jumps = report.jumps};
}

Result<NodeNumber> ClusterNode::home_of(const Table& table, std::string_view key) const {
  const txn::TableCore* const core = table.core();
  if (std::find(made_.begin(), made_.end(), core) == made_.end()) {
    const std::string_view name = core == nullptr ? "" : table.name();
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("the keys of table '{}' have no home: it was not made by Cluster::create_table", name));
  }
  return core->placement() == nullptr ? own_.id : core->placement()->home(key);
}

Result<RunResult> ClusterNode::call(ClusterThread& worker, NodeNumber node, std::string_view procedure,
                                    std::string_view args, std::string& reply) {
  if (config_.find(node) == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("calling '{}' at node {}: {} has no such node", procedure, node, config_.file));
  }
  if (node == own_.id) return procedures_.call(worker.worker(), procedure, args, reply);
  dist::messages::Ask<dist::messages::Call> question(node, {.procedure = procedure, .arguments = args});
  worker.messenger().ask(question);
  if (question.outcome() == dist::messages::AskOutcome::kAnswered) {
    return decode_call_result(question.answer().result, reply);
  }
  return Status(StatusCode::kUnavailable,
                fmt::format("calling '{}' at node {}: {}", procedure, node, name(question.outcome())));
}

}  // namespace granary::db
