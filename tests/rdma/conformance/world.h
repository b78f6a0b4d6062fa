#pragma once
// What the conformance suite needs of a provider: nodes to talk to, and power over their lives. One program a provider
// links suite.cc with a make_world() of its own; the suite does not know more of it.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "rdma/fabric.h"

namespace granary::rdma::conformance {

/// The region that a peer offers, zero at first.
inline constexpr RegionId kPeerRegion = 5;
inline constexpr std::uint64_t kPeerBytes = std::uint64_t{4} << 20;

class World {
 public:
  virtual ~World() = default;

  /// A fabric of this process (in a simulation: of a node that the test plays).
  virtual std::unique_ptr<Fabric> open_fabric(const NodeOptions& node) = 0;
  /// Starts a node, in a process of its own where the provider has processes: with the region above, listening. Its
  /// fabric's CPU does nothing else.
  virtual void start_peer(const NodeOptions& node) = 0;
  /// Starts a node whose worker exchanges messages with node 1's (mail_worker.h), sleeping when it has nothing to do.
  /// Node 1 listens by then, and the worker is connected to it when this returns.
  virtual void start_worker(const NodeOptions& node) = 0;
  /// Starts a node that connects to node 1 and changes its memory for as long as it lives (zombie.h).
  virtual void start_zombie(const NodeOptions& node) = 0;
  /// Whether a node that is cut off by one of this process is killed.
  virtual bool cutting_kills() const = 0;
  /// Runs `action` in a thread of its own while this one takes one `turn` after the other, until it has ended. In a
  /// simulation it runs between turns.
  virtual void beside(const std::function<void()>& action, const std::function<void()>& turn) {
    std::atomic<bool> ended{false};
    std::thread thread([&] {
      action();
      ended.store(true, std::memory_order_release);
    });
    while (!ended.load(std::memory_order_acquire)) turn();
    thread.join();
  }
  /// Ends it without warning, at once.
  virtual void kill_peer(NodeId node) = 0;
  /// Stops its CPU, or lets it go on.
  virtual void stop_peer(NodeId node) = 0;
  virtual void resume_peer(NodeId node) = 0;

  /// Lets a little time pass: at most 1 ms.
  virtual void advance() = 0;
  /// The time that has passed since some moment, for bounds.
  virtual std::uint64_t now_us() const = 0;
  /// A peer's death shows in status() within this time.
  virtual std::uint64_t death_notice_us() const = 0;
};

/// Until something that hangs is given up, nothing else: emulated devices of a busy machine may be a hundred times
/// slower.
inline constexpr std::uint64_t kPatience_us = 60'000'000;

/// Rounds of what is a matter of chance: many where they are quick, and where they are not as many as begin within a
/// second, but a few.
class Rounds {
 public:
  static constexpr std::uint64_t kFewest = 10;
  static constexpr std::uint64_t kMost = 200;
  static constexpr std::uint64_t kTime_us = 1'000'000;

  explicit Rounds(const World& world) : world_(world), begin_us_(world.now_us()) {}
  /// Whether to go on after so many rounds.
  bool more(std::uint64_t done) const {
    return done < kFewest || (done < kMost && world_.now_us() - begin_us_ < kTime_us);
  }

 private:
  const World& world_;
  const std::uint64_t begin_us_;
};

/// Made by the provider's part of the program.
std::unique_ptr<World> make_world();

}  // namespace granary::rdma::conformance
