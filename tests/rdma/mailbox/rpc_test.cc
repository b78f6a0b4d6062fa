// Requests and answers over simulated mailboxes: both ways at once, time-outs, breakage.

#include "rdma/mailbox/rpc.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tests/rdma/mailbox/sim_mailbox.h"
#include "tests/support/seeds.h"

namespace granary::rdma::mailbox {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;

struct RpcPair : MailboxPair {
  explicit RpcPair(std::uint64_t seed) : MailboxPair(seed) {}

  void run(int steps, bool b_works = true) {
    for (int i = 0; i < steps; ++i) {
      step();
      at_a.step(network.now() / 1000);
      if (b_works) at_b.step(network.now() / 1000);
    }
  }
  SendResult call(Rpc& rpc, const std::string& request, std::uint64_t timeout_us = 100 * kSecond) {
    return rpc.call(request, network.now() / 1000, timeout_us, [this](CallOutcome outcome, std::string_view answer) {
      outcomes.push_back(outcome);
      answers.emplace_back(answer);
    });
  }

  int handled = 0;
  std::vector<CallOutcome> outcomes;
  std::vector<std::string> answers;
  Rpc::Handler echo = [this](Rpc::CallId, std::string_view request, std::string& answer) {
    ++handled;
    answer.append("re: ").append(request);
    return true;
  };
  Rpc at_a{*a.sender, *a.receiver, echo};
  Rpc at_b{*b.sender, *b.receiver, echo};
};

TEST(Rpc, BothSidesAskAndAreAnsweredThroughFullRings) {
  for (const std::uint64_t seed : tests::seeds(20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RpcPair pair(seed);
    const std::string large(700, 'q');
    int asked = 0;
    for (int i = 0; i < 200'000 && (asked < 100 || pair.outcomes.size() < 100); ++i) {
      if (asked < 100 && pair.call(asked % 2 == 0 ? pair.at_a : pair.at_b, large) == SendResult::kTaken) ++asked;
      pair.run(1);
    }
    ASSERT_EQ(pair.outcomes, std::vector<CallOutcome>(100, CallOutcome::kAnswered));
    EXPECT_EQ(pair.answers, std::vector<std::string>(100, "re: " + large));
  }
}

TEST(Rpc, ACallTimesOutAndItsLateAnswerIsDropped) {
  RpcPair pair(1);
  pair.run(1'000);  // b serves a's session
  ASSERT_EQ(pair.call(pair.at_a, "slow", 1'000), SendResult::kTaken);
  pair.run(3'000, /*b_works=*/false);
  ASSERT_EQ(pair.outcomes, std::vector{CallOutcome::kTimedOut});
  ASSERT_EQ(pair.call(pair.at_a, "next"), SendResult::kTaken);
  pair.run(10'000);
  EXPECT_EQ(pair.handled, 2) << "the first request was carried out all the same";
  EXPECT_EQ(pair.answers, (std::vector<std::string>{"", "re: next"}));
}

TEST(Rpc, WhatIsNoRequestAndNoAnswerIsDropped) {
  RpcPair pair(1);
  const std::uint64_t unknown_kind[] = {99, 1};
  const std::uint64_t unasked_answer[] = {2, 12345};
  const auto bytes = [](const auto& words) { return std::string(reinterpret_cast<const char*>(words), sizeof words); };
  for (const std::string& text : {std::string(), std::string("short"), bytes(unknown_kind), bytes(unasked_answer)}) {
    while (pair.a.sender->send(text) != SendResult::kTaken) pair.run(1);
  }
  ASSERT_EQ(pair.call(pair.at_a, "hello"), SendResult::kTaken);
  pair.run(10'000);
  EXPECT_EQ(pair.handled, 1);
  EXPECT_EQ(pair.answers, std::vector<std::string>{"re: hello"});
  EXPECT_EQ(pair.at_b.senseless(), 3u) << "an answer to no call is none: it may be late";
}

TEST(Rpc, CallsUnderWayAreBounded) {
  RpcPair pair(1);
  std::size_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    taken += pair.call(pair.at_a, "x") == SendResult::kTaken ? 1 : 0;
    pair.step();
    pair.at_a.step(0);
    while (pair.b.receiver->poll()) {  // read, never answered
    }
  }
  EXPECT_EQ(taken, Rpc::kMostCalls);
}

TEST(Rpc, AnAnswerMayComeLater) {
  RpcPair pair(1);
  std::vector<Rpc::CallId> put_off;
  Rpc later(*pair.b.sender, *pair.b.receiver, [&](Rpc::CallId call, std::string_view, std::string&) {
    put_off.push_back(call);
    return false;
  });
  for (int i = 0; i < 2; ++i) {
    while (pair.call(pair.at_a, "when you can") != SendResult::kTaken) pair.run(1);
  }
  const auto run = [&] {
    for (int i = 0; i < 10'000; ++i) {
      pair.run(1, /*b_works=*/false);
      later.step(0);
    }
  };
  run();
  ASSERT_EQ(put_off.size(), 2u);
  EXPECT_TRUE(pair.answers.empty());
  later.answer(put_off[1], "second");
  later.answer(put_off[0], "first");
  run();
  EXPECT_EQ(pair.answers, (std::vector<std::string>{"second", "first"}));
}

/// Each of a caller's calls times out before it is answered.
/// The connection is broken, and the side that answers has not seen it yet: the answer goes out on the next one.
TEST(Rpc, AnAnswerWaitsForAnotherSenderWhereTheConnectionIsBroken) {
  constexpr ConnectionId kFirst = 0;
  RpcPair pair(1);
  pair.run(1'000);  // each serves the other one's session
  ASSERT_EQ(pair.call(pair.at_a, "hello"), SendResult::kTaken);
  bool broken = false;
  Rpc breaks(*pair.b.sender, *pair.b.receiver, [&](Rpc::CallId, std::string_view, std::string& answer) {
    if (!std::exchange(broken, true)) pair.b.endpoint->disconnect(kFirst);
    answer = "re: hello";
    return true;
  });
  const auto run_until = [&](auto&& done) {
    for (int i = 0; i < 10'000 && !done(); ++i) {
      pair.step();
      pair.at_a.step(pair.network.now() / 1000);
      breaks.step(pair.network.now() / 1000);
    }
    return done();
  };
  ASSERT_TRUE(run_until([&] { return broken; }));
  ASSERT_TRUE(pair.b.sender->broken());
  std::destroy_at(pair.b.sender.get());  // the next one is where the Rpc looks for it
  std::construct_at(pair.b.sender.get(), *pair.b.endpoint, pair.b.endpoint->connect(pair.a.node, 0).value(),
                    pair.b.place_for(pair.a));
  EXPECT_TRUE(run_until([&] { return !pair.answers.empty(); }));
  EXPECT_EQ(pair.answers, std::vector<std::string>{"re: hello"});
}

TEST(Rpc, RequestsThatWaitForAnswersAreBounded) {
  RpcPair pair(1);
  std::size_t handled = 0;
  Rpc never(*pair.b.sender, *pair.b.receiver, [&](Rpc::CallId, std::string_view, std::string&) {
    ++handled;
    return false;
  });
  for (int i = 0; i < 20'000; ++i) {
    (void)pair.call(pair.at_a, "x", /*timeout_us=*/1);
    pair.run(1, /*b_works=*/false);
    never.step(0);
  }
  EXPECT_GT(pair.outcomes.size(), 2 * Rpc::kMostCalls);
  EXPECT_EQ(handled, Rpc::kMostCalls);
}

TEST(Rpc, CallsEndWhenThePeerDies) {
  RpcPair pair(1);
  ASSERT_EQ(pair.call(pair.at_a, "hello"), SendResult::kTaken);
  pair.run(2'000);
  ASSERT_EQ(pair.outcomes.size(), 1u);
  ASSERT_EQ(pair.call(pair.at_a, "are you there"), SendResult::kTaken);
  pair.network.crash(2);
  for (int i = 0; i < 100'000 && pair.outcomes.size() < 2; ++i) {
    (void)pair.at_a.call("more", 0, 100 * kSecond, [](CallOutcome, std::string_view) {});
    pair.run(1, /*b_works=*/false);
  }
  ASSERT_EQ(pair.outcomes.size(), 2u);
  EXPECT_EQ(pair.outcomes[1], CallOutcome::kBroken);
}

}  // namespace
}  // namespace granary::rdma::mailbox
