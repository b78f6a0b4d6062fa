// Leases on clocks that are set forward and back, by up to an hour, one node's or those of all, while their threads
// come late or stand still: whoever still counts on a lease, nobody else takes it for expired, nor ever has (I9).
// Whether owners, x-locks and regions judge by these clocks is tested with them.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_config/clock/clock.h"
#include "src/base/random.h"
#include "tests/cluster_config/clock/set_clock.h"
#include "tests/support/seeds.h"

namespace granary::cluster_config::clock {
namespace {

constexpr std::uint64_t kKeptWithinUs = 40;
constexpr std::uint64_t kTerm = 2'000;
constexpr std::int64_t kFarUs = 3'600'000'000;  ///< an hour, by which somebody sets a clock

class Nodes {
 public:
  explicit Nodes(std::uint64_t seed) : random_(seed, 0) {
    for (int i = 0; i < kNodes; ++i) {
      const std::int64_t kept_us =
          static_cast<std::int64_t>(random_.below(kKeptWithinUs + 1)) - std::int64_t{kKeptWithinUs / 2};
      sources_.push_back(new SetClock(time_ns_, kept_us, kKeptWithinUs));
      clocks_.push_back(
          std::make_unique<Clock>(std::unique_ptr<TimeSource>(sources_.back()), base::TscClock::simulated(time_ns_),
                                  ClockOptions{.max_age_us = 500, .hold_us = 3'000, .longest_lease_us = kTerm}));
      clocks_.back()->step(time_ns_ / 1000);  // a clock that is set before anybody has read it does not jump
    }
  }

  /// An empty string, or what was wrong.
  std::string run() {
    for (int turn = 0; turn < 3'000; ++turn) {
      time_ns_ += random_.between(20, 80) * 1000;
      for (int node = 0; node < kNodes; ++node) trouble(node);
      if (!given_.empty() && random_.chance(0.05)) share(static_cast<int>(random_.below(kNodes)));
      if (random_.chance(0.001)) set_all(some_jump());
      if (!judge_alike())
        return "a lease that is valid for one node has expired for another, at turn " + std::to_string(turn);
    }
    return "";
  }
  std::uint64_t leases() const { return leases_; }
  std::uint64_t shared() const { return shared_; }
  std::uint64_t jumps() const {
    std::uint64_t sum = 0;
    for (const auto& clock : clocks_) sum += clock->report().jumps;
    return sum;
  }

 private:
  static constexpr int kNodes = 3;
  struct Lease {
    int node;
    base::LeaseEnd end;
    bool over = false;  ///< somebody has found it expired, and may have written since
  };

  void trouble(int node) {
    SetClock& source = *sources_[static_cast<std::size_t>(node)];
    Clock& clock = *clocks_[static_cast<std::size_t>(node)];
    if (random_.chance(0.002)) source.set(some_jump());
    if (random_.chance(0.01)) source.set_right();
    if (random_.chance(0.02)) source.look();
    if (random_.chance(0.7)) clock.step(time_ns_ / 1000);
    const base::TimeReading now = clock.time().read();
    if (!now.known || !random_.chance(0.02)) return;
    given_.push_back({.node = node, .end = {.end_us = now.now_us + now.error_us + kTerm, .jumps = now.jumps}});
    ++leases_;
  }
  /// Leases stay where they are when they are over, and whoever finds one valid shares it.
  void share(int node) {
    const base::TimeReading now = clocks_[static_cast<std::size_t>(node)]->time().read();
    const std::uint64_t end_us = given_[random_.below(given_.size())].end.end_us;
    if (!now.valid(end_us)) return;
    given_.push_back({.node = node, .end = {.end_us = end_us, .jumps = now.jumps}});
    ++shared_;
  }
  /// As when a host that all nodes are on, or that the others follow, is set: each finds out when its thread comes to
  /// its turn.
  void set_all(std::int64_t by_us) {
    for (SetClock* const source : sources_) source->set_cluster(by_us);
  }
  std::int64_t some_jump() {
    const std::int64_t most = random_.chance(0.5) ? kFarUs : 5'000;
    const auto by = static_cast<std::int64_t>(random_.between(100, static_cast<std::uint64_t>(most)));
    return random_.chance(0.5) ? by : -by;
  }
  bool judge_alike() {
    std::vector<base::TimeReading> now;
    for (const auto& clock : clocks_) now.push_back(clock->time().read());
    for (Lease& lease : given_) {
      for (const base::TimeReading& other : now) lease.over |= other.expired(lease.end.end_us);
      if (lease.over && now[static_cast<std::size_t>(lease.node)].valid(lease.end)) return false;
    }
    return true;
  }

  base::Random random_;
  std::atomic<std::uint64_t> time_ns_{1'000'000'000'000'000};
  std::vector<SetClock*> sources_;
  std::vector<std::unique_ptr<Clock>> clocks_;
  std::vector<Lease> given_;
  std::uint64_t leases_ = 0;
  std::uint64_t shared_ = 0;
};

TEST(LeaseEnds, AreSeenAlikeHoweverClocksAreSet) {
  std::uint64_t leases = 0;
  std::uint64_t shared = 0;
  std::uint64_t jumps = 0;
  for (const std::uint64_t seed : tests::seeds(40)) {
    Nodes nodes(seed);
    ASSERT_EQ(nodes.run(), "") << "seed " << seed;
    leases += nodes.leases();
    shared += nodes.shared();
    jumps += nodes.jumps();
  }
  if (!tests::all_seeds()) return;
  EXPECT_GT(leases, 1'000u);
  EXPECT_GT(shared, 100u);
  EXPECT_GT(jumps, 200u);
}

}  // namespace
}  // namespace granary::cluster_config::clock
