// Messages, requests and fibers between nodes, on all providers: workers of other processes answer; all sleep when they
// have nothing to do. What seeds and injected breakage show is in tests/rdma/mailbox, over the simulator.

#include <algorithm>
#include <optional>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/rdma/conformance/mail_worker.h"

namespace granary::rdma::conformance {
namespace {

using mailbox::CallOutcome;
using mailbox::SendResult;

class Exchange : public testing::Test {
 protected:
  static constexpr NodeId kHere = 1;
  static constexpr NodeId kPeer = 2;
  static constexpr NodeId kOther = 3;

  void SetUp() override {
    world_ = make_world();
    region_ = memory::Region::map({.reserve_bytes = kPeerBytes, .huge_pages = HugePages::kOff, .shared = true}).value();
    fabric_ = world_->open_fabric({.node = kHere, .generation = 1, .layout = 77});
    ASSERT_TRUE(fabric_->register_region({.id = kPeerRegion}, *region_).ok());
    ASSERT_TRUE(fabric_->listen().ok());
    worker_ = std::make_unique<MailWorker>(
        *fabric_, *region_, [](std::string_view) { return std::string(); }, kPatience_us);
  }
  void meet(NodeId node, Generation generation = 1) {
    world_->start_worker({.node = node, .generation = generation, .layout = 77});
    const Status joined = worker_->join(node, kPatience_us);
    ASSERT_TRUE(joined.ok()) << joined.message();
  }

  /// Works, and sleeps when there is nothing to do, until `over`; false if that took too long.
  template <typename Over>
  bool work_until(Over&& over) {
    const std::uint64_t end = world_->now_us() + kPatience_us;
    for (std::uint32_t turn = 0; !over();) {
      if (world_->now_us() > end) return false;
      if (worker_->step(world_->now_us())) {
        turn = 0;
      } else if (!over()) {  // a call may have ended without an answer
        worker_->sleeper().pause(turn++);
      }
    }
    return true;
  }
  struct Answer {
    CallOutcome outcome;
    std::string text;
  };
  /// The answer to a request; nothing if neither it nor a failure came in time.
  std::optional<Answer> call(NodeId node, const std::string& request, std::uint64_t timeout_us = kPatience_us) {
    std::optional<Answer> got;
    const auto done = [&](CallOutcome outcome, std::string_view text) { got = {outcome, std::string(text)}; };
    SendResult result = SendResult::kFull;
    const auto asked = [&] {
      result = worker_->rpc(node).call(request, world_->now_us(), timeout_us, done);
      return result != SendResult::kFull;
    };
    if (!work_until(asked)) return {};
    if (result != SendResult::kTaken) return Answer{CallOutcome::kBroken, {}};
    return work_until([&] { return got.has_value(); }) ? got : std::nullopt;
  }
  bool echoes(NodeId node, const std::string& text) {
    const auto answer = call(node, text);
    return answer && answer->outcome == CallOutcome::kAnswered && answer->text == text;
  }

  std::unique_ptr<World> world_;
  std::unique_ptr<memory::Region> region_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<MailWorker> worker_;
};

TEST_F(Exchange, RequestsOfAllSizesAreAnswered) {
  meet(kPeer);
  for (const std::size_t bytes : {0u, 1u, 8u, 100u, 3'000u, 4'096u, 40'000u}) {
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(bytes * 31 + i * 7);
    ASSERT_TRUE(echoes(kPeer, text)) << bytes << " bytes";
  }
  EXPECT_EQ(worker_->rpc(kPeer).call(std::string(MailWorker::kMostBytes + 1, 'x'), 0, 0, {}), SendResult::kTooLarge);
  EXPECT_TRUE(echoes(kPeer, "still"));
}

TEST_F(Exchange, ManyRequestsAreUnderWayAtATime) {
  meet(kPeer);
  constexpr int kCalls = 200;
  int asked = 0;
  std::vector<std::string> answers;
  const auto over = [&] {
    const auto ask = [&] {
      return worker_->rpc(kPeer).call(std::to_string(asked), world_->now_us(), kPatience_us,
                                      [&](CallOutcome, std::string_view text) { answers.emplace_back(text); });
    };
    while (asked < kCalls && ask() == SendResult::kTaken) ++asked;
    return answers.size() == kCalls;
  };
  ASSERT_TRUE(work_until(over));
  for (int i = 0; i < kCalls; ++i) EXPECT_EQ(answers[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(Exchange, AStoppedPeersCallTimesOutAndTheNextIsAnsweredWhenItGoesOn) {
  meet(kPeer);
  ASSERT_TRUE(echoes(kPeer, "hello"));
  world_->stop_peer(kPeer);
  const auto late = call(kPeer, "late", 50'000);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->outcome, CallOutcome::kTimedOut);
  world_->resume_peer(kPeer);
  EXPECT_TRUE(echoes(kPeer, "again"));
}

TEST_F(Exchange, CallsEndWhenThePeerDiesAndItsNextLifeIsCalledAgain) {
  meet(kPeer);
  ASSERT_TRUE(echoes(kPeer, "hello"));
  world_->kill_peer(kPeer);
  const std::uint64_t begin = world_->now_us();
  const auto answer = call(kPeer, "are you there");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, CallOutcome::kBroken);
  EXPECT_LE(world_->now_us() - begin, 2 * world_->death_notice_us());
  meet(kPeer, 2);
  EXPECT_TRUE(echoes(kPeer, "welcome back"));
}

/// Three processes, one of which waits for the two others, which wait for it: on two cores, whoever waits must leave
/// the processor to the others. Time tells little here; what is counted is how often they looked in vain, and slept in
/// vain.
TEST_F(Exchange, WorkersThatWaitForEachOtherSleep) {
  meet(kPeer);
  meet(kOther);
  ASSERT_TRUE(echoes(kPeer, "hello") && echoes(kOther, "hello"));
  const Rounds rounds(*world_);
  std::uint64_t round = 0;
  const mailbox::Sleeper::Counts before = worker_->sleeper().counts();
  for (; rounds.more(round); ++round) {
    int answers = 0;
    for (const NodeId node : {kPeer, kOther}) {
      const auto done = [&](CallOutcome outcome, std::string_view) { answers += outcome == CallOutcome::kAnswered; };
      const auto asked = [&] {
        return worker_->rpc(node).call("ping", world_->now_us(), kPatience_us, done) == SendResult::kTaken;
      };
      ASSERT_TRUE(work_until(asked));
    }
    ASSERT_TRUE(work_until([&] { return answers == 2; }));
    if (round % 5 == 0) world_->advance();  // long enough that the others lie down
  }
  const std::uint64_t most_pauses = round * 8 * (mailbox::Sleeper::kSpins + 8);  // a few waits a round
  const mailbox::Sleeper::Counts& counts = worker_->sleeper().counts();
  EXPECT_LE(counts.pauses - before.pauses, most_pauses);
  std::uint64_t all_sleeps = counts.sleeps - before.sleeps;
  EXPECT_EQ(counts.slept_through, 0u);
  for (const NodeId node : {kPeer, kOther}) {
    const auto answer = call(node, "counts");
    ASSERT_TRUE(answer);
    std::istringstream text(answer->text);
    std::uint64_t pauses = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t slept_through = 0;
    text >> pauses >> sleeps >> slept_through;
    EXPECT_LE(pauses, most_pauses) << "node " << node;
    EXPECT_EQ(slept_through, 0u) << "node " << node;
    all_sleeps += sleeps;
  }
  EXPECT_GE(all_sleeps, round / 10) << "nobody had to wait: the test saw nothing";
}

TEST_F(Exchange, FibersWaitForAnswersAndForOperations) {
  meet(kPeer);
  constexpr std::size_t kFibers = 8;
  constexpr std::uint64_t kTurns = 20;
  constexpr std::uint64_t kCounter = std::uint64_t{2} << 20;  // in the peer's region, beyond its mailboxes
  auto* const words = reinterpret_cast<std::uint64_t*>(region_->base() + kCounter);
  fiber::Scheduler scheduler([&] { worker_->step(world_->now_us()); }, worker_->sleeper());
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kFibers; ++i) {
    scheduler.spawn([&, i] {
      for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
        fiber::Chains chains(scheduler, worker_->fibers());
        const Operation add = Operation::fetch_add(worker_->at(kPeer, kCounter), 1, words + i);
        EXPECT_EQ(chains.post(worker_->connection(kPeer), {&add, 1}), PostResult::kPosted);
        EXPECT_TRUE(chains.wait());
      }
      fiber::Fiber* const self = scheduler.current();
      const auto done = [&, self](CallOutcome outcome, std::string_view) {
        answered += outcome == CallOutcome::kAnswered;
        scheduler.wake(self);
      };
      while (worker_->rpc(kPeer).call("x", world_->now_us(), kPatience_us, done) == SendResult::kFull) {
        world_->advance();
        scheduler.yield();
      }
      scheduler.park();
    });
  }
  scheduler.run();
  EXPECT_EQ(answered, kFibers);
  EXPECT_EQ(*std::max_element(words, words + kFibers), kFibers * kTurns - 1);
}

}  // namespace
}  // namespace granary::rdma::conformance
