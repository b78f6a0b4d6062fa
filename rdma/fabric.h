#pragma once
// Declares the fabric: one-sided operations on the memory of other nodes. There is one contract with several providers
// (shm, sim, verbs). It promises what RC queue pairs promise.
//
//   Fabric      one a node: registers regions, lets peers in, opens endpoints. Thread-safe.
//   Endpoint    one a worker: makes connections, posts chains, polls completions. Used by one thread at a time.
//   Connection  a queue pair from an endpoint to a peer, named by a ConnectionId of that endpoint. It reaches all
//               regions that the peer had registered when it was made, and goes one way: the peer connects back.
//
// Order. The operations of a connection, over all its chains, take effect in the order posted, with one exception: a
// WRITE may overtake READs, CASes and fetch-adds posted before it, unless it is fenced or they have completed. So
// CAS then READ, WRITE then WRITE and WRITE then READ are in order. Nothing is ordered across connections.
//
// Tearing. Each aligned 8-byte word moves whole. Beyond that, the words of one READ or one WRITE move in any order, and
// others may read and write between them. A READ within one cache line is of one moment as far as I4 needs it: a word
// at a lower address is loaded no later than one at a higher address. A CAS that fails writes nothing. A
// WRITE of one byte changes that byte alone, even if others write the bytes beside it at the same time.
//
// Atomics. CAS and fetch-add are atomic among themselves, and against plain loads, stores and WRITEs of the word, but
// not against read-modify-writes of the owner's CPU (I2).
//
// Completion. A chain has one completion, after all its operations have completed. It also tells that all chains posted
// before it on the connection have completed. poll() gives back the room that a chain takes, when it reports the chain
// or, for an unsignalled one, some time after it has completed. So after kFull a caller polls and tries again.
//
// Sleep. WRITEs take effect without a sign to the target, so a worker has to look for them. A worker with nothing to do
// sleeps at its endpoint, and a peer that has something for it rings. Ringing costs system calls on both sides. It is
// for peers that know that the worker sleeps: they READ, after their WRITEs, a word that the worker set before it
// looked for the last time (rdma/mailbox/ring.h does that). A ring takes effect after the WRITEs posted before it.
//
// Breakage. When a connection breaks (peer dead or cut off, network lost, disconnected), poll() reports its signalled
// chains that have not been reported as kBroken, unless they had completed before. Their outcome is unknown: each
// operation may or may not have taken effect, now or later. Nothing of a broken connection takes effect any more once
// connect() of the same endpoint to the same node has succeeded again (I5), or connect() of a later life of the
// initiator's node, nor once the peer's new generation answers, nor once the peer has cut the initiator's life off
// (Fabric::cut_off).

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
/// Counts the lives of a node. A restarted node has a greater generation, and so have its regions. Never 0.
using Generation = std::uint32_t;

/// The id of the region that each fabric has for itself. No other region may have it.
inline constexpr RegionId kOwnRegion = 0xffff;

/// A place in a region of a node's current life. An address of an earlier life reaches nothing.
struct RemoteAddress {
  NodeId node = 0;
  RegionId region = 0;
  Generation generation = 0;
  std::uint64_t offset = 0;  ///< in bytes from the region's start; a multiple of 8, except for a WRITE of one byte

  /// Returns the address `bytes` further on.
  RemoteAddress plus(std::uint64_t bytes) const { return {node, region, generation, offset + bytes}; }
  bool operator==(const RemoteAddress&) const = default;
};

enum class OperationKind : std::uint8_t { kRead, kWrite, kCompareSwap, kFetchAdd };

/// One step of a chain. Local memory lies in a region registered at this node's fabric, and is 8-byte aligned. It
/// belongs to the fabric until the chain has completed. The bytes of a WRITE of at most `Limits::inline_bytes` belong
/// to it only until post() returns. A WRITE may also be of one byte, which may lie anywhere on both sides.
struct Operation {
  OperationKind kind = OperationKind::kRead;
  bool fenced = false;      ///< waits for all earlier READs and atomics of the connection; only a WRITE needs it
  std::uint32_t bytes = 8;  ///< READ, WRITE: a multiple of 8, above 0; WRITE: also 1; atomics: 8
  void* local = nullptr;    ///< READ: where to; WRITE: where from; atomics: where the word's old value goes
  RemoteAddress remote;
  std::uint64_t operand = 0;  ///< CAS: the value expected; fetch-add: what to add
  std::uint64_t desired = 0;  ///< CAS: the value to store

  /// Whether it is a WRITE of one byte.
  bool of_a_byte() const { return bytes == 1; }

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
  static Operation write_byte(RemoteAddress to, const std::uint8_t* from) { return write(to, from, 1); }
  static Operation compare_swap(RemoteAddress at, std::uint64_t expected, std::uint64_t desired, std::uint64_t* old) {
    return {.kind = OperationKind::kCompareSwap, .local = old, .remote = at, .operand = expected, .desired = desired};
  }
  static Operation fetch_add(RemoteAddress at, std::uint64_t addend, std::uint64_t* old) {
    return {.kind = OperationKind::kFetchAdd, .local = old, .remote = at, .operand = addend};
  }
};

using ConnectionId = std::uint32_t;
/// Names an endpoint among those that its node ever opened, or in `shm` has open.
using BellId = std::uint32_t;

/// Whether poll() reports the chain.
enum class Signal : std::uint8_t { kYes, kNo };

/// The outcome of posting a chain: either all of it was taken, or nothing.
enum class PostResult : std::uint8_t {
  kPosted,
  kFull,           ///< no room now: poll, then post again
  kBroken,         ///< the connection is broken; connect again
  kStale,          ///< an address is of another generation of the peer than the connection's: look it up again
  kInvalidChain,   ///< empty, longer than Limits::chain_length, or an operation with a size or alignment not allowed
  kInvalidRemote,  ///< an address of another node, in no region, or running over a region's end
  kInvalidLocal,   ///< local memory that is in no registered region
};

/// Returns the post result's name, for messages.
std::string_view name(PostResult result);

enum class CompletionStatus : std::uint8_t { kDone, kBroken };

/// Reports the end of a signalled chain.
struct Completion {
  std::uint64_t tag = 0;  ///< as given to post()
  ConnectionId connection = 0;
  CompletionStatus status = CompletionStatus::kDone;
};

/// The limits of an endpoint's connections. post() refuses everything beyond them, so nothing overflows.
struct Limits {
  std::uint32_t outstanding = 0;      ///< operations of one connection that are posted and not given back
  std::uint32_t chain_length = 0;     ///< operations of one chain; at most `outstanding`
  std::uint32_t inline_bytes = 0;     ///< WRITEs up to this size are copied by post()
  std::uint32_t operation_bytes = 0;  ///< greatest READ or WRITE
};

/// The way of a worker to its peers. It is destroyed before its fabric.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  virtual const Limits& limits() const = 0;

  /// Connects to a node, and waits at most `timeout_us`. Returns kUnavailable if the node does not answer (not started,
  /// dead, cut off); kFailedPrecondition if it refuses (another version, layout or cluster key, with both sides'
  /// values; or it has cut this life off); kAlreadyExists if a connection of this endpoint to the node still works. Ids
  /// are not used twice.
  virtual Result<ConnectionId> connect(NodeId peer, std::uint64_t timeout_us) = 0;
  /// Breaks the connection from this side. Its chains are reported as kBroken.
  virtual void disconnect(ConnectionId connection) = 0;

  /// Returns OK while the connection works; once it is broken, kUnavailable with the cause and what to do. Breakage
  /// shows here at the latest 10 ms after the peer's death on one machine, even if nothing is posted.
  virtual Status status(ConnectionId connection) const = 0;
  /// Returns the life of the peer that the connection reaches, which is the generation of its addresses. It is 0 some
  /// time after the connection broke, and once connect() was tried again for its node, as the connection has given up
  /// the peer then.
  virtual Generation peer_generation(ConnectionId connection) const = 0;
  /// Returns the size of a region of the peer. It is 0 if there is no such region, or if peer_generation() is 0.
  virtual std::uint64_t peer_region_bytes(ConnectionId connection, RegionId region) const = 0;

  /// Posts a chain, all of it or nothing. Never waits. `tag` comes back in its completion.
  virtual PostResult post(ConnectionId connection, std::span<const Operation> chain, Signal signal,
                          std::uint64_t tag) = 0;
  /// Takes completions of any connections, as many as there are and as fit. Never waits. Returns how many it took.
  virtual std::size_t poll(std::span<Completion> completions) = 0;

  /// Returns the bell by which peers ring this endpoint.
  virtual BellId bell() const = 0;
  /// Ends the sleep of the peer's endpoint with this bell. Like post(), it can return kFull or kBroken. A bell of no
  /// endpoint may be rung, without effect. The ring completes unsignalled.
  virtual PostResult ring(ConnectionId connection, BellId bell) = 0;
  /// Gives the processor away until a ring comes, a connection breaks, or poll() has something to do. Returns at once
  /// if one of these has happened since the last sleep, and at times for no reason. Returns false if the time was up.
  virtual bool sleep(std::uint64_t timeout_us) = 0;
  /// Ends the endpoint's sleep, or the next one. Any thread of this node may call it.
  virtual void rouse() = 0;

 protected:
  Endpoint() = default;
};

/// Says which nodes may touch a registered region.
enum class Access : std::uint8_t {
  kLocal,   ///< only this node, as for buffers of its own operations
  kRemote,  ///< peers, too
};

/// Says how a node registers a region.
struct RegionSpec {
  RegionId id = 0;
  Access access = Access::kRemote;
  bool reliable = false;  ///< survives a crash of the node, by other means; `sim` destroys what is in the others
};

/// The facts about a node that all providers need.
struct NodeOptions {
  NodeId node = 0;
  Generation generation = 1;
  /// A fingerprint of everything that must be laid out alike on all nodes (tables, control block). Peers with another
  /// one are refused.
  std::uint64_t layout = 0;
  /// The cluster's key. Nodes connect only if they have the same key; each makes the other prove it first.
  ClusterKey key = {};
};

/// The fabric of one node.
class Fabric {
 public:
  virtual ~Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  virtual const NodeOptions& node() const = 0;
  /// Returns "shm", "verbs" or "sim", for reports.
  virtual std::string_view provider() const = 0;

  /// Registers a region, which must outlive the fabric. Called before listen(). `shm` needs a region mapped with
  /// RegionOptions::shared if its access is kRemote. Returns kAlreadyExists if the id is taken; kResourceExhausted with
  /// the limit that forbids the region.
  virtual Status register_region(const RegionSpec& spec, memory::Region& region) = 0;
  /// Ends the registration of regions. From now on peers may connect, and endpoints may be opened.
  virtual Status listen() = 0;
  /// Opens an endpoint. Called after listen().
  virtual Result<std::unique_ptr<Endpoint>> open_endpoint() = 0;

  /// Cuts off the lives of `node` up to the generation `last`. Returns once nothing of these lives takes effect any
  /// more in this node's memory, and none of this node's operations reaches theirs. The connections of this node's
  /// endpoints to these lives break, and so do the lives' connections to this node. From then on connect() to such a
  /// life returns kUnavailable, and a connect() of such a life to this node returns kFailedPrecondition there; both
  /// messages say why. A later life is let in as before.
  ///
  /// The caller may do so before listen(), for a node that has never connected, and a second time, which does nothing
  /// more. Returns kInvalidArgument if this life would be among those that are cut off. Thread-safe. The call waits, so
  /// a thread of its own makes it, beside the workers that post.
  ///
  /// `shm`: only the death of a process fences memory that the process has mapped. So each process is killed, with all
  /// else that it does, if it serves as such a life, or was let in as one and has not given the memory back by closing
  /// its fabric. Returns kUnavailable, with the node and the process, if one is not dead after 5 s, or runs and may not
  /// be killed (it is in another PID namespace). Then the call may be repeated. A life in this very process is not
  /// killed: its connections break and it is refused. That is no fence, since an operation that has begun there may
  /// still take effect later.
  virtual Status cut_off(NodeId node, Generation last) = 0;

 protected:
  Fabric() = default;
};

}  // namespace granary::rdma
