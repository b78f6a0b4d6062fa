#include "rdma/shm/shm_fabric.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "rdma/shm/bell.h"
#include "rdma/shm/endpoint.h"
#include "rdma/shm/hello.h"
#include "rdma/shm/peer.h"
#include "rdma/shm/watcher.h"
#include "src/base/check.h"
#include "src/base/file.h"

namespace granary::rdma::shm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kIdle_us = 1'000'000;
constexpr auto kRetry = std::chrono::milliseconds(1);

/// Waits for the node's next packet.
Result<ReceivedHello> hear(int socket, NodeId node, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now()).count();
  if (!wait_readable(socket, static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0)))) {
    return Status(StatusCode::kUnavailable, fmt::format("node {} does not answer; is it stopped?", node));
  }
  return receive_hello(socket);
}

/// The files in the directory decide whom a node meets, so nobody else may write there.
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
            std::unique_ptr<OwnBells> bells)
      : options_(options),
        lock_(std::move(lock)),
        watcher_(std::move(watcher)),
        bells_(std::move(bells)) {
    hello_.node = options.node.node;
    hello_.generation = options.node.generation;
    hello_.layout = options.node.layout;
    base::always_check(register_region({.id = kOwnRegion}, bells_->region()).ok(), "the first region is taken");
  }
  ~ShmFabric() override;

  const NodeOptions& node() const override { return options_.node; }
  std::string_view provider() const override { return "shm"; }
  Status register_region(const RegionSpec& spec, memory::Region& region) override;
  Status listen() override;
  Result<std::unique_ptr<Endpoint>> open_endpoint() override;

 private:
  std::string socket_path(NodeId node) const { return fmt::format("{}/node-{}.sock", options_.run_directory, node); }
  /// A peer that connects to this node, before it has proved that it may.
  struct Stranger {
    Descriptor socket;
    std::optional<Hello> greeting = {};  ///< its first; none yet before that
    Hello reply = {};                    ///< to it
  };

  void let_in();
  void answer(int socket);
  bool answer(Stranger& stranger, const ReceivedHello& received);
  bool welcome(Stranger& stranger, const Hello& proven);
  std::shared_ptr<Peer> living_peer(NodeId node);
  Result<std::shared_ptr<Peer>> find_peer(NodeId node, std::uint64_t timeout_us);
  std::shared_ptr<Peer> keep(std::shared_ptr<Peer> met);
  Result<std::shared_ptr<Peer>> greet(NodeId node, Clock::time_point end);
  Status ask(int socket, NodeId node, Clock::time_point end);
  Status check_answerer(const Hello& theirs, NodeId node) const;
  void watch(const std::shared_ptr<Peer>& peer);

  const ShmOptions options_;
  const std::unique_ptr<base::File> lock_;
  const std::unique_ptr<Watcher> watcher_;
  const std::unique_ptr<OwnBells> bells_;
  LocalRegions local_;
  Hello hello_;             ///< with the regions; fixed by listen()
  std::vector<int> files_;  ///< theirs, in the same order
  Descriptor listener_;
  std::map<int, Stranger> strangers_;  ///< by socket; the watcher's thread only
  std::mutex mutex_;                   ///< guards peers_
  std::map<NodeId, std::shared_ptr<Peer>> peers_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

ShmFabric::~ShmFabric() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  watcher_->wake();
  thread_.join();
  ::unlink(socket_path(options_.node.node).c_str());
}

Status ShmFabric::register_region(const RegionSpec& spec, memory::Region& region) {
  if (thread_.joinable()) return Status(StatusCode::kFailedPrecondition, "regions are registered before listen()");
  if (spec.access == Access::kRemote) {
    if (region.fd() < 0) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("region {} is private; peers can reach only one mapped as shared", spec.id));
    }
    if (files_.size() == kMostRegions) {
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("region {} is one too many: peers can reach {}", spec.id, kMostRegions - 1));
    }
  }
  if (Status status = local_.add(spec, region); !status.ok()) return status;
  if (spec.access == Access::kRemote) {
    hello_.regions[files_.size()] = {.bytes = region.size(), .id = spec.id, .unused = {}};
    files_.push_back(region.fd());
    hello_.region_count = static_cast<std::uint16_t>(files_.size());
  }
  return {};
}

Status ShmFabric::listen() {
  Result<Descriptor> listener = listen_at(socket_path(options_.node.node));
  if (!listener.ok()) return listener.status();
  listener_ = std::move(listener).value();
  watcher_->add(listener_.get(), [this] { let_in(); });
  thread_ = std::thread([this] {
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

void ShmFabric::let_in() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.open() || peer_of(socket.get()).user != ::geteuid()) return;
  const int fd = socket.get();
  strangers_[fd].socket = std::move(socket);
  watcher_->add(fd, [this, fd] { answer(fd); });
}

/// Two hellos, as hello.h has them; anything else, or the end, closes the socket.
void ShmFabric::answer(int socket) {
  const Result<ReceivedHello> received = receive_hello(socket);
  if (received.ok() && received->files.empty() && answer(strangers_.at(socket), *received)) return;
  watcher_->remove(socket);
  strangers_.erase(socket);
}

/// False if the stranger is heard no more.
bool ShmFabric::answer(Stranger& stranger, const ReceivedHello& received) {
  if (stranger.greeting) return welcome(stranger, received.hello);
  stranger.greeting = received.hello;
  stranger.reply = hello_;
  stranger.reply.region_count = 0;
  make_fresh(stranger.reply.challenge);
  stranger.reply.proof = proof_of(options_.node.key, Side::kAnswerer, received.hello, stranger.reply);
  const bool compatible = check_compatible(hello_, received.hello).ok();
  return send_hello(stranger.socket.get(), stranger.reply, {}).ok() && compatible;
}

/// Only a peer that has proved the key gets the regions. A proof is good once: the next message would meet another
/// challenge.
bool ShmFabric::welcome(Stranger& stranger, const Hello& proven) {
  const Proof expected = proof_of(options_.node.key, Side::kCaller, *stranger.greeting, stranger.reply);
  make_fresh(stranger.reply.challenge);
  return equal(proven.proof, expected) && send_hello(stranger.socket.get(), hello_, files_).ok();
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
    Result<std::shared_ptr<Peer>> met = greet(node, end);
    if (met.ok()) return keep(std::move(met).value());
    if (met.status().code() != StatusCode::kUnavailable || Clock::now() >= end) return met.status();
    std::this_thread::sleep_for(kRetry);
  }
}

/// Two endpoints may have met the same life of a peer at once; the first one's mapping serves both.
std::shared_ptr<Peer> ShmFabric::keep(std::shared_ptr<Peer> met) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Peer>& known = peers_[met->regions().node()];
  const bool same_life = known != nullptr && known->regions().generation() == met->regions().generation();
  if (same_life && !known->dead()) return known;
  known = std::move(met);
  watch(known);
  return known;
}

Result<std::shared_ptr<Peer>> ShmFabric::greet(NodeId node, Clock::time_point end) {
  Result<Descriptor> socket = connect_to(socket_path(node));
  if (!socket.ok()) {
    return Status(socket.status().code(), fmt::format("node {} is not there: {}", node, socket.status().message()));
  }
  if (Status status = ask(socket->get(), node, end); !status.ok()) return status;
  const Result<ReceivedHello> received = hear(socket->get(), node, end);
  if (!received.ok()) return received.status();
  if (Status status = check_answerer(received->hello, node); !status.ok()) return status;
  return Peer::map(*received, std::move(socket).value());
}

/// Greets, and proves what the node asks for once it has proved that it has the key itself.
Status ShmFabric::ask(int socket, NodeId node, Clock::time_point end) {
  if (const unsigned user = peer_of(socket).user; user != ::geteuid()) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("user {} listens in the place of node {}, not user {}", user, node, ::geteuid()));
  }
  Hello mine = hello_;
  mine.region_count = 0;
  make_fresh(mine.challenge);
  if (Status status = send_hello(socket, mine, {}); !status.ok()) return status;
  const Result<ReceivedHello> reply = hear(socket, node, end);
  if (!reply.ok()) return reply.status();
  if (Status status = check_answerer(reply->hello, node); !status.ok()) return status;
  const ClusterKey& key = options_.node.key;
  if (!equal(reply->hello.proof, proof_of(key, Side::kAnswerer, mine, reply->hello))) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("node {} has another cluster key than node {}, or one of them has none; give both the "
                              "same key file",
                              node, hello_.node));
  }
  mine.proof = proof_of(key, Side::kCaller, mine, reply->hello);
  return send_hello(socket, mine, {});
}

Status ShmFabric::check_answerer(const Hello& theirs, NodeId node) const {
  if (Status status = check_compatible(hello_, theirs); !status.ok()) return status;
  if (theirs.node == node) return {};
  return Status(StatusCode::kFailedPrecondition,
                fmt::format("node {} answers in the place of node {}", theirs.node, node));
}

void ShmFabric::watch(const std::shared_ptr<Peer>& peer) {
  const auto died = [this, peer] {
    peer->mark_dead();
    watcher_->remove(peer->socket());
    watcher_->remove(peer->process_watch());
    bells_->ring_all();
  };
  watcher_->add(peer->socket(), died);
  if (peer->process_watch() >= 0) watcher_->add(peer->process_watch(), died);
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
  return std::unique_ptr<Fabric>(std::make_unique<ShmFabric>(options, std::move(lock).value(),
                                                             std::move(watcher).value(), std::move(bells).value()));
}

}  // namespace granary::rdma::shm
