#include "rdma/shm/shm_fabric.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "rdma/cut_lives.h"
#include "rdma/shm/bell.h"
#include "rdma/shm/caller.h"
#include "rdma/shm/endpoint.h"
#include "rdma/shm/guests.h"
#include "rdma/shm/hello.h"
#include "rdma/shm/peer.h"
#include "rdma/shm/process.h"
#include "rdma/shm/watched_memory.h"
#include "rdma/shm/watcher.h"
#include "src/base/check.h"
#include "src/base/file.h"
#include "src/base/threads.h"

namespace granary::rdma::shm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kIdle_us = 1'000'000;
constexpr auto kRetry = std::chrono::milliseconds(1);
constexpr auto kRestWithoutDescriptors = std::chrono::milliseconds(10);
/// No further attempt is begun with less time left, because its error would hide why the last one failed.
constexpr auto kLeastAttempt = std::chrono::milliseconds(5);
constexpr std::uint64_t kKill_us = 5'000'000;

/// Checks that no other user may write in the directory, since its files decide whom a node meets.
Status check_private(const std::string& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0)
    return system_error(StatusCode::kUnavailable, fmt::format("use the run directory '{}'", directory));
  if (status.st_uid == ::geteuid() && (status.st_mode & 077) == 0) return {};
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format("the run directory '{}' (user {}, mode {:04o}) is not private to user {}; run: chown {} {} "
                  "&& chmod 700 {}",
                  directory, status.st_uid, status.st_mode & 07777, ::geteuid(), ::geteuid(), directory, directory));
}

class ShmFabric final : public Fabric {
 public:
  ShmFabric(const ShmOptions& options, std::unique_ptr<base::File> lock, std::unique_ptr<Watcher> watcher,
            std::unique_ptr<OwnBells> bells, Process self)
      : options_(options),
        lock_(std::move(lock)),
        watcher_(std::move(watcher)),
        bells_(std::move(bells)),
        self_(std::move(self)),
        guests_(*watcher_) {
    hello_.node = options.node.node;
    hello_.generation = options.node.generation;
    hello_.layout = options.node.layout;
    hello_.passes_process = 1;
    files_.push_back(self_.handle());
    base::always_check(register_region({.id = kOwnRegion}, bells_->region()).ok(), "the first region is taken");
  }
  ~ShmFabric() override;

  const NodeOptions& node() const override { return options_.node; }
  std::string_view provider() const override { return "shm"; }
  Status register_region(const RegionSpec& spec, memory::Region& region) override;
  Status listen() override;
  Result<std::unique_ptr<Endpoint>> open_endpoint() override;
  Status cut_off(NodeId node, Generation last) override;

 private:
  std::string socket_path(NodeId node) const { return fmt::format("{}/node-{}.sock", options_.run_directory, node); }
  /// A peer that connects to this node. It becomes a guest once it has proved that it may.
  struct Stranger {
    Descriptor socket;
    std::optional<Hello> greeting = {};  ///< its first greeting; none before that
    Hello reply = {};                    ///< the reply to it
    Guests::Ticket guest = Guests::kNone;
  };

  void let_in();
  void answer(int socket);
  bool answer(Stranger& stranger, ReceivedHello& received);
  bool welcome(Stranger& stranger, ReceivedHello& proven);
  bool refuse(Stranger& stranger, HelloKind why);
  std::shared_ptr<Peer> living_peer(NodeId node);
  Result<std::shared_ptr<Peer>> find_peer(NodeId node, std::uint64_t timeout_us);
  Result<std::shared_ptr<Peer>> keep(std::shared_ptr<Peer> met);
  void watch(const std::shared_ptr<Peer>& peer);
  void forget(const std::shared_ptr<Peer>& peer);
  std::shared_ptr<const Process> break_off(NodeId node, Generation last);

  const ShmOptions options_;
  const std::unique_ptr<base::File> lock_;
  const std::unique_ptr<Watcher> watcher_;
  const std::unique_ptr<OwnBells> bells_;
  LocalRegions local_;
  const Process self_;
  Hello hello_;             ///< it has the regions; fixed by listen()
  std::vector<int> files_;  ///< those of this process and of the regions, in the same order
  Descriptor listener_;
  std::map<int, Stranger> strangers_;  ///< by socket; only the watcher's thread uses them
  Guests guests_;
  CutLives cut_lives_;
  const Caller caller_{options_.node, hello_, self_, cut_lives_};
  std::mutex mutex_;  ///< guards peers_
  std::map<NodeId, std::shared_ptr<Peer>> peers_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

ShmFabric::~ShmFabric() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  watcher_->wake();
  thread_.join();
  guests_.break_locks_of_ended();
  ::unlink(socket_path(options_.node.node).c_str());
}

Status ShmFabric::register_region(const RegionSpec& spec, memory::Region& region) {
  if (thread_.joinable()) return Status(StatusCode::kFailedPrecondition, "regions are registered before listen()");
  if (spec.access == Access::kRemote) {
    if (region.fd() < 0) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("region {} is private; peers can reach only one mapped as shared", spec.id));
    }
    if (hello_.region_count == kMostRegions) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("region {} is one too many: peers can reach {}", spec.id, kMostRegions - 1));
    }
  }
  if (Status status = local_.add(spec, region); !status.ok()) return status;
  if (spec.access == Access::kRemote) {
    Hello::Region& added = hello_.regions[hello_.region_count++];
    added = {.bytes = region.size(), .id = spec.id};
    if (base::kTestHooks) added.address = Hello::Region::pack_address(region.base());
    files_.push_back(region.fd());
  }
  return {};
}

Status ShmFabric::listen() {
  if (base::lines::watched()) {
    if (Status status = pass_line_table(hello_, files_); !status.ok()) return status;
  }
  Result<Descriptor> listener = listen_at(socket_path(options_.node.node));
  if (!listener.ok()) return listener.status();
  listener_ = std::move(listener).value();
  watcher_->add(listener_.get(), [this] { let_in(); });
  thread_ = std::thread([this] {
    base::name_thread("gr-fabric");
    while (!stopping_.load(std::memory_order_acquire)) watcher_->step(kIdle_us);
  });
  return {};
}

Result<std::unique_ptr<Endpoint>> ShmFabric::open_endpoint() {
  if (!thread_.joinable()) return Status(StatusCode::kFailedPrecondition, "endpoints are opened after listen()");
  Result<OwnBells::Taken> bell = bells_->take();
  if (!bell.ok()) return bell.status();
  return std::unique_ptr<Endpoint>(std::make_unique<ShmEndpoint>(
      local_, std::move(bell).value(),
      [this](NodeId node, std::uint64_t timeout_us) { return find_peer(node, timeout_us); }));
}

/// Accepts a caller. If the process has no descriptor left for it, the caller stays in the listener's queue, and the
/// watcher calls this again at once. So it rests a little then.
void ShmFabric::let_in() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.open() && errno != EAGAIN) std::this_thread::sleep_for(kRestWithoutDescriptors);
  if (!socket.open() || peer_of(socket.get()).user != ::geteuid()) return;
  const int fd = socket.get();
  strangers_[fd].socket = std::move(socket);
  watcher_->add(fd, [this, fd] { answer(fd); });
}

/// Answers two hellos and a farewell, as hello.h has them. Any other packet, or the end, closes the socket.
void ShmFabric::answer(int socket) {
  Stranger& stranger = strangers_.at(socket);
  if (stranger.guest != Guests::kNone) {
    guests_.hear_last(stranger.guest);
  } else {
    Result<ReceivedHello> received = receive_hello(socket);
    if (received.ok() && received->files.empty() && answer(stranger, *received)) return;
  }
  watcher_->remove(socket);
  strangers_.erase(socket);
}

/// Answers a hello. Returns false if no more packets of the stranger are read.
bool ShmFabric::answer(Stranger& stranger, ReceivedHello& received) {
  const Hello& hello = received.hello;
  if (hello.kind != HelloKind::kGreeting) return false;
  if (stranger.greeting) return welcome(stranger, received);
  stranger.greeting = hello;
  stranger.reply = hello_;
  stranger.reply.region_count = stranger.reply.passes_process = 0;
  make_fresh(stranger.reply.challenge);
  const bool cut_off = cut_lives_.contains(hello.node, hello.generation);
  if (cut_off) stranger.reply.kind = HelloKind::kCutOff;
  stranger.reply.proof = proof_of(options_.node.key, Side::kAnswerer, hello, stranger.reply);
  const bool compatible = check_compatible(hello_, hello).ok();
  return send_hello(stranger.socket.get(), stranger.reply, {}).ok() && compatible && !cut_off;
}

/// Lets a stranger in if it has proved the key; only then it gets the regions. A proof is good once: after it, the peer
/// is a guest or gone. It becomes a guest before its life is looked up among those that are cut off. cut_off() notes
/// the life first, so it finds the guest.
bool ShmFabric::welcome(Stranger& stranger, ReceivedHello& proven) {
  const Hello& greeting = *stranger.greeting;
  const Proof expected = proof_of(options_.node.key, Side::kCaller, greeting, stranger.reply);
  if (!equal(proven.hello.proof, expected)) return false;
  const int socket = stranger.socket.get();
  Result<Process> process = Process::at_other_end(socket, std::move(proven.process));
  if (process.status().code() == StatusCode::kUnavailable)
    return false;  // it has ended, or this process lacks descriptors
  if (!process.ok()) return refuse(stranger, HelloKind::kNoProcess);
  stranger.guest = guests_.add(greeting.node, greeting.generation, std::move(process).value(), socket);
  if (cut_lives_.contains(greeting.node, greeting.generation)) return refuse(stranger, HelloKind::kCutOff);
  if (send_hello(socket, hello_, files_).ok()) return true;
  guests_.remove(std::exchange(stranger.guest, Guests::kNone));
  return false;
}

/// Tells a stranger, which has been given nothing, why it is not let in. Returns false: no more packets of it are read.
bool ShmFabric::refuse(Stranger& stranger, HelloKind why) {
  guests_.remove(std::exchange(stranger.guest, Guests::kNone));
  Hello no = hello_;
  no.region_count = no.passes_process = 0;
  no.kind = why;
  (void)send_hello(stranger.socket.get(), no, {});
  return false;
}

std::shared_ptr<Peer> ShmFabric::living_peer(NodeId node) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(node);
  return found == peers_.end() || found->second->dead() ? nullptr : found->second;
}

Result<std::shared_ptr<Peer>> ShmFabric::find_peer(NodeId node, std::uint64_t timeout_us) {
  const auto end = Clock::now() + std::chrono::microseconds(timeout_us);
  while (true) {
    if (std::shared_ptr<Peer> known = living_peer(node)) return known;
    Result<std::shared_ptr<Peer>> met = caller_.greet(socket_path(node), node, end);
    if (met.ok()) met = keep(std::move(met).value());
    if (met.ok()) return met;
    if (met.status().code() != StatusCode::kUnavailable || Clock::now() + kLeastAttempt >= end) return met.status();
    std::this_thread::sleep_for(kRetry);
  }
}

/// Keeps a peer that was met. Two endpoints may have met the same life of a peer at once; the first one's mapping
/// serves both. Whether its life was cut off meanwhile is looked up under the lock, so break_off() finds every peer
/// that is kept.
Result<std::shared_ptr<Peer>> ShmFabric::keep(std::shared_ptr<Peer> met) {
  const std::lock_guard lock(mutex_);
  const PeerRegions& life = met->regions();
  if (cut_lives_.contains(life.node(), life.generation())) return CutLives::answered(life.node(), life.generation());
  std::shared_ptr<Peer>& known = peers_[met->regions().node()];
  const bool same_life = known != nullptr && known->regions().generation() == met->regions().generation();
  if (same_life && !known->dead()) return known;
  known = std::move(met);
  watch(known);
  return known;
}

void ShmFabric::watch(const std::shared_ptr<Peer>& peer) {
  const auto died = [this, peer] {
    // A notice may be of a descriptor that was closed meanwhile, and whose number this peer has got.
    if (!peer->has_hung_up() && !peer->process()->ended()) return;
    peer->end(Peer::Life::kEnded);
    watcher_->remove(peer->socket());
    bells_->ring_all();
    // cut_off() has hung up here. It may be called again until the process has ended, which the other descriptor tells.
    if (peer->life() == Peer::Life::kCutOff && !peer->process()->ended()) return;
    watcher_->remove(peer->process()->handle());
    forget(peer);
  };
  watcher_->add(peer->socket(), died);
  watcher_->add(peer->process()->handle(), died);
}

/// Gives a dead peer's memory back as soon as no endpoint has it any more, and not only when the node's next life is
/// met. That life loads its data first, and would need as much memory once more. An endpoint lets go of the memory when
/// it sleeps or connects.
void ShmFabric::forget(const std::shared_ptr<Peer>& peer) {
  const std::lock_guard lock(mutex_);
  const auto known = peers_.find(peer->regions().node());
  if (known != peers_.end() && known->second == peer) peers_.erase(known);
}

Status ShmFabric::cut_off(NodeId node, Generation last) {
  if (Status status = cut_lives_.add(options_.node, node, last); !status.ok()) return status;
  Processes processes = guests_.hang_up(node, last);
  if (auto host = break_off(node, last)) processes.push_back(std::move(host));
  return end_processes(node, processes, kKill_us);
}

/// Breaks this node's connections to a life of `node` up to `last`. Returns its process, unless that has closed its
/// fabric, so that it is not that life any more.
std::shared_ptr<const Process> ShmFabric::break_off(NodeId node, Generation last) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(node);
  if (found == peers_.end() || found->second->regions().generation() > last) return nullptr;
  Peer& peer = *found->second;
  if (peer.has_hung_up()) peer.end(Peer::Life::kEnded);  // the watcher may not have seen it yet
  peer.end(Peer::Life::kCutOff);
  if (peer.life() == Peer::Life::kEnded) return nullptr;
  ::shutdown(peer.socket(), SHUT_RDWR);
  bells_->ring_all();
  return peer.process();
}

}  // namespace

Result<std::unique_ptr<Fabric>> open_shm_fabric(const ShmOptions& options) {
  if (Status status = check_private(options.run_directory); !status.ok()) return status;
  const std::string lock_path = fmt::format("{}/node-{}.lock", options.run_directory, options.node.node);
  Result<std::unique_ptr<base::File>> lock = base::system_files().lock(lock_path);
  if (!lock.ok() && lock.status().code() == StatusCode::kUnavailable) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("node {} runs already in '{}'; end it, or take another run directory", options.node.node,
                              options.run_directory));
  }
  if (!lock.ok()) return lock.status();
  Result<std::unique_ptr<Watcher>> watcher = Watcher::create();
  if (!watcher.ok()) return watcher.status();
  Result<std::unique_ptr<OwnBells>> bells = OwnBells::map();
  if (!bells.ok()) return bells.status();
  Result<Process> self = Process::self();
  if (!self.ok()) return self.status();
  return std::unique_ptr<Fabric>(std::make_unique<ShmFabric>(
      options, std::move(lock).value(), std::move(watcher).value(), std::move(bells).value(), std::move(self).value()));
}

}  // namespace granary::rdma::shm
