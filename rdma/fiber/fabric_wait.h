#pragma once
// Waiting on the fabric in fibers: code that posts and waits reads as if it were alone, while other fibers run.

#include <cstdint>
#include <functional>
#include <span>

#include "rdma/fabric.h"
#include "rdma/fiber/scheduler.h"

namespace granary::rdma::fiber {

/// An endpoint that the fibers of one scheduler share. Its poll() belongs into the scheduler's.
class FiberEndpoint {
 public:
  /// Completions with an odd tag are not a fiber's; `others` gets them.
  using Others = std::function<void(const Completion&)>;

  explicit FiberEndpoint(Endpoint& endpoint, Others others = {}) : endpoint_(endpoint), others_(std::move(others)) {}

  /// Wakes the fibers whose chains have completed.
  void poll();
  Endpoint& endpoint() { return endpoint_; }

 private:
  Endpoint& endpoint_;
  const Others others_;
};

/// Chains of one fiber (or of what is in none) that are under way together: post all, then wait once.
class Chains {
 public:
  Chains(Scheduler& scheduler, FiberEndpoint& endpoint) : scheduler_(scheduler), endpoint_(endpoint) {}
  /// Waits, since the fabric may still use what the chains point to.
  ~Chains() { (void)wait(); }
  Chains(const Chains&) = delete;
  Chains& operator=(const Chains&) = delete;

  /// Posts a chain, yielding while there is no room: never kFull. What else is refused, is as if never asked for.
  PostResult post(ConnectionId connection, std::span<const Operation> chain);
  /// Waits for all of them; false if a connection was, or is now, broken. Starts anew afterwards.
  bool wait();
  /// Whether wait() would have to wait.
  bool under_way() const { return under_way_ != 0; }

 private:
  friend class FiberEndpoint;
  void completed(CompletionStatus status);

  Scheduler& scheduler_;
  FiberEndpoint& endpoint_;
  Fiber* waiter_ = nullptr;  ///< if `waiting_`; nullptr: in no fiber
  bool waiting_ = false;
  std::uint32_t under_way_ = 0;
  bool failed_ = false;
};

}  // namespace granary::rdma::fiber
