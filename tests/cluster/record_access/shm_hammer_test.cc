// Two other processes add to the counters of a real engine whose threads do the same, and remove and insert them:
// nothing is lost, nothing torn is seen, no lock stays. And the end of a process in the middle of each operation.

#include <atomic>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/record_access/shm_nodes.h"
#include "tests/support/crash_child.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster {
namespace {

constexpr unsigned kCounters = 4;

std::string key_of(std::uint64_t number) {
  return number % 2 == 0 ? "counter" + std::to_string(number) : "the long name of counter " + std::to_string(number);
}

/// A child makes so many attempts for each addition that has to succeed at least; it goes on until it has.
constexpr std::uint64_t kAttemptsEach = 100;

/// In a child: so many additions, and what became of them.
void add_many(const std::string& directory, rdma::NodeId id, std::uint64_t additions,
              const tests::CrashChild::Report& report) {
  constexpr unsigned kFibers = 2;
  ShmRemote node(directory, id);
  std::uint64_t added = 0;
  std::uint64_t torn = 0;
  for (unsigned fiber = 0; fiber < kFibers; ++fiber) {
    node.scheduler().spawn([&, fiber] {
      ShmRemote::Worker worker(node, fiber);
      base::Random random(id, fiber);
      for (std::uint64_t i = 0; i < additions / kFibers || added <= additions / kAttemptsEach; ++i) {
        const ShmRemote::Added done = node.add(worker, key_of(random.below(kCounters)));
        added += done == ShmRemote::Added::kYes ? 1 : 0;
        torn += done == ShmRemote::Added::kTorn ? 1 : 0;
      }
    });
  }
  node.scheduler().run();
  report(std::to_string(added) + " " + std::to_string(torn));
}

/// The owner's threads.
class Local {
 public:
  explicit Local(ShmOwner& owner) : owner_(owner) {}

  void run(std::uint64_t seed, const std::atomic<bool>& stop) {
    Worker worker = owner_.database().register_worker().value();
    base::Random random(seed);
    while (!stop.load(std::memory_order_relaxed) || removed_ == 0) change(worker, random);
  }
  std::uint64_t added() const { return added_; }
  std::uint64_t removed() const { return removed_; }
  std::uint64_t torn() const { return torn_; }

 private:
  void change(Worker& worker, base::Random& random) {
    const std::string key = key_of(random.below(kCounters));
    const bool removes = random.chance(0.05);
    std::uint64_t count = 0;
    bool there = false;
    const RunResult done = worker.run([&](Transaction& t) {
      std::string value;
      there = t.get(owner_.table(), key, value) == Outcome::kOk;
      const std::optional<std::uint64_t> seen = there ? count_of(value) : 0;
      if (!seen) ++torn_;
      count = seen.value_or(0);
      if (removes && there) {
        (void)t.remove(owner_.table(), key);
      } else {
        (void)t.put(owner_.table(), key, counted_value(count + 1, kShmOwner));
      }
    });
    if (!done.committed()) return;
    if (removes && there) {
      removed_ += count;
    } else {
      ++added_;
    }
  }

  ShmOwner& owner_;
  std::atomic<std::uint64_t> added_{0}, removed_{0}, torn_{0};
};

TEST(ShmHammer, ProcessesAndThreadsLoseNothing) {
  const tests::TemporaryDirectory directory;
  const std::uint64_t additions = tests::scaled(base::kThreadSanitizer ? 3'000 : 50'000);
  std::vector<std::unique_ptr<tests::CrashChild>> children;
  for (const rdma::NodeId id : {2, 3}) {
    children.push_back(std::make_unique<tests::CrashChild>(
        [&](const tests::CrashChild::Report& report) { add_many(directory.path(), id, additions, report); }));
  }
  ShmOwner owner(directory.path(), {.epoch_ms = 1});
  Local local(owner);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { local.run(i, stop); });
  std::uint64_t added = 0;
  for (const auto& child : children) {
    EXPECT_EQ(child->wait().exit_code, 0);
    std::uint64_t by_child = 0;
    std::uint64_t torn = 1;
    ASSERT_FALSE(child->lines().empty());
    std::istringstream(child->lines().back()) >> by_child >> torn;
    EXPECT_EQ(torn, 0u);
    EXPECT_GT(by_child, additions / kAttemptsEach);
    added += by_child;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(local.torn(), 0u);
  EXPECT_GT(local.removed(), 0u);

  Worker worker = owner.database().register_worker().value();
  std::uint64_t there = 0;
  for (unsigned i = 0; i < kCounters; ++i) {
    EXPECT_TRUE(worker
                    .run([&](Transaction& t) {
                      std::string value;
                      if (t.get(owner.table(), key_of(i), value) == Outcome::kOk)
                        there += count_of(value).value_or(1'000'000'000);
                    })
                    .committed());
    if (owner.table().core()->index().find(key_of(i)).value == 0) continue;
    EXPECT_EQ(owner.record(key_of(i)).state(), record::kFree);
    EXPECT_FALSE(record::is_locked(owner.record(key_of(i)).head.tid()));
  }
  EXPECT_EQ(there + local.removed(), added + local.added());
}

struct Kill {
  const char* name;
  const char* point;
  std::uint64_t nth;
  bool locked;
};

/// The victim's operations: 0 READ of the bucket, 1 of the record, 2 CAS, 3 READ of the header, 4 WRITE of the version,
/// 5 of the state. Halves of copies: 0 and 1 as above, 2 of the header, 3 of the version.
constexpr Kill kKills[] = {
    {"BeforeTheLock", "shm.operation", 2, false},
    {"AfterTheCas", "shm.operation", 3, true},
    {"ReadingTheHeader", "shm.half", 2, true},
    {"BeforeTheWriteBack", "shm.operation", 4, true},
    {"InTheMiddleOfTheWriteBack", "shm.half", 3, true},
    {"BeforeTheUnlock", "shm.operation", 5, true},
    {"AfterAll", "victim.done", 0, false},
};

class ShmKill : public testing::TestWithParam<Kill> {};
INSTANTIATE_TEST_SUITE_P(Points, ShmKill, testing::ValuesIn(kKills), [](const auto& kill) { return kill.param.name; });

TEST_P(ShmKill, TheOthersGoOn) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  const Kill& kill = GetParam();
  const tests::TemporaryDirectory directory;
  tests::CrashChild victim([&](const tests::CrashChild::Report&) {
    ShmRemote node(directory.path(), 2);
    ShmRemote::Worker worker(node, 0);
    (void)wait_for(directory / "begin");
    base::set_process_sync_hook(tests::die_at(kill.point, kill.nth));
    node.scheduler().spawn([&] { (void)node.add(worker, key_of(0)); });
    node.scheduler().run();
    base::sync_point("victim.done");
  });
  tests::CrashChild survivor([&](const tests::CrashChild::Report& report) {
    ShmRemote node(directory.path(), 3);
    ShmRemote::Worker worker(node, 0);
    (void)wait_for(directory / "go");
    node.scheduler().spawn([&] {
      report(std::to_string(static_cast<int>(node.add(worker, key_of(0)))));
      report(std::to_string(static_cast<int>(node.add(worker, key_of(1)))));
    });
    node.scheduler().run();
  });
  ShmOwner owner(directory.path(), {.background = Background::kManual});
  Worker worker = owner.database().register_worker().value();
  const auto put = [&](unsigned number, std::uint64_t count) {
    return worker.run([&](Transaction& t) { (void)t.put(owner.table(), key_of(number), counted_value(count, 1)); },
                      {.max_attempts = 2});
  };
  ASSERT_TRUE(put(0, 1).committed());
  ASSERT_TRUE(put(1, 1).committed());
  tell(directory / "begin", "");
  EXPECT_TRUE(victim.wait().killed);

  const record::StateWord state = owner.record(key_of(0)).state();
  EXPECT_EQ(record::is_x_locked(state), kill.locked);
  if (kill.locked) {
    EXPECT_EQ(record::holder_of(state), (record::Holder{.node = 2, .generation = 1, .worker = 0, .sequence = 1}))
        << "the word names the dead";
  }
  tell(directory / "go", "");
  EXPECT_EQ(survivor.wait().exit_code, 0);
  const auto line = [](ShmRemote::Added added) { return std::to_string(static_cast<int>(added)); };
  using enum ShmRemote::Added;
  EXPECT_EQ(survivor.lines(), (std::vector{line(kill.locked ? kBusy : kYes), line(kYes)}));

  EXPECT_EQ(put(0, 9).committed(), !kill.locked);
  EXPECT_TRUE(put(1, 9).committed());
  EXPECT_EQ(owner.record(key_of(0)).state(), state) << "freeing it is recovery's business";
}

}  // namespace
}  // namespace granary::cluster
