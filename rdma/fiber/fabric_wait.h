#pragma once
// Lets fibers wait for the fabric: code that posts and waits reads as if it were alone, while other fibers run.

#include <cstdint>
#include <functional>
#include <span>

#include "rdma/fabric.h"
#include "rdma/fiber/scheduler.h"

namespace granary::rdma::fiber {

/// An endpoint that the fibers of one scheduler share. The scheduler's `poll` calls its poll().
class FiberEndpoint {
 public:
  /// Gets the completions with an odd tag, which are not a fiber's.
  using Others = std::function<void(const Completion&)>;

  explicit FiberEndpoint(Endpoint& endpoint, Others others = {}) : endpoint_(endpoint), others_(std::move(others)) {}

  /// Wakes the fibers whose chains have completed.
  void poll();
  Endpoint& endpoint() { return endpoint_; }

 private:
  Endpoint& endpoint_;
  const Others others_;
};

/// Chains that one fiber (or code in no fiber) has under way together: it posts all of them, then waits once.
class Chains {
 public:
  Chains(Scheduler& scheduler, FiberEndpoint& endpoint) : scheduler_(scheduler), endpoint_(endpoint) {}
  /// Waits, since the fabric may still use the memory that the chains name.
  ~Chains() { (void)wait(); }
  Chains(const Chains&) = delete;
  Chains& operator=(const Chains&) = delete;

  /// Posts a chain, and yields while there is no room, so it never returns kFull. A chain that is refused for another
  /// reason leaves no trace, except for kBroken, which wait() reports.
  PostResult post(ConnectionId connection, std::span<const Operation> chain);
  /// Waits for all chains. Returns false if a connection was broken, or has broken now. Then it starts anew.
  bool wait();
  /// Whether wait() would have to wait.
  bool under_way() const { return under_way_ != 0; }

 private:
  friend class FiberEndpoint;
  void completed(CompletionStatus status);

  Scheduler& scheduler_;
  FiberEndpoint& endpoint_;
  Fiber* waiter_ = nullptr;  ///< the fiber if `waiting_`; nullptr: code in no fiber
  bool waiting_ = false;
  std::uint32_t under_way_ = 0;
  bool failed_ = false;
};

}  // namespace granary::rdma::fiber
