#include "rdma/shm/endpoint.h"

#include <fmt/format.h>

#include <array>

#include "rdma/shm/watched_memory.h"
#include "src/base/check.h"
#include "src/base/region_mark.h"

namespace granary::rdma::shm {
namespace {

constexpr std::uint32_t kLongestChain = 64;

}  // namespace

const Limits& ShmEndpoint::limits() const {
  // post() does everything itself, so it copies all WRITEs. The other limits are as a NIC would have them.
  static constexpr Limits kLimits{
      .outstanding = 256, .chain_length = kLongestChain, .inline_bytes = 1u << 30, .operation_bytes = 1u << 30};
  return kLimits;
}

Result<ConnectionId> ShmEndpoint::connect(NodeId peer, std::uint64_t timeout_us) {
  give_up_broken();
  for (const auto& connection : connections_) {
    if (connection->node == peer && !connection->broken()) {
      return Status(StatusCode::kAlreadyExists, fmt::format("this endpoint is connected to node {} already", peer));
    }
  }
  Result<std::shared_ptr<Peer>> found = find_peer_(peer, timeout_us);
  if (!found.ok()) return found.status();
  connections_.push_back(std::make_unique<Connection>(std::move(found).value()));
  return static_cast<ConnectionId>(connections_.size() - 1);
}

std::string ShmEndpoint::Connection::why_broken() const {
  if (peer == nullptr) return why_given_up;
  const bool cut_off = peer->life() == Peer::Life::kCutOff;
  const char* const why = disconnected ? "disconnected here"
                          : cut_off    ? "cut off here"
                                       : "it ended or closed its fabric";
  return fmt::format("{}: {}", peer->name(), why);
}

void ShmEndpoint::Connection::give_up() {
  if (peer == nullptr || !broken() || outstanding != 0) return;
  why_given_up = why_broken();
  peer.reset();
}

/// Gives up the memory of peers whose connections have broken. Otherwise a node that comes back again and again would
/// leave the memory of each of its lives with every survivor.
void ShmEndpoint::give_up_broken() {
  for (const auto& connection : connections_) connection->give_up();
}

Status ShmEndpoint::status(ConnectionId connection) const {
  const Connection& at = *connections_[connection];
  if (!at.broken()) return {};
  return Status(StatusCode::kUnavailable, fmt::format("{}; connect again", at.why_broken()));
}

Generation ShmEndpoint::peer_generation(ConnectionId connection) const {
  const std::shared_ptr<Peer>& peer = connections_[connection]->peer;
  return peer == nullptr ? 0 : peer->regions().generation();
}

std::uint64_t ShmEndpoint::peer_region_bytes(ConnectionId connection, RegionId region) const {
  const std::shared_ptr<Peer>& peer = connections_[connection]->peer;
  return peer == nullptr ? 0 : peer->regions().bytes(region);
}

PostResult ShmEndpoint::post(ConnectionId connection, std::span<const Operation> chain, Signal signal,
                             std::uint64_t tag) {
  base::outside_region();
  Connection& at = *connections_[connection];
  if (at.broken()) return PostResult::kBroken;
  const PostResult checked = check_chain(chain, limits(), local_, at.peer->regions());
  if (checked != PostResult::kPosted) return checked;
  const auto operations = static_cast<std::uint32_t>(chain.size());
  if (at.outstanding + operations > limits().outstanding) return PostResult::kFull;
  done_.push_back({tag, connection, operations, signal});  // first, as there may be no memory for it
  if (at.peer->watched()) {
    execute_watched(chain, *at.peer, at.order);
  } else if (operations == 1) {
    execute(chain.front(), at.peer->at(chain.front().remote), at.order);
  } else {
    execute_all(chain, at);
  }
  at.outstanding += operations;
  return PostResult::kPosted;
}

/// Executes a chain. It fetches the lines of all operations ahead, so that their cache misses overlap.
void ShmEndpoint::execute_all(std::span<const Operation> chain, Connection& at) {
  std::array<char*, kLongestChain> targets;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    targets[i] = at.peer->at(chain[i].remote);
    fetch_ahead(chain[i], targets[i]);
  }
  for (std::size_t i = 0; i < chain.size(); ++i) execute(chain[i], targets[i], at.order);
}

std::size_t ShmEndpoint::poll(std::span<Completion> completions) {
  base::outside_region();
  std::size_t count = 0;
  while (count < completions.size() && next_done_ != done_.size()) {
    const Done& done = done_[next_done_++];
    Connection& at = *connections_[done.connection];
    base::invariant("I25", at.outstanding >= done.operations);
    at.outstanding -= done.operations;
    if (done.signal == Signal::kNo) continue;
    completions[count++] = {done.tag, done.connection,
                            at.broken() ? CompletionStatus::kBroken : CompletionStatus::kDone};
  }
  if (next_done_ == done_.size() || next_done_ >= kMostSeenKept) {
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(next_done_));
    next_done_ = 0;
  }
  return count;
}

PostResult ShmEndpoint::ring(ConnectionId connection, BellId bell) {
  const Connection& at = *connections_[connection];
  if (at.broken()) return PostResult::kBroken;
  if (bell < kMostBells) at.peer->bell(bell).ring();
  return PostResult::kPosted;
}

/// Sleeps at the bell. Every breakage of a connection also rings it (OwnBells::ring_all), after the connection is seen
/// as broken.
bool ShmEndpoint::sleep(std::uint64_t timeout_us) {
  base::outside_region();
  give_up_broken();
  const bool in_time = next_done_ != done_.size() || bell_.bell().wait(heard_, timeout_us);
  heard_ = bell_.bell().rings();
  return in_time;
}

}  // namespace granary::rdma::shm
