#pragma once
// Lets a worker of mailboxes wait when there is nothing to do. It looks for a while, then sleeps at its endpoint until
// a message comes for it, or something else happens there.

#include <cstdint>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/mailbox/receiver.h"
#include "src/base/waiter.h"

namespace granary::rdma::mailbox {

/// The endpoint's thread uses it, between its polls of the endpoint and of these mailboxes.
class Sleeper final : public base::Waiter {
 public:
  static constexpr std::uint32_t kSpins = 64;         ///< how many pauses a wait has before it sleeps
  static constexpr std::uint64_t kAskAgain_us = 100;  ///< for limit(): while a sender waits for room
  static constexpr std::uint64_t kMostSleep_us = 50'000;

  /// `receivers` are all mailboxes that the worker serves over this endpoint. They must outlive the Sleeper.
  Sleeper(Endpoint& endpoint, std::vector<Receiver*> receivers, std::uint64_t most_sleep_us = kMostSleep_us)
      : endpoint_(endpoint),
        receivers_(std::move(receivers)),
        most_sleep_us_(most_sleep_us) {}

  /// Limits each sleep to this time until the next call, as there is something to do then.
  void limit(std::uint64_t time_us) { limit_us_ = time_us; }
  /// Is called each time that nothing was found to do; `turn` counts these times.
  void pause(std::uint32_t turn) override;

  struct Counts {
    std::uint64_t pauses = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t slept_through = 0;  ///< sleeps of the longest time that nothing ended earlier
  };
  const Counts& counts() const { return counts_; }

 private:
  void sleep();
  bool has_something() const;

  Endpoint& endpoint_;
  const std::vector<Receiver*> receivers_;
  const std::uint64_t most_sleep_us_;
  std::uint64_t limit_us_ = ~std::uint64_t{0};
  Counts counts_;
};

}  // namespace granary::rdma::mailbox
