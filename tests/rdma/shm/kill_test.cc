// A process that is killed in the middle of something, over shared memory: what it leaves is what rdma/fabric.h allows,
// and the others hear of it in time and go on. Killed records and locks: tests/cluster/record_access.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "rdma/shm/shm_fabric.h"
#include "src/base/shared_words.h"
#include "tests/rdma/conformance/mail_worker.h"
#include "tests/support/crash_child.h"
#include "tests/support/temporary_directory.h"

namespace granary::rdma::shm {
namespace {

using conformance::kPeerBytes;
using conformance::kPeerRegion;
using conformance::MailWorker;
using tests::CrashChild;

constexpr NodeId kHere = 1;
constexpr NodeId kVictim = 3;
constexpr std::uint64_t kPatience_us = 10'000'000;
constexpr std::size_t kWords = 16;  // of a READ and a WRITE

// Words of node 1's region, beyond its mailboxes.
constexpr std::uint64_t kFree = std::uint64_t{1} << 20;
constexpr std::uint64_t kGo = kFree;
constexpr std::uint64_t kWritten = kFree + 1024;
constexpr std::uint64_t kSwapped = kFree + 2048;
constexpr std::uint64_t kAdded = kFree + 3072;

std::uint64_t now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

/// A life of a node.
struct Node {
  Node(const std::string& directory, NodeId id, Generation generation)
      : region(
            memory::Region::map({.reserve_bytes = kPeerBytes, .huge_pages = HugePages::kOff, .shared = true}).value()),
        fabric(open_shm_fabric({.node = {.node = id, .generation = generation}, .run_directory = directory}).value()) {
    EXPECT_TRUE(fabric->register_region({.id = kPeerRegion}, *region).ok());
    EXPECT_TRUE(fabric->listen().ok());
  }
  std::uint64_t* word(std::uint64_t offset) const { return reinterpret_cast<std::uint64_t*>(region->base() + offset); }
  std::uint64_t load(std::uint64_t offset) const { return base::load_word(word(offset)); }

  std::unique_ptr<memory::Region> region;
  std::unique_ptr<Fabric> fabric;
};

class Kill : public testing::Test {
 protected:
  /// Node 1 opens its fabric only after the victim was forked (crash_child.h).
  Node& open_here() { return here_.emplace(directory_.path(), kHere, 1); }
  /// True if the connection's breakage shows in time.
  static bool breaks(Endpoint& endpoint, ConnectionId connection) {
    const std::uint64_t end = now_us() + 1'000'000;
    while (endpoint.status(connection).ok() && now_us() < end) (void)endpoint.sleep(10'000);
    return !endpoint.status(connection).ok();
  }
  /// A worker that works until `over`; false if that took too long.
  template <typename Over>
  static bool work_until(MailWorker& worker, Over&& over) {
    const std::uint64_t end = now_us() + kPatience_us;
    for (std::uint32_t turn = 0; !over();) {
      if (now_us() > end) return false;
      if (worker.step(now_us())) {
        turn = 0;
      } else if (!over()) {
        worker.sleeper().pause(turn++);
      }
    }
    return true;
  }

  tests::TemporaryDirectory directory_;
  std::optional<Node> here_;
};

/// The victim's turns, from 1: READ, WRITE, compare-and-swap and fetch-add in one chain, on words that say the turn.
void operate(Node& node, const CrashChild::Report& report, const std::string& point, std::uint64_t nth) {
  const auto endpoint = node.fabric->open_endpoint().value();
  const ConnectionId connection = endpoint->connect(kHere, kPatience_us).value();
  const auto at = [](std::uint64_t offset) {
    return RemoteAddress{.node = kHere, .region = kPeerRegion, .generation = 1, .offset = offset};
  };
  const auto run = [&](std::span<const Operation> chain) {
    Completion done;
    (void)endpoint->post(connection, chain, Signal::kYes, 0);
    (void)endpoint->poll({&done, 1});
  };
  const Operation look = Operation::read(node.word(0), at(kGo), 8);
  while (*node.word(0) == 0) run({&look, 1});
  base::set_sync_hook(tests::die_at(point, nth));
  for (std::uint64_t turn = 1; turn < 100; ++turn) {
    std::fill_n(node.word(4096), kWords, turn);
    const Operation chain[] = {Operation::read(node.word(8192), at(kWritten), kWords * 8),
                               Operation::write(at(kWritten), node.word(4096), kWords * 8),
                               Operation::compare_swap(at(kSwapped), turn - 1, turn, node.word(64)),
                               Operation::fetch_add(at(kAdded), 1, node.word(128))};
    run(chain);
    report(std::to_string(turn));
  }
}

TEST_F(Kill, InAnyOperationLeavesItDoneNotDoneOrByWords) {
  if (!base::kTestHooks) GTEST_SKIP() << "no sync points in this build";
  std::uint64_t halves = 0;
  for (const char* const point : {"shm.operation", "shm.half"}) {
    for (std::uint64_t nth = 0; nth < 10; ++nth) {
      SCOPED_TRACE(testing::Message() << point << " " << nth);
      here_.reset();
      CrashChild victim([&](const CrashChild::Report& report) {
        Node node(directory_.path(), kVictim, static_cast<Generation>(nth + 1));
        operate(node, report, point, nth);
      });
      const Node& here = open_here();
      const auto endpoint = here.fabric->open_endpoint().value();
      const ConnectionId to_victim = endpoint->connect(kVictim, kPatience_us).value();
      const ConnectionId home = endpoint->connect(kHere, kPatience_us).value();
      base::store_word(here.word(kGo), 1);
      ASSERT_TRUE(victim.wait().killed);
      EXPECT_TRUE(breaks(*endpoint, to_victim));

      const std::uint64_t done = victim.lines().size();
      const std::uint64_t added = here.load(kAdded) - done;
      const std::uint64_t swapped = here.load(kSwapped) - done;
      std::uint64_t written = 0;
      for (std::size_t w = 0; w < kWords; ++w) {
        const std::uint64_t word = here.load(kWritten + 8 * w);
        EXPECT_TRUE(word == done || word == done + 1) << word << " after turn " << done;
        written += word - done;
      }
      EXPECT_LE(added, swapped) << "in the order posted";
      EXPECT_LE(swapped, written / kWords);
      halves += written != 0 && written != kWords ? 1 : 0;

      const Operation add = Operation::fetch_add(
          {.node = kHere, .region = kPeerRegion, .generation = 1, .offset = kAdded}, 1, here.word(0));
      Completion completion;
      ASSERT_EQ(endpoint->post(home, {&add, 1}, Signal::kYes, 0), PostResult::kPosted);
      ASSERT_EQ(endpoint->poll({&completion, 1}), 1u);
      EXPECT_EQ(here.load(kAdded), done + added + 1) << "others go on";
    }
  }
  EXPECT_GT(halves, 0u) << "no WRITE was met half done";
}

TEST_F(Kill, InALargeMessageLeavesNoPartOfItToTheReceiver) {
  if (!base::kTestHooks) GTEST_SKIP() << "no sync points in this build";
  const std::string large(MailWorker::kMostBytes - 100, 'L');
  const auto send_until_killed = [&](std::uint64_t nth) {
    Node node(directory_.path(), kVictim, 1);
    bool go = false;
    const auto begin = [&](std::string_view) {
      go = true;
      return std::string();
    };
    MailWorker worker(*node.fabric, *node.region, begin, kPatience_us);
    if (!worker.join(kHere, kPatience_us).ok() || !work_until(worker, [&] { return go; })) return;
    base::set_sync_hook(tests::die_at("shm.operation", nth));
    (void)work_until(worker, [&] {
      (void)worker.rpc(kHere).call(large, now_us(), kPatience_us, [](mailbox::CallOutcome, std::string_view) {});
      return false;
    });
  };
  for (const std::uint64_t nth : {3u, 12u, 40u, 200u}) {
    SCOPED_TRACE(nth);
    here_.reset();
    CrashChild victim([&](const CrashChild::Report&) { send_until_killed(nth); });
    Node& here = open_here();
    std::vector<std::string> heard;
    MailWorker worker(
        *here.fabric, *here.region,
        [&](std::string_view request) {
          heard.emplace_back(request);
          return std::string();
        },
        kPatience_us);
    ASSERT_TRUE(worker.join(kVictim, kPatience_us).ok());
    bool ended = false;
    const auto done = [&](mailbox::CallOutcome, std::string_view) { ended = true; };
    ASSERT_EQ(worker.rpc(kVictim).call("go", now_us(), kPatience_us, done), mailbox::SendResult::kTaken);
    ASSERT_TRUE(
        work_until(worker, [&] { return ended && !worker.endpoint().status(worker.connection(kVictim)).ok(); }));
    ASSERT_TRUE(victim.wait().killed);
    (void)worker.step(now_us());
    for (const std::string& text : heard) EXPECT_TRUE(text == large);
  }
}

TEST_F(Kill, InARequestsHandlerEndsTheCall) {
  CrashChild victim([&](const CrashChild::Report&) {
    Node node(directory_.path(), kVictim, 1);
    const auto die = [](std::string_view) {
      ::kill(::getpid(), SIGKILL);
      return std::string();
    };
    MailWorker worker(*node.fabric, *node.region, die, kPatience_us);
    if (worker.join(kHere, kPatience_us).ok()) (void)work_until(worker, [] { return false; });
  });
  Node& here = open_here();
  MailWorker worker(
      *here.fabric, *here.region, [](std::string_view) { return std::string(); }, kPatience_us);
  ASSERT_TRUE(worker.join(kVictim, kPatience_us).ok());
  std::optional<mailbox::CallOutcome> outcome;
  const auto done = [&](mailbox::CallOutcome how, std::string_view) { outcome = how; };
  ASSERT_EQ(worker.rpc(kVictim).call("die", now_us(), kPatience_us, done), mailbox::SendResult::kTaken);
  const std::uint64_t begin = now_us();
  ASSERT_TRUE(work_until(worker, [&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome, mailbox::CallOutcome::kBroken);
  EXPECT_LT(now_us() - begin, 2'000'000u);
  EXPECT_TRUE(victim.wait().killed);
}

TEST_F(Kill, InItsSleepIsHeardOfByThoseWhoSleepToo) {
  CrashChild victim([&](const CrashChild::Report& report) {
    Node node(directory_.path(), kVictim, 1);
    const auto endpoint = node.fabric->open_endpoint().value();
    report("asleep");
    while (true) (void)endpoint->sleep(kPatience_us);
  });
  const Node& here = open_here();
  const auto endpoint = here.fabric->open_endpoint().value();
  const ConnectionId connection = endpoint->connect(kVictim, kPatience_us).value();
  ASSERT_TRUE(victim.run_until("asleep"));
  victim.kill();
  while (endpoint->status(connection).ok()) ASSERT_TRUE(endpoint->sleep(kPatience_us));
  EXPECT_EQ(endpoint->ring(connection, 0), PostResult::kBroken);
}

/// How many files of memory this process maps, its own and those of others.
std::size_t mapped_memory_files() {
  std::ifstream maps("/proc/self/maps");
  std::size_t files = 0;
  for (std::string line; std::getline(maps, line);) files += line.find("/memfd:") != std::string::npos ? 1 : 0;
  return files;
}

/// A node that comes back again and again does not leave the memory of each of its lives with those who stay.
TEST_F(Kill, ItsMemoryGoesWithItsConnections) {
  constexpr Generation kLives = 4;
  const auto may_begin = [&](Generation life) { return directory_ / ("life " + std::to_string(life)); };
  std::vector<std::unique_ptr<CrashChild>> lives;
  for (Generation life = 1; life <= kLives; ++life) {
    lives.push_back(std::make_unique<CrashChild>([&, life](const CrashChild::Report& report) {
      while (::access(may_begin(life).c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const Node node(directory_.path(), kVictim, life);
      report("up");
      ::pause();
    }));
  }
  const Node& here = open_here();
  const auto endpoint = here.fabric->open_endpoint().value();
  const auto idle = here.fabric->open_endpoint().value();  // sleeps only
  std::vector<std::size_t> mapped;
  const std::size_t before = mapped_memory_files();
  for (Generation life = 1; life <= kLives; ++life) {
    CrashChild& victim = *lives[life - 1];
    std::ofstream(may_begin(life)).flush();
    ASSERT_TRUE(victim.run_until("up"));
    const ConnectionId connection = endpoint->connect(kVictim, kPatience_us).value();
    if (life == 1) ASSERT_TRUE(idle->connect(kVictim, kPatience_us).ok());
    victim.kill();
    ASSERT_TRUE(breaks(*endpoint, connection));
    (void)endpoint->sleep(1);
    EXPECT_EQ(endpoint->peer_generation(connection), 0u);
    EXPECT_NE(endpoint->status(connection).message().find("it ended or closed its fabric"), std::string::npos);
    (void)idle->sleep(1);
    for (int turn = 0; turn < 5000 && mapped_memory_files() != before; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    mapped.push_back(mapped_memory_files());
    EXPECT_EQ(mapped.back(), before) << "before its next life is there";
  }
  EXPECT_THAT(mapped, testing::Each(mapped.front()));
}

TEST_F(Kill, TheMemoryOfWhoIsCutOffGoesWithItsProcess) {
  CrashChild victim([&](const CrashChild::Report& report) {
    const Node node(directory_.path(), kVictim, 1);
    report("up");
    ::pause();
  });
  const Node& here = open_here();
  const auto endpoint = here.fabric->open_endpoint().value();
  const std::size_t before = mapped_memory_files();
  ASSERT_TRUE(victim.run_until("up"));
  ASSERT_TRUE(endpoint->connect(kVictim, kPatience_us).ok());
  EXPECT_GT(mapped_memory_files(), before);
  victim.signal(SIGSTOP);
  ASSERT_TRUE(victim.wait_until_stopped());
  ASSERT_TRUE(here.fabric->cut_off(kVictim, 1).ok());
  for (int turn = 0; turn < 5000 && mapped_memory_files() != before; ++turn) (void)endpoint->sleep(1000);
  EXPECT_EQ(mapped_memory_files(), before);
  EXPECT_TRUE(victim.wait().killed);
}

}  // namespace
}  // namespace granary::rdma::shm
