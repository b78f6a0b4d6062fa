// Leases between processes: a real engine that commits with locks or in regions, its garbage collection, and another
// node that is stopped for longer than its lease and goes on (I9).

#include <csignal>
#include <sstream>

#include <gtest/gtest.h>

#include "cluster_config/clock/clock_thread.h"
#include "cluster_config/clock/host_source.h"
#include "src/cluster/record_access/header_read.h"
#include "src/cluster/record_access/lease.h"
#include "tests/cluster/record_access/shm_nodes.h"
#include "tests/support/crash_child.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster {
namespace {

namespace clock = cluster_config::clock;

const std::string kKey = "counter0";

/// The time of the machine, as each process of a cluster keeps it.
struct HostClock {
  clock::Clock clock{std::move(clock::HostSource::open().value()), base::TscClock::calibrated()};
  clock::ClockThread thread{clock};
  const base::SoftTime& time() {
    while (!clock.time().read().known) std::this_thread::yield();
    return clock.time();
  }
};

/// With an owner whose clock the test sets.
class OwnersLease : public testing::TestWithParam<Htm> {
 protected:
  static constexpr std::uint64_t kEnd = 1'000'000;
  static constexpr std::uint64_t kError = 50;

  OwnersLease() {
    owner_.database().engine().set_time(time_);
    set_time(kEnd / 2);
    EXPECT_TRUE(put());
    base::store_word(&owner_.record(kKey).state_word, record::lease_word(kEnd));
  }
  void set_time(std::uint64_t us) { time_.write(us, counter_ns_, kError); }
  bool put() {
    return worker()
        .run([&](Transaction& t) { (void)t.put(owner_.table(), kKey, "value"); }, {.max_attempts = 1})
        .committed();
  }
  Worker& worker() {
    if (!worker_) worker_.emplace(owner_.database().register_worker().value());
    return *worker_;
  }

  const tests::TemporaryDirectory directory_;
  std::atomic<std::uint64_t> counter_ns_{0};
  base::SoftTime time_{base::TscClock::simulated(counter_ns_), 1'000};
  ShmOwner owner_{directory_.path(), {.background = Background::kManual, .htm = GetParam()}};
  std::optional<Worker> worker_;
};
INSTANTIATE_TEST_SUITE_P(Commits, OwnersLease, testing::Values(Htm::kOff, Htm::kSim),
                         [](const auto& htm) { return htm.param == Htm::kOff ? "WithLocks" : "InRegions"; });

TEST_P(OwnersLease, KeepsItFromWritingUntilItHasExpired) {
  for (const std::uint64_t us : {kEnd - kError, kEnd, kEnd + kError}) {
    set_time(us);
    EXPECT_FALSE(put()) << us;
  }
  time_.withdraw();
  EXPECT_FALSE(put()) << "nobody knows the time";
  set_time(kEnd + kError + 1);
  EXPECT_TRUE(put());
  EXPECT_EQ(owner_.record(kKey).state(), record::lease_word(kEnd)) << "the owner never stores to it (I2)";
}

TEST_P(OwnersLease, KeepsItFromCommittingInARegionToo) {
  const std::uint64_t before = owner_.database().statistics().htm.commits;
  set_time(kEnd + kError + 1);
  EXPECT_TRUE(put());
  EXPECT_EQ(owner_.database().statistics().htm.commits > before, GetParam() == Htm::kSim);
}

TEST_P(OwnersLease, DoesNotHinderItsReads) {
  EXPECT_TRUE(worker()
                  .run([&](Transaction& t) {
                    std::string value;
                    EXPECT_EQ(t.get(owner_.table(), kKey, value), Outcome::kOk);
                  })
                  .committed());
}

constexpr std::uint64_t kEnoughLeases = 11;

/// Reads under leases and looks whether they hold, and reports how many it had and how often that was wrong.
void rely_on_leases(const std::string& directory, const tests::CrashChild::Report& report) {
  constexpr std::uint64_t kTermUs = 15'000;
  ShmRemote node(directory, 2);
  ShmRemote::Worker worker(node, 0);
  HostClock host;
  const base::SoftTime& time = host.time();
  std::uint64_t leases = 0;
  std::uint64_t ended = 0;
  std::uint64_t wrong = 0;
  node.scheduler().spawn([&] {
    kvstore::remote::LocationCacheCounters counters;
    while (!std::filesystem::exists(directory + "/enough")) {
      KeyRead find(node.table(), kKey, worker.buffer, &node.cache(), counters);
      worker.rounds.run(find);
      if (find.outcome() != AccessOutcome::kDone) continue;
      const std::uint64_t now_us = time.read().now_us;
      const RemoteRecord record = find.record();
      Lease lease(record, {.end_us = now_us + kTermUs, .least_end_us = now_us}, worker.buffer, time);
      worker.rounds.run(lease);
      if (lease.outcome() != AccessOutcome::kDone) continue;
      if (++leases == kEnoughLeases) tell(directory + "/leased", "");
      for (bool valid = true; valid;) {
        HeaderRead header(record, lease.tid(), lease.incarnation(), worker.write_buffer);
        worker.rounds.run(header);
        valid = lease.valid(time.read());  // then it was when the header was READ
        if (!valid) ++ended;
        if (valid && header.outcome() == AccessOutcome::kChanged) ++wrong;
      }
    }
  });
  node.scheduler().run();
  report(std::to_string(leases) + " " + std::to_string(ended) + " " + std::to_string(wrong));
}

TEST(ShmLease, OfAProcessThatWasStoppedIsNotHonouredPastItsEnd) {
  const tests::TemporaryDirectory directory;
  tests::CrashChild child([&](const tests::CrashChild::Report& report) { rely_on_leases(directory.path(), report); });
  ShmOwner owner(directory.path(), {.epoch_ms = 10});
  HostClock host;
  owner.database().engine().set_time(host.time());
  Worker worker = owner.database().register_worker().value();
  std::uint64_t writes = 0;
  const auto write_for = [&](std::chrono::milliseconds time) {
    for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;)
      writes += worker.run([&](Transaction& t) { (void)t.put(owner.table(), kKey, "value"); }).committed() ? 1 : 0;
  };
  base::Random random(1);
  const auto has_leased = [&] { return std::filesystem::exists(directory / "leased"); };
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (int i = 0; i < 15 || (!has_leased() && std::chrono::steady_clock::now() < end); ++i) {
    write_for(std::chrono::milliseconds(20 + random.below(20)));
    child.signal(SIGSTOP);
    write_for(std::chrono::milliseconds(30));
    child.signal(SIGCONT);
  }
  tell(directory / "enough", "");
  write_for(std::chrono::milliseconds(20));
  ASSERT_EQ(child.wait().exit_code, 0);
  std::uint64_t leases = 0;
  std::uint64_t ended = 0;
  std::uint64_t wrong = 1;
  std::istringstream(child.lines().back()) >> leases >> ended >> wrong;
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(leases, kEnoughLeases);
  EXPECT_EQ(ended, leases);
  EXPECT_GT(writes, 100u);
}

}  // namespace
}  // namespace granary::cluster
