// Workers that sleep while there is nothing for them: no message is slept over, whatever the network does to the
// sender's WRITEs, READs and rings. Two simulated nodes whose workers run in fibers, so that both may sleep; many
// seeds.

#include <algorithm>
#include <array>

#include "rdma/fiber/scheduler.h"
#include "rdma/mailbox/sleeper.h"
#include "tests/rdma/mailbox/sim_mailbox.h"
#include "tests/support/seeds.h"

namespace granary::rdma::mailbox {
namespace {

constexpr std::uint64_t kForever_us = 100'000;  // a sleep that takes so long was not ended

/// A worker that answers each message with the next number until it has seen `last`.
struct Player {
  Player(MailboxNode& at, sim::SimNetwork& between, fiber::Scheduler& fibers)
      : node(at),
        network(between),
        scheduler(fibers),
        sleeper(*at.endpoint, {at.receiver.get()}, kForever_us) {}

  void play(std::uint64_t last) {
    while (seen < last) {
      node.step();
      const auto got = node.receiver->poll();
      if (!got) {
        for (std::uint64_t i = network.random().below(40); i != 0; --i) scheduler.yield();  // the look grows old
        sleeper.pause(Sleeper::kSpins);
        continue;
      }
      seen = std::stoull(std::string(*got));
      answer(std::to_string(seen + 1));
    }
  }
  void answer(const std::string& text) {
    while (node.sender->send(text) == SendResult::kFull) node.step();
  }

  MailboxNode& node;
  sim::SimNetwork& network;
  fiber::Scheduler& scheduler;
  Sleeper sleeper;
  std::uint64_t seen = 0;
};

TEST(SleepingMailbox, NoMessageIsSleptOver) {
  constexpr std::uint64_t kMessages = 60;
  for (const std::uint64_t seed : tests::seeds(kSeeds)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    MailboxPair pair(seed);
    base::ThreadWaiter idle;
    fiber::Scheduler scheduler([&] { pair.network.run_for(1'000); }, idle);
    pair.network.set_wait([&] { scheduler.yield(); });
    Player a(pair.a, pair.network, scheduler);
    Player b(pair.b, pair.network, scheduler);
    scheduler.spawn([&] {
      a.answer("1");
      a.play(kMessages);
    });
    scheduler.spawn([&] {
      b.play(kMessages - 1);
      while (a.seen < kMessages) {  // who has sent goes on polling: the ring, if need be, is still to come
        b.node.step();
        scheduler.yield();
      }
    });
    scheduler.run();
    EXPECT_EQ(a.seen, kMessages);
    ASSERT_EQ(a.sleeper.counts().slept_through + b.sleeper.counts().slept_through, 0u);
    ASSERT_GE(a.sleeper.counts().sleeps, kMessages / 4) << "the workers hardly slept";
  }
}

/// The sender's READ for the first message says nothing about the second.
TEST(SleepingMailbox, AMessageThatFollowsAnotherAtOnceIsHeard) {
  MailboxPair pair(1);
  for (int i = 0; i < 2'000; ++i) {
    pair.step();
    (void)pair.a.receiver->poll();  // serves the session
    (void)pair.b.receiver->poll();
  }
  ASSERT_EQ(pair.a.sender->send("first"), SendResult::kTaken);
  pair.network.run_for(1'000'000);  // the READ is done, and says that nobody sleeps
  ASSERT_EQ(pair.b.receiver->poll(), "first");
  pair.b.receiver->lie_down(pair.b.endpoint->bell());
  ASSERT_EQ(pair.a.sender->send("second"), SendResult::kTaken);
  pair.network.set_wait([&] {
    pair.network.step();
    pair.a.step();
  });
  EXPECT_TRUE(pair.b.endpoint->sleep(kForever_us));
}

TEST(SleepingMailbox, WhoLiesDownLooksOnceMore) {
  MailboxPair pair(1);
  Sleeper sleeper(*pair.b.endpoint, {pair.b.receiver.get()}, kForever_us);
  ASSERT_EQ(pair.a.sender->send("there already"), SendResult::kTaken);
  for (int i = 0; i < 2'000 && !pair.b.receiver->has_something(); ++i) pair.step();
  (void)pair.b.receiver->poll();  // serves the session
  for (int i = 0; i < 2'000 && !pair.b.receiver->has_something(); ++i) pair.step();
  for (int i = 0; i < 2'000; ++i) pair.step();  // what the sender had to READ, it has
  sleeper.pause(Sleeper::kSpins);
  EXPECT_EQ(sleeper.counts().sleeps, 0u);
  EXPECT_EQ(pair.b.receiver->poll(), "there already");
}

TEST(SleepingMailbox, ASleeperIsRungOnceAndTheOneWhoIsAwakeNever) {
  sim::SimOptions options{.seed = 1, .keep_trace = true};
  MailboxPair pair(options);
  const auto rings = [&] {
    const std::string& text = pair.network.trace_text();
    std::size_t count = 0;
    for (std::size_t at = text.find(" rings "); at != std::string::npos; at = text.find(" rings ", at + 1)) ++count;
    return count;
  };
  const auto run = [&](bool receive) {
    for (int i = 0; i < 2'000; ++i) {
      (void)pair.a.sender->send("x");
      pair.step();
      if (receive) (void)pair.b.receiver->poll();
    }
  };
  run(/*receive=*/true);
  EXPECT_EQ(rings(), 0u);
  pair.b.receiver->lie_down(pair.b.endpoint->bell());
  run(/*receive=*/false);
  EXPECT_EQ(rings(), 1u);
  pair.b.receiver->get_up();
  run(/*receive=*/true);
  EXPECT_EQ(rings(), 1u);
}

/// The sender knows a sleep by its number, so a later receiver of the ring goes on counting.
TEST(SleepingMailbox, ALaterReceiverOfARingIsRungInItsFirstSleep) {
  sim::SimOptions options{.seed = 1, .keep_trace = true};
  MailboxPair pair(options);
  for (int i = 0; i < 2'000; ++i) {
    pair.step();
    (void)pair.b.receiver->poll();  // serves the session
  }
  const auto is_rung = [&] {
    const std::size_t before = pair.network.trace_text().size();
    pair.b.receiver->lie_down(pair.b.endpoint->bell());
    EXPECT_EQ(pair.a.sender->send("x"), SendResult::kTaken);
    for (int i = 0; i < 2'000; ++i) pair.step();
    pair.b.receiver->get_up();
    return pair.network.trace_text().find(" rings ", before) != std::string::npos;
  };
  EXPECT_TRUE(is_rung());
  pair.b.receiver = std::make_unique<Receiver>(pair.b.region->base(), kRingBytes, kMostBytes);
  EXPECT_TRUE(is_rung());
}

TEST(SleepingMailbox, NoSleepIsLongerThanItsLimit) {
  constexpr std::uint64_t kLimit_us = 100;
  MailboxPair pair(1);
  for (int i = 0; i < 2'000; ++i) {
    pair.step();
    (void)pair.a.receiver->poll();  // serves the session, so that nothing is there to be looked at
  }
  Sleeper sleeper(*pair.a.endpoint, {pair.a.receiver.get()}, 100 * kLimit_us);
  sleeper.limit(kLimit_us);
  std::uint64_t longest = 0;
  for (int i = 0; i < 100; ++i) {  // what has happened before ends the first ones early
    const std::uint64_t begin = pair.network.now();
    sleeper.pause(Sleeper::kSpins);
    longest = std::max(longest, pair.network.now() - begin);
    std::array<Completion, 16> completions;
    (void)pair.a.endpoint->poll(completions);
  }
  EXPECT_EQ(longest, kLimit_us * 1'000);
  EXPECT_EQ(sleeper.counts().slept_through, 0u);
}

}  // namespace
}  // namespace granary::rdma::mailbox
