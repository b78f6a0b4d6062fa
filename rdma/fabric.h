#pragma once
// The fabric: one-sided operations on the memory of other nodes. One contract, several providers (shm, sim, verbs);
// what it promises is what RC queue pairs promise.
//
//   Fabric      one a node: registers regions, lets peers in, opens endpoints. Thread-safe.
//   Endpoint    one a worker: makes connections, posts chains, polls completions. Used by one thread at a time.
//   Connection  a queue pair from an endpoint to a peer, named by a ConnectionId of that endpoint. It reaches all
//               regions that the peer had registered when it was made, and goes one way: who answers connects back.
//
// Order. The operations of a connection, over all its chains, take effect in the order posted, with one exception: a
// WRITE may overtake READs, CASes and fetch-adds posted before it, unless it is fenced or they have completed. So
// CAS then READ, WRITE then WRITE and WRITE then READ are in order. Nothing is ordered across connections.
//
// Tearing. Each aligned 8-byte word moves whole. Beyond that, the words of one READ or one WRITE move in any order, and
// others may read and write between them. A READ within one cache line is of one moment as far as I4 needs it: a word
// at a lower address is loaded no later than one at a higher address. A CAS that fails writes nothing.
//
// Atomics. CAS and fetch-add are atomic among themselves, and against plain loads, stores and WRITEs of the word, but
// not against read-modify-writes of the owner's CPU (I2).
//
// Completion. A chain has one completion, after all its operations have; it tells also that all chains posted before it
// on the connection have completed. The room that a chain takes is given back by poll(), when it reports the chain or,
// for an unsignalled one, some time after it has completed; so after kFull one polls and tries again.
//
// Sleep. WRITEs take effect without a sign to the target, so a worker that wants to know looks; one with nothing to do
// sleeps at its endpoint, and whoever has something for it rings. Ringing costs system calls on both sides and is for
// those who know that the other sleeps, by a READ after their WRITEs of a word that it set before it looked for the
// last time (rdma/mailbox/ring.h does that). A ring takes effect after the WRITEs posted before it.
//
// Breakage. When a connection breaks (peer dead or cut off, network lost, disconnected), its signalled chains that have
// not been reported come out of poll() as kBroken, unless they had completed before: outcome unknown, each operation
// may or may not have taken effect, now or later. Nothing of a broken connection takes effect any more once connect()
// of the same endpoint to the same node has succeeded again (I5), or connect() of a later life of the initiator's node,
// nor once the peer's new generation answers, nor once the peer has cut the initiator's life off (Fabric::cut_off).

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <granary/status.h>

#include "rdma/cluster_key.h"
#include "src/memory/region.h"

namespace granary::rdma {

using NodeId = std::uint16_t;
using RegionId = std::uint16_t;
/// Counts the lives of a node: a restarted one has a greater generation, and its regions with it. Never 0.
using Generation = std::uint32_t;

/// The region that each fabric has for itself; no other may have this id.
inline constexpr RegionId kOwnRegion = 0xffff;

/// A place in a region of a node's current life. An address of an earlier life reaches nothing.
struct RemoteAddress {
  NodeId node = 0;
  RegionId region = 0;
  Generation generation = 0;
  std::uint64_t offset = 0;  ///< in bytes from the region's start; a multiple of 8

  /// The address `bytes` further on.
  RemoteAddress plus(std::uint64_t bytes) const { return {node, region, generation, offset + bytes}; }
  bool operator==(const RemoteAddress&) const = default;
};

enum class OperationKind : std::uint8_t { kRead, kWrite, kCompareSwap, kFetchAdd };

/// One step of a chain. Local memory lies in a region registered at this node's fabric, is 8-byte aligned, and belongs
/// to the fabric until the chain has completed (what a WRITE of at most `Limits::inline_bytes` holds, only until
/// post() returns).
struct Operation {
  OperationKind kind = OperationKind::kRead;
  bool fenced = false;      ///< waits for all earlier READs and atomics of the connection; only a WRITE needs it
  std::uint32_t bytes = 8;  ///< READ, WRITE: a multiple of 8, above 0; atomics: 8
  void* local = nullptr;    ///< READ: where to; WRITE: where from; atomics: where the word's old value goes
  RemoteAddress remote;
  std::uint64_t operand = 0;  ///< CAS: the value expected; fetch-add: what to add
  std::uint64_t desired = 0;  ///< CAS: the value to store

  static Operation read(void* to, RemoteAddress from, std::uint32_t bytes) {
    return {.kind = OperationKind::kRead, .bytes = bytes, .local = to, .remote = from};
  }
  static Operation write(RemoteAddress to, const void* from, std::uint32_t bytes, bool fenced = false) {
    return {.kind = OperationKind::kWrite,
            .fenced = fenced,
            .bytes = bytes,
            .local = const_cast<void*>(from),
            .remote = to};
  }
  static Operation compare_swap(RemoteAddress at, std::uint64_t expected, std::uint64_t desired, std::uint64_t* old) {
    return {.kind = OperationKind::kCompareSwap, .local = old, .remote = at, .operand = expected, .desired = desired};
  }
  static Operation fetch_add(RemoteAddress at, std::uint64_t addend, std::uint64_t* old) {
    return {.kind = OperationKind::kFetchAdd, .local = old, .remote = at, .operand = addend};
  }
};

using ConnectionId = std::uint32_t;
/// An endpoint, among those that its node ever opened, or in `shm` has open.
using BellId = std::uint32_t;

/// Whether poll() reports the chain.
enum class Signal : std::uint8_t { kYes, kNo };

/// The outcome of posting a chain: all of it was taken, or nothing.
enum class PostResult : std::uint8_t {
  kPosted,
  kFull,           ///< no room now: poll, then post again
  kBroken,         ///< the connection is broken; connect again
  kStale,          ///< an address is of another generation of the peer than the connection's: look it up again
  kInvalidChain,   ///< empty, longer than Limits::chain_length, or an operation with a size or alignment not allowed
  kInvalidRemote,  ///< an address of another node, in no region, or running over a region's end
  kInvalidLocal,   ///< local memory that is in no registered region
};

/// The post result's name, for messages.
std::string_view name(PostResult result);

enum class CompletionStatus : std::uint8_t { kDone, kBroken };

/// The end of a signalled chain.
struct Completion {
  std::uint64_t tag = 0;  ///< as given to post()
  ConnectionId connection = 0;
  CompletionStatus status = CompletionStatus::kDone;
};

/// The limits of an endpoint's connections. post() refuses whatever goes beyond them, so nothing overflows.
struct Limits {
  std::uint32_t outstanding = 0;      ///< operations of one connection that are posted and not given back
  std::uint32_t chain_length = 0;     ///< operations of one chain; at most `outstanding`
  std::uint32_t inline_bytes = 0;     ///< WRITEs up to this size are copied by post()
  std::uint32_t operation_bytes = 0;  ///< greatest READ or WRITE
};

/// A worker's door to its peers. Dies before its fabric.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  virtual const Limits& limits() const = 0;

  /// Connects to a node, waiting at most `timeout_us`. kUnavailable if it does not answer (not started, dead, cut off);
  /// kFailedPrecondition if it refuses (another version, layout or cluster key, with both sides' values; or it has cut
  /// this life off); kAlreadyExists if a connection of this endpoint to the node works still. Ids are not used twice.
  virtual Result<ConnectionId> connect(NodeId peer, std::uint64_t timeout_us) = 0;
  /// Breaks the connection from this side; its chains are reported as kBroken.
  virtual void disconnect(ConnectionId connection) = 0;

  /// OK while the connection works; kUnavailable with the cause and what to do once it is broken. Breakage shows here,
  /// at the latest 10 ms after the peer's death on one machine, without anything being posted.
  virtual Status status(ConnectionId connection) const = 0;
  /// The life of the peer that the connection reaches: the generation of its addresses. 0 some time after it
  /// broke, and once connect() was tried again for its node: what it had of the peer has been given up then.
  virtual Generation peer_generation(ConnectionId connection) const = 0;
  /// The size of a region of the peer; 0 if it has no such region, or as peer_generation().
  virtual std::uint64_t peer_region_bytes(ConnectionId connection, RegionId region) const = 0;

  /// Posts a chain, all of it or nothing; never waits. `tag` comes back in its completion.
  virtual PostResult post(ConnectionId connection, std::span<const Operation> chain, Signal signal,
                          std::uint64_t tag) = 0;
  /// Takes completions of any connections, as many as there are and fit; never waits. Returns how many.
  virtual std::size_t poll(std::span<Completion> completions) = 0;

  /// By what peers ring this endpoint.
  virtual BellId bell() const = 0;
  /// Ends the sleep of that endpoint of the peer; like post(), it can be kFull or kBroken. A bell that is not there is
  /// nobody's. Completes unsignalled.
  virtual PostResult ring(ConnectionId connection, BellId bell) = 0;
  /// Gives the processor away until a ring comes, a connection breaks, or poll() has something to do; at once if one of
  /// that has happened since the last sleep. At times for no reason. False if the time was up.
  virtual bool sleep(std::uint64_t timeout_us) = 0;
  /// Ends the endpoint's sleep, or the next one. Any thread of this node.
  virtual void rouse() = 0;

 protected:
  Endpoint() = default;
};

/// Which nodes may touch a registered region.
enum class Access : std::uint8_t {
  kLocal,   ///< only this node: buffers of its own operations
  kRemote,  ///< peers too
};

/// How a node registers a region.
struct RegionSpec {
  RegionId id = 0;
  Access access = Access::kRemote;
  bool reliable = false;  ///< survives a crash of the node, by other means; `sim` destroys what is in the others
};

/// The facts about a node that all providers need.
struct NodeOptions {
  NodeId node = 0;
  Generation generation = 1;
  /// Fingerprint of all that must be laid out alike on all nodes (tables, control block). Peers with another are
  /// refused.
  std::uint64_t layout = 0;
  /// Nodes connect only if they have the same; each makes the other prove it first.
  ClusterKey key = {};
};

/// A node's fabric.
class Fabric {
 public:
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  virtual const NodeOptions& node() const = 0;
  /// "shm", "verbs", "sim": for reports.
  virtual std::string_view provider() const = 0;

  /// Registers a region, which must outlive the fabric; before listen(). `shm` needs one mapped with
  /// RegionOptions::shared if its access is kRemote. kAlreadyExists if the id is taken; kResourceExhausted with the
  /// limit that forbids it.
  virtual Status register_region(const RegionSpec& spec, memory::Region& region) = 0;
  /// The regions are complete: peers may connect from now on, and endpoints may be opened.
  virtual Status listen() = 0;
  /// After listen().
  virtual Result<std::unique_ptr<Endpoint>> open_endpoint() = 0;

  /// Cuts off the lives of `node` up to the generation `last`. Returns once nothing of these lives takes effect any
  /// more in this node's memory, and none of this node's operations reaches theirs. The connections of this node's
  /// endpoints to these lives break, and so do the lives' connections to this node. From then on connect() to such a
  /// life is kUnavailable, and a connect() of such a life to this node is kFailedPrecondition there; both messages tell
  /// why. A later life is let in as before.
  ///
  /// It may be called before listen(), of a node that has never connected, and again, which does nothing more.
  /// kInvalidArgument if this life would be among those that are cut off. Thread-safe; it waits, so a thread of its own
  /// calls it, beside the workers that post.
  ///
  /// `shm`: memory that another process has mapped is fenced only by that process's death. So each process that serves
  /// as such a life, or was let in as one and has not given the memory back by closing its fabric, is killed, with
  /// whatever else it does. kUnavailable, with the node and the process, if one is not dead after 5 s, or runs and may
  /// not be killed (it is in another PID namespace); the call may be repeated then. A life in this very process is not
  /// killed: its connections break and it is refused, which is no fence, since an operation that has begun there may
  /// still take effect later.
  virtual Status cut_off(NodeId node, Generation last) = 0;

 protected:
  Fabric() = default;
};

}  // namespace granary::rdma
