// Workers that answer other nodes (I34): what they answer themselves, what they leave to the service's thread, and that they wait for nothing.
// On simulated nodes: node 0 asks, node 1 has a worker that looks at its row, and a backstop that is there only when a test wants it.
// service_shm_test.cc has threads, tests/cluster/transaction/serving_test.cc workers with open transactions.

#include "src/cluster/messages/attendant.h"

#include "src/record/shared_record.h"
#include "tests/cluster/messages/sim_nodes.h"

namespace granary::cluster::messages {
namespace {

class AttendantTest : public testing::Test {
 protected:
  AttendantTest() {
    // The connections are made by the backstop.
    EXPECT_EQ(asking().answer(1, Control{.bytes = "a"}).bytes, "0 says a");
    (void)asking().answer(1, Place{.table = table(), .key = "there", .make = true});
    nodes_.backstop = false;
    attendant_ = owner().attendant(now_);
    nodes_.between = [this] { attendant_->look(Moment::kWaiting); };
  }
  ~AttendantTest() override {
    nodes_.between = [] {};
  }

  TestNode& asking() { return nodes_.node(0); }
  TestNode& owner() { return nodes_.node(1); }
  TableId table() { return owner().schema().ordered.id(); }
  std::uint64_t by_workers() { return owner().service().counts().by_workers; }
  bool roused() { return owner().bed().sleep(0); }
  std::uint64_t attended() {
    return base::load_word(reinterpret_cast<std::uint64_t*>(owner().mail().base() + small_layout().attended_word(0)));
  }
  /// The record of a key at the owner.
  record::Record& record(std::string_view key) {
    return *record::record_of(owner().schema().ordered.core()->index().find(key).value);
  }
  /// Asks about a record that is locked until the worker has looked for a while, and then for long enough that the backstop is there.
  template <typename Request>
  Ask<Request> ask_while_locked(const Request& request) {
    record::Record& held = record("there");
    const record::TidWord before = held.tid();
    EXPECT_TRUE(held.try_lock(before));
    nodes_.between = [this, &held, before, looks = 0]() mutable {
      attendant_->look(Moment::kWaiting);
      if (++looks != 1'000) return;
      EXPECT_TRUE(roused()) << "the backstop is told that something is left";
      held.store_tid(before);
      nodes_.backstop = true;
    };
    return asking().ask(1, request);
  }

  /// A card's delays, so that the time of a question is little beside a sender's patience.
  SimNodes nodes_{
      rdma::sim::SimOptions{.seed = 1, .least_delay = 500, .most_delay = 2'000, .tear = 500, .keep_trace = true}};
  const std::function<std::uint64_t()> now_ = [this] { return nodes_.network.now() / 1000; };
  std::unique_ptr<Attendant> attendant_;
};

TEST_F(AttendantTest, AnswersBriefQuestions) {
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key " + std::to_string(i);
    ASSERT_TRUE(asking().answer(1, Place{.table = table(), .key = key, .make = true}).made);
  }
  EXPECT_EQ(asking().answer(1, Scan{.table = table(), .range = {.from = "key 1", .to = "key 2"}}).entries.size(), 11u);
  EXPECT_FALSE(asking().answer(1, LendBlocks{.table = table(), .count = 2}).blocks.empty());
  (void)asking().answer(1, NoteRemoved{.table = table(), .key = "there"});
  EXPECT_EQ(by_workers(), 103u);
}

/// Its answer has no room in the ring, and so goes out in pieces.
TEST_F(AttendantTest, LeavesTheRestOfALongAnswerToTheBackstop) {
  for (int i = 0; i < 100; ++i)
    (void)asking().answer(1, Place{.table = table(), .key = "key " + std::to_string(i), .make = true});
  nodes_.between = [this, looks = 0]() mutable {
    attendant_->look(Moment::kWaiting);
    if (++looks == 1'000) nodes_.backstop = roused();
  };
  EXPECT_EQ(asking().answer(1, Scan{.table = table(), .range = {.to_infinity = true}}).entries.size(), 101u);
  EXPECT_EQ(by_workers(), 101u);
}

/// One that is longer than the ring comes in pieces.
TEST_F(AttendantTest, TakesLongQuestions) {
  const std::string key(kMaxKeyBytes, 'k');
  for (int i = 0; i < 10; ++i) EXPECT_EQ(asking().answer(1, Place{.table = table(), .key = key}).record.offset, 0u);
  EXPECT_EQ(by_workers(), 10u);
}

TEST_F(AttendantTest, LeavesTheOthersToTheBackstop) {
  nodes_.between = [this, looks = 0]() mutable {
    attendant_->look(Moment::kWaiting);
    if (++looks == 1'000) nodes_.backstop = true;
  };
  EXPECT_EQ(asking().answer(1, Control{.bytes = "b"}).bytes, "0 says b");
  EXPECT_TRUE(roused());
  EXPECT_EQ(by_workers(), 0u);
}

/// The lock may be of the worker's own transaction.
TEST_F(AttendantTest, WaitsForNoLock) {
  const auto answered = ask_while_locked(Place{.table = table(), .key = "there"});
  EXPECT_EQ(answered.outcome(), AskOutcome::kAnswered) << name(answered.verdict());
  EXPECT_EQ(by_workers(), 0u);
}

TEST_F(AttendantTest, WaitsForNoLockInAScan) {
  const auto answered = ask_while_locked(Scan{.table = table(), .range = {.to_infinity = true}});
  EXPECT_EQ(answered.outcome(), AskOutcome::kAnswered) << name(answered.verdict());
  EXPECT_EQ(by_workers(), 0u);
}

TEST_F(AttendantTest, WaitsForNoOtherNodesLock) {
  auto& state = record::shared_of(record("there")).state_word;
  base::store_word(&state, record::x_lock_word({.node = 0, .generation = 1, .worker = 0, .sequence = 1}));
  nodes_.between = [this, &state, looks = 0]() mutable {
    attendant_->look(Moment::kWaiting);
    if (++looks != 1'000) return;
    base::store_word(&state, record::kFree);
    nodes_.backstop = true;
  };
  EXPECT_EQ(asking().ask(1, Place{.table = table(), .key = "there"}).outcome(), AskOutcome::kAnswered);
  EXPECT_EQ(by_workers(), 0u);
}

TEST_F(AttendantTest, SaysThatItLooks) {
  attendant_->look_away();
  EXPECT_EQ(attended(), 0u);
  EXPECT_TRUE(attendant_->wants_to_look());
  attendant_->look(Moment::kWaiting);
  EXPECT_EQ(attended(), 1u);
  EXPECT_FALSE(attendant_->wants_to_look());
  attendant_->look_away();
  attendant_->look_away();
  EXPECT_EQ(attended(), 0u);
  attendant_->look(Moment::kWaiting);
  nodes_.between = [] {};
  attendant_.reset();
  EXPECT_EQ(attended(), 0u) << "it has ended";
}

/// What came before it looked away is answered.
TEST_F(AttendantTest, LooksOnceMoreBeforeItLooksAway) {
  attendant_->look(Moment::kWaiting);
  nodes_.between = [this, looks = 0]() mutable {
    if (++looks == 1'000) attendant_->look_away();
  };
  (void)asking().answer(1, Place{.table = table(), .key = "there"});
  EXPECT_EQ(by_workers(), 1u);
}

TEST_F(AttendantTest, TheBackstopSaysSoIfItHadToStepIn) {
  attendant_->look(Moment::kWaiting);
  nodes_.between = [] {};
  nodes_.backstop = true;
  (void)asking().answer(1, Place{.table = table(), .key = "there"});
  EXPECT_EQ(attended(), 0u);
}

TEST_F(AttendantTest, WhoIsInsideIsNotDisturbed) {
  ASSERT_NE(owner().door().enter(), nullptr);
  nodes_.between = [this, looks = 0]() mutable {
    attendant_->look(Moment::kWaiting);
    if (++looks != 1'000) return;
    EXPECT_EQ(by_workers(), 0u);
    owner().door().leave(false);
  };
  (void)asking().answer(1, Place{.table = table(), .key = "there"});
  EXPECT_EQ(by_workers(), 1u) << "it has looked again";
}

/// The connection is new, so it is the backstop's.
TEST_F(AttendantTest, LeavesANewSessionToTheBackstop) {
  nodes_.crash(0);
  nodes_.begin(0, 2);
  nodes_.between = [this, looks = 0]() mutable {
    attendant_->look(Moment::kWaiting);
    if (++looks == 1'000) nodes_.backstop = true;
  };
  (void)asking().answer(1, Place{.table = table(), .key = "there"});
  nodes_.backstop = false;
  nodes_.between = [this] { attendant_->look(Moment::kWaiting); };
  const std::uint64_t before = by_workers();
  (void)asking().answer(1, Place{.table = table(), .key = "there"});
  EXPECT_EQ(by_workers(), before + 1);
}

/// Rings of the sender, whose node asks while the backstop sleeps.
class Patience : public AttendantTest {
 protected:
  Patience() {
    attendant_->look(Moment::kWaiting);
    lie_down();
  }
  void lie_down() {
    for (rdma::mailbox::Receiver* const receiver : owner().service().receivers())
      receiver->lie_down(owner().bed().bell());
  }
  /// How often somebody was rung.
  std::size_t rings() {
    const std::string& text = nodes_.network.trace_text();
    std::size_t count = 0;
    for (std::size_t at = text.find(" rings "); at != std::string::npos; at = text.find(" rings ", at + 1)) ++count;
    return count;
  }
  /// Asks, and returns after how many microseconds the backstop was rung, and answers.
  std::uint64_t rung_after_us() {
    (void)roused();
    const std::uint64_t begin = now_();
    std::uint64_t rung = 0;
    nodes_.between = [&] {
      if (rung != 0 || !roused()) return;
      rung = now_() - begin;
      for (rdma::mailbox::Receiver* const receiver : owner().service().receivers()) receiver->get_up();
      nodes_.backstop = true;
    };
    EXPECT_EQ(asking().ask(1, Place{.table = table(), .key = "there"}).outcome(), AskOutcome::kAnswered);
    nodes_.backstop = false;
    return rung;
  }
};

TEST_F(Patience, IsOverAfterAWhile) {
  const std::uint64_t rung = rung_after_us();
  EXPECT_GE(rung, Messenger::kPatience_us);
  EXPECT_LT(rung, 4 * Messenger::kPatience_us);
}

TEST_F(Patience, NobodyHasWhereNobodyLooks) {
  attendant_->look_away();
  EXPECT_LT(rung_after_us(), Messenger::kPatience_us);
}

TEST_F(Patience, NobodyHasWithAWorkerThatIsGone) {
  attendant_.reset();
  EXPECT_LT(rung_after_us(), Messenger::kPatience_us);
}

/// After the backstop had to step in, the next one is not kept waiting, until the worker looks again.
TEST_F(Patience, IsNotTriedAgainBeforeTheWorkerLooks) {
  EXPECT_GE(rung_after_us(), Messenger::kPatience_us);
  lie_down();
  EXPECT_LT(rung_after_us(), Messenger::kPatience_us);
  lie_down();
  attendant_->look(Moment::kWaiting);
  EXPECT_GE(rung_after_us(), Messenger::kPatience_us);
}

TEST_F(Patience, NobodyIsRungWhileAWorkerAnswers) {
  const std::size_t asleep = rings();
  nodes_.between = [this] { attendant_->look(Moment::kWaiting); };
  for (int i = 0; i < 20; ++i) {
    (void)asking().answer(1, Place{.table = table(), .key = "there"});
    nodes_.pass(200);
  }
  EXPECT_EQ(by_workers(), 20u);
  EXPECT_EQ(rings(), asleep);
}

}  // namespace
}  // namespace granary::cluster::messages
