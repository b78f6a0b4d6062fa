// Workers whose number another worker had before, on simulated nodes: they sleep, and get no answer that was meant for
// the other one.

#include "rdma/mailbox/sleeper.h"
#include "src/base/random.h"
#include "tests/cluster/messages/sim_nodes.h"
#include "tests/support/seeds.h"

namespace granary::cluster::messages {
namespace {

/// Waits for a call, and gives its result when all that is under way has arrived.
void finish_next(SimNodes& nodes, CallQueue& calls, const std::string& result) {
  auto job = calls.wait(0);
  for (; !job; job = calls.wait(0)) nodes.scheduler.yield();
  for (int i = 0; i < 1'000; ++i) nodes.scheduler.yield();
  calls.finish(*job, result);
}

/// The call of a worker that has ended is done when the next worker with its number has asked for another call.
TEST(NumberUsedAgain, AnAnswerInTheSessionOfAnEarlierWorkerIsTakenForNoOther) {
  for (const std::uint64_t seed : tests::seeds(10)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CallQueue calls(2);
    SimNodes nodes(seed, &calls);
    EXPECT_EQ(nodes.node(0).ask(1, Call{.procedure = "first"}).outcome(), AskOutcome::kTimedOut);
    const auto first = calls.wait(0);
    ASSERT_TRUE(first);
    nodes.change_worker(0);
    nodes.scheduler.spawn([&] { EXPECT_EQ(nodes.node(0).answer(1, Call{.procedure = "second"}).result, "second's"); });
    nodes.scheduler.spawn([&] {
      calls.finish(*first, "first's");
      finish_next(nodes, calls, "second's");
    });
    nodes.scheduler.run();
  }
}

/// The service has lost its connection, so it begins a session for the first call's answer when the first worker has
/// ended. The second worker serves that session, asks for another call, and gets the answer at any time.
TEST(NumberUsedAgain, AnAnswerToAnEarlierWorkerInANewSessionIsTakenForNoOther) {
  for (const std::uint64_t seed : tests::seeds(200)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CallQueue calls(2);
    SimNodes nodes(seed, &calls);
    std::optional<CallQueue::Job> first;
    nodes.between = [&] {
      if (first) return;
      first = calls.wait(0);
      if (first) nodes.network.lose_connections(0, 1);
    };
    EXPECT_EQ(nodes.node(0).ask(1, Call{.procedure = "first"}).outcome(), AskOutcome::kBroken);
    ASSERT_TRUE(first);
    nodes.change_worker(0);
    nodes.between = [&] { nodes.node(0).messenger().step_all(); };
    calls.finish(*first, "first's");
    nodes.pass(base::Random(seed).below(200));
    nodes.scheduler.spawn([&] { EXPECT_EQ(nodes.node(0).answer(1, Call{.procedure = "second"}).result, "second's"); });
    nodes.scheduler.spawn([&] { finish_next(nodes, calls, "second's"); });
    nodes.scheduler.run();
  }
}

/// The node that the worker before it has asked has nothing more to say, or is dead.
TEST(NumberUsedAgain, AWorkerWhoseNumberWasUsedBeforeSleeps) {
  for (const bool dead : {false, true}) {
    SimNodes nodes;
    EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
    nodes.change_worker(0);
    if (dead) nodes.crash(1);
    nodes.pass(50'000);
    rdma::mailbox::Sleeper sleeper(nodes.node(0).endpoint(), nodes.node(0).messenger().receivers());
    for (int i = 0; i < 10; ++i) {
      nodes.node(0).messenger().step_all();
      sleeper.pause(rdma::mailbox::Sleeper::kSpins);
    }
    EXPECT_EQ(sleeper.counts().sleeps, 10u);
  }
}

/// So it does if the session was taken on the account of its predecessor, and served by nobody: it is served and not
/// used.
TEST(NumberUsedAgain, AWorkerSleepsWhomeverAnAnswerWasFor) {
  SimNodes nodes;
  nodes.resting = 1;
  EXPECT_EQ(nodes.node(0).ask(1, Control{.bytes = "a"}).outcome(), AskOutcome::kTimedOut);
  nodes.change_worker(0);
  nodes.resting.reset();
  nodes.pass(1'000);
  ASSERT_TRUE(nodes.node(0).messenger().receivers()[1]->has_something());
  nodes.between = [&] { nodes.node(0).messenger().step_all(); };
  nodes.pass(1'000);
  EXPECT_FALSE(nodes.node(0).messenger().receivers()[1]->has_something());
  EXPECT_EQ(nodes.node(1).service().most_sleep_us(), rdma::mailbox::Sleeper::kMostSleep_us) << "it waits for nobody";
}

}  // namespace
}  // namespace granary::cluster::messages
