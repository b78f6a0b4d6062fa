// Services and messengers: many questions at once, time-outs, lost connections, lives that end, peers that talk
// nonsense. On simulated nodes; service_shm_test.cc has threads.

#include <cstring>

#include "rdma/mailbox/rpc.h"
#include "src/base/crc32c.h"
#include "src/base/random.h"
#include "tests/cluster/messages/samples.h"
#include "tests/cluster/messages/sim_nodes.h"
#include "tests/support/seeds.h"

namespace granary::cluster::messages {
namespace {

TEST(Service, ManyFibersAskAtOnce) {
  for (const std::uint64_t seed : tests::seeds(10)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimNodes nodes(seed);
    nodes.begin(2, 1);
    int right = 0;
    constexpr int kFibers = 100;
    for (int i = 0; i < kFibers; ++i) {
      nodes.scheduler.spawn([&, i] {
        TestNode& node = nodes.node(0);
        const std::string text = std::to_string(i) + std::string(static_cast<std::size_t>(i) * 10, 'x');
        QuestionOf<Control> one(1, {.bytes = text}), two(2, {.bytes = text});
        node.messenger().ask({&one, &two});
        right += one.answer().bytes == "0 says " + text && two.answer().bytes == "0 says " + text ? 1 : 0;
      });
    }
    nodes.scheduler.run();
    EXPECT_EQ(right, kFibers);
  }
}

TEST(Service, AQuestionToAnotherNodeThanThereIsEndsAtOnce) {
  SimNodes nodes;
  EXPECT_EQ(nodes.node(0).ask(2, Control{}).outcome(), AskOutcome::kBroken) << "it has not begun";
  EXPECT_EQ(nodes.node(0).ask(77, Control{}).outcome(), AskOutcome::kBroken);
}

TEST(Service, AQuestionThatIsNotAnsweredTimesOut) {
  CallQueue calls(2);
  SimNodes nodes(1, &calls);
  EXPECT_EQ(nodes.node(0).ask(1, Call{.procedure = "for ever"}).outcome(), AskOutcome::kTimedOut);
  calls.finish(*calls.wait(0), "too late");
  EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
}

/// However many nodes there are.
TEST(Service, AWorkerLooksAtTheNodesThatItAsks) {
  CallQueue calls(2);
  SimNodes nodes(1, &calls);
  nodes.begin(2, 1);
  Messenger& messenger = nodes.node(0).messenger();
  EXPECT_EQ(messenger.looked_at(), 0u);
  nodes.scheduler.spawn([&] { EXPECT_EQ(nodes.node(0).answer(1, Call{.procedure = "p"}).result, "done"); });
  nodes.scheduler.spawn([&] {
    auto job = calls.wait(0);
    for (; !job; job = calls.wait(0)) nodes.scheduler.yield();
    EXPECT_EQ(messenger.looked_at(), 1u);
    calls.finish(*job, "done");
  });
  nodes.scheduler.run();
  EXPECT_EQ(messenger.looked_at(), 0u);
}

/// The question has timed out before its message was out, and then the other node dies: a worker that sleeps need not
/// look any more.
TEST(Service, AWorkerDoesNotLookForEverAtAQuestionThatTimedOut) {
  SimNodes nodes;
  nodes.resting = 1;
  EXPECT_EQ(nodes.node(0).ask(1, Control{.bytes = "a"}).outcome(), AskOutcome::kTimedOut);
  nodes.pass(10'000);  // nothing that it has posted is under way any more
  EXPECT_EQ(nodes.node(0).messenger().looked_at(), 1u);
  nodes.crash(1);
  nodes.pass(50'000);
  EXPECT_EQ(nodes.node(0).messenger().looked_at(), 0u);
}

TEST(Service, CallsAreRunByWorkersWhileShortRequestsGoOn) {
  CallQueue calls(2);
  SimNodes nodes(1, &calls);
  std::vector<std::string> seen;
  for (const std::string name : {"slow", "quick", "one too many"}) {
    nodes.scheduler.spawn([&, name] {
      const QuestionOf<Call> call = nodes.node(0).ask(1, Call{.procedure = name, .arguments = "arguments"});
      const bool answered = call.outcome() == AskOutcome::kAnswered;
      seen.push_back(name + ": " + (answered ? call.answer().result : std::string(messages::name(call.status()))));
    });
  }
  nodes.scheduler.spawn([&] {
    EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "short"}).bytes, "0 says short");
    seen.emplace_back("short");
    for (auto job = calls.wait(0); job; job = calls.wait(0)) {
      calls.finish(*job, job->procedure + " did " + job->arguments);
    }
  });
  nodes.scheduler.run();
  EXPECT_EQ(seen, (std::vector<std::string>{"one too many: too many calls waiting", "short", "slow: slow did arguments",
                                            "quick: quick did arguments"}));
}

/// The asking side loses its connection and asks again, and what it asked before is answered then: before or after the
/// service hears of the new session.
TEST(Service, ALateAnswerIsTakenForNoOther) {
  for (const bool after : {false, true}) {
    CallQueue calls(2);
    SimNodes nodes(1, &calls);
    std::vector<CallQueue::Job> jobs;
    nodes.between = [&] {
      if (auto job = calls.wait(0)) jobs.push_back(std::move(*job));
    };
    TestNode& node = nodes.node(0);
    AskOutcome first{};
    nodes.scheduler.spawn([&] {
      first = node.ask(1, Call{.procedure = "first"}).outcome();
      EXPECT_EQ(node.answer(1, Call{.procedure = "second"}).result, "second's");
      EXPECT_EQ(node.answer(1, Control{.bytes = "a"}).bytes, "0 says a");
    });
    nodes.scheduler.spawn([&] {
      while (jobs.empty()) nodes.scheduler.yield();
      node.endpoint().disconnect(*node.peers().find(1));
      while (first == AskOutcome::kOpen || (after && jobs.size() < 2)) nodes.scheduler.yield();
      calls.finish(jobs[0], "first's");
      while (jobs.size() < 2) nodes.scheduler.yield();
      calls.finish(jobs[1], "second's");
    });
    nodes.scheduler.run();
    EXPECT_EQ(first, AskOutcome::kBroken);
  }
}

TEST(Service, ANodeThatEndsBreaksWhatWasAskedAndItsNextLifeAnswers) {
  for (const std::uint64_t seed : tests::seeds(3)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CallQueue calls(2);
    SimNodes nodes(seed, &calls);
    AskOutcome outcome{};
    nodes.scheduler.spawn([&] { outcome = nodes.node(0).ask(1, Call{.procedure = "p"}).outcome(); });
    nodes.scheduler.spawn([&] {
      while (!calls.wait(0)) nodes.scheduler.yield();
      nodes.crash(1);
    });
    nodes.scheduler.run();
    EXPECT_EQ(outcome, AskOutcome::kBroken);
    nodes.begin(1, 2);
    nodes.pass(200'000);
    EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
    EXPECT_EQ(nodes.node(1).answer(0, Control{.bytes = "b"}).bytes, "1 says b");
  }
}

TEST(Service, AnAskingNodeBeginsAnew) {
  for (const std::uint64_t seed : tests::seeds(3)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimNodes nodes(seed);
    for (rdma::Generation life = 2; life < 5; ++life) {
      EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
      nodes.crash(0);
      nodes.begin(0, life);
    }
    EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
  }
}

/// Its first question would be thrown away, and nobody asks again before it has timed out.
TEST(Service, AnAskingNodeThatBeginsAnewIsWorthAFewAttempts) {
  for (const unsigned failures : {1u, 2u, 3u}) {
    SCOPED_TRACE(testing::Message() << failures << " failures");
    SimNodes nodes(1);
    EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
    nodes.crash(0);
    nodes.begin(0, 2);
    nodes.node(1).service_endpoint().failures = failures;
    const AskOutcome outcome = nodes.node(0).ask(1, Control{.bytes = "b"}).outcome();
    EXPECT_EQ(outcome, failures < 3 ? AskOutcome::kAnswered : AskOutcome::kTimedOut);
  }
}

/// An answer to a question of the connection before must not pass for one to a new question.
TEST(Service, LostConnectionsLoseQuestionsNotOrder) {
  for (const std::uint64_t seed : tests::seeds(20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimNodes nodes(seed);
    base::Random random(seed);
    nodes.between = [&] {
      if (random.below(100) == 0) nodes.network.lose_connections(0, 1);
    };
    int answered = 0;
    for (int i = 0; i < 100; ++i) {
      const std::string text = std::to_string(i);
      const QuestionOf<Control> question = nodes.node(0).ask(1, Control{.bytes = text});
      if (question.outcome() != AskOutcome::kAnswered) continue;
      ++answered;
      ASSERT_EQ(question.answer().bytes, "0 says " + text);
    }
    EXPECT_GT(answered, 10);
  }
}

/// A worker of node 0 that sends what it likes.
class Stranger {
 public:
  explicit Stranger(SimNodes& nodes) : nodes_(nodes) {
    TestNode& node = nodes.node(0);
    const MailboxLayout layout = small_layout();
    EXPECT_TRUE(node.peers().connect(1, 0).ok());
    const rdma::ConnectionId connection = *node.peers().find(1);
    sender_.emplace(node.endpoint(), connection,
                    rdma::mailbox::SenderPlace{.ring = {.node = 1,
                                                        .region = kMailRegion,
                                                        .generation = node.endpoint().peer_generation(connection),
                                                        .offset = layout.request_ring(0, /*worker=*/1)},
                                               .ring_bytes = layout.ring_bytes,
                                               .most_bytes = layout.most_bytes,
                                               .staging = node.mail().base() + layout.request_staging(1, 1),
                                               .tag = kTag});
    receiver_.emplace(node.mail().base() + layout.answer_ring(1, 1), layout.ring_bytes, layout.most_bytes);
    node.on_completion = [this](const rdma::Completion& completion) {
      if (completion.tag == kTag) sender_->completed(completion);
    };
  }
  ~Stranger() { nodes_.node(0).on_completion = {}; }

  void say(const std::string& message) {
    while (sender_->send(message) == rdma::mailbox::SendResult::kFull) work();
    for (int i = 0; i < 100; ++i) work();
  }
  /// Sends in the background, whenever it is called.
  void go_on() {
    if (sender_->idle()) {
      EXPECT_EQ(sender_->send("something"), rdma::mailbox::SendResult::kTaken);
    }
    sender_->step();
  }
  /// A request with a header as Rpc makes it.
  void request(const std::string& body) {
    const std::uint64_t header[] = {1, ++calls_};
    say(std::string(reinterpret_cast<const char*>(header), sizeof header) + body);
  }
  /// The last answer.
  const std::string& heard() const { return heard_; }

 private:
  static constexpr std::uint64_t kTag = (std::uint64_t{1} << 40) + 1;  // no messenger's

  void work() {
    nodes_.pass(10);
    sender_->step();
    if (const auto answer = receiver_->poll()) heard_ = *answer;
  }

  SimNodes& nodes_;
  std::string heard_;
  std::optional<rdma::mailbox::Sender> sender_;
  std::optional<rdma::mailbox::Receiver> receiver_;
  std::uint64_t calls_ = 0;
};

TEST(Service, WhoTalksNonsenseIsCutOffAndTheOthersGoOn) {
  const std::string sound = encode_request(FindRecord{.table = 1, .key = "key"});
  std::string damaged = sound;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  const std::string no_place = encode(RequestType::kFindRecord, ControlAnswer{.bytes = "another body"});
  for (const std::string& nonsense : {std::string(), std::string("short"), damaged, no_place}) {
    SimNodes nodes;
    nodes.begin(2, 1);
    const ServiceCounts& counts = nodes.node(1).service().counts();
    {
      Stranger stranger(nodes);
      stranger.request(sound);
      EXPECT_EQ(counts.requests, 1u);
      EXPECT_EQ(counts.cut_off, 0u);
      stranger.request(nonsense);
      EXPECT_EQ(counts.cut_off, 1u);
      const std::uint64_t requests = counts.requests;
      stranger.request(sound);
      EXPECT_EQ(counts.requests, requests) << "nobody listens any more";
    }
    EXPECT_EQ(nodes.node(2).answer(1, Control{.bytes = "a"}).bytes, "2 says a");
    EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a") << "its other worker";
    Stranger again(nodes);
    again.request(sound);
    EXPECT_GT(counts.requests, 3u) << "it has connected anew";
    EXPECT_EQ(counts.cut_off, 1u);
  }
}

/// Puts a message into the ring of a mailbox, where the receiver looks next.
void plant(char* ring, const MailboxLayout& layout, std::uint16_t wrong_session, std::string_view message) {
  using namespace rdma::mailbox;
  std::uint64_t word = 0;
  std::memcpy(&word, ring + kConsumedOffset, sizeof word);
  const Consumed consumed = Consumed::unpack(word);
  char* const at = ring + kDataOffset + consumed.position % ring_capacity(layout.ring_bytes);
  std::memcpy(at + sizeof word, message.data(), message.size());
  word = Seal{.session = static_cast<std::uint16_t>(consumed.session + wrong_session),
              .last = true,
              .bytes = static_cast<std::uint32_t>(message.size())}
             .pack();
  std::memcpy(at, &word, sizeof word);
}

/// A message was damaged on its way, so the service hears nothing of that worker any more until its next session.
TEST(Service, AWorkerThatWasCutOffIsHeardAgainAfterAWhile) {
  SimNodes nodes;
  ASSERT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
  TestNode& owner = nodes.node(1);
  plant(owner.mail().base() + owner.layout().request_ring(0, 0), owner.layout(), 0, "damaged");
  nodes.pass(1000);
  EXPECT_EQ(owner.service().counts().cut_off, 1u);
  unsigned silent = 0;
  for (; silent < 10 && nodes.node(0).ask(1, Control{.bytes = "b"}).outcome() == AskOutcome::kTimedOut; ++silent) {
  }
  EXPECT_GE(silent, 4u) << "a question takes half a second; short questions to a busy node must not end its session";
  EXPECT_LE(silent, 5u);
  EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "c"}).bytes, "0 says c");
}

TEST(Service, AWorkerWhoseAnswersHaveBecomeUnreadableIsAnsweredAgain) {
  SimNodes nodes;
  ASSERT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
  TestNode& asker = nodes.node(0);
  plant(asker.mail().base() + asker.layout().answer_ring(0, 1), asker.layout(), 1, "damaged");
  EXPECT_EQ(asker.answer(1, Control{.bytes = "b"}).bytes, "0 says b");
}

/// The connection is that of all workers of the node.
TEST(Service, WhoIsCutOffLeavesTheConnectionToTheOthers) {
  SimNodes nodes;
  EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "a"}).bytes, "0 says a");
  const std::uint64_t connected = nodes.node(1).service().counts().connected;
  Stranger stranger(nodes);
  stranger.request("nonsense");
  EXPECT_EQ(nodes.node(1).service().counts().cut_off, 1u);
  EXPECT_EQ(nodes.node(0).answer(1, Control{.bytes = "b"}).bytes, "0 says b");
  EXPECT_EQ(nodes.node(1).service().counts().connected, connected + 1) << "the stranger's only";
}

/// The service has one thread: while it tries to connect to a node that has died, nobody is answered.
TEST(Service, ADeadNodeIsTriedForOneOfItsWorkersOnly) {
  SimNodes nodes;
  constexpr unsigned kMany = 100;
  unsigned& failures = nodes.node(1).service_endpoint().failures;
  failures = kMany;
  Stranger stranger(nodes);
  nodes.resting = 1;
  nodes.between = [&, turns = 0]() mutable {
    stranger.go_on();
    if (++turns == 100) nodes.resting.reset();  // both have taken a session by then
    if (turns > 100 && failures != kMany) nodes.resting = 1;
  };
  EXPECT_EQ(nodes.node(0).ask(1, Control{.bytes = "a"}).outcome(), AskOutcome::kTimedOut);
  EXPECT_EQ(failures, kMany - 3);
}

TEST(Service, WhatIsNoRequestAtAllIsNonsenseToo) {
  SimNodes nodes;
  Stranger stranger(nodes);
  stranger.say("neither request nor answer");
  EXPECT_EQ(nodes.node(1).service().counts().cut_off, 1u);
}

TEST(Service, LaterKindsAndVersionsAreRefused) {
  SimNodes nodes;
  Stranger stranger(nodes);
  const auto status = [&](const std::string& request) {
    stranger.request(request);
    Frame frame;
    EXPECT_TRUE(open_frame(std::string_view(stranger.heard()).substr(rdma::mailbox::Rpc::kHeaderBytes), frame));
    return frame.status;
  };
  EXPECT_EQ(status(refusal(static_cast<RequestType>(99), ReplyStatus::kDone)), ReplyStatus::kUnknownType);
  std::string later = encode_request(Describe{});
  later[4] = kVersion + 1;
  const std::uint32_t sum = base::crc32c(0, later.data() + 4, later.size() - 4);
  std::memcpy(later.data(), &sum, sizeof sum);
  EXPECT_EQ(status(later), ReplyStatus::kOtherVersion);
  EXPECT_EQ(nodes.node(1).service().counts().cut_off, 0u);
}

}  // namespace
}  // namespace granary::cluster::messages
