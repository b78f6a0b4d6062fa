// Questions for which the asking node has no memory: they end, and nobody else notices.

#include <new>

#include "tests/cluster/messages/sim_nodes.h"
#include "tests/support/allocations.h"

namespace granary::cluster::messages {
namespace {

constexpr rdma::NodeId kOwner = 1;

/// A question for which there is no memory, or for whose answer there is none.
class WithoutMemory final : public Question {
 public:
  enum class Lacks : std::uint8_t { kQuestion, kAnswer };

  explicit WithoutMemory(Lacks lacks) : Question(kOwner), lacks_(lacks) {}
  void encode(std::string& message) const override {
    if (lacks_ == Lacks::kQuestion) throw std::bad_alloc();
    messages::encode(type(), Control{.bytes = "go"}, message);
  }

 private:
  RequestType type() const override { return RequestType::kControl; }
  bool decode_answer(std::string_view) override { throw std::bad_alloc(); }

  const Lacks lacks_;
};

using Lacks = WithoutMemory::Lacks;

class NoMemory : public testing::Test {
 protected:
  Messenger& messenger() { return nodes_.node(0).messenger(); }

  SimNodes nodes_;
};

TEST_F(NoMemory, ForAQuestionEndsItAndTheOthersAreAnswered) {
  for (const Lacks lacks : {Lacks::kQuestion, Lacks::kAnswer}) {
    QuestionOf<Control> before(kOwner, {.bytes = "a"}), behind(kOwner, {.bytes = "b"});
    WithoutMemory question(lacks);
    messenger().ask({&before, &question, &behind});
    EXPECT_EQ(before.outcome(), AskOutcome::kAnswered);
    EXPECT_EQ(question.outcome(), AskOutcome::kNoMemory);
    EXPECT_EQ(behind.outcome(), AskOutcome::kAnswered);
  }
}

/// The messages of all fibers are taken in the turn of any of them.
TEST_F(NoMemory, ForAnAnswerIsNoOtherFibersConcern) {
  constexpr int kFibers = 4;
  int answered = 0, ended = 0;
  for (int i = 0; i < kFibers; ++i) {
    nodes_.scheduler.spawn([&] {
      QuestionOf<Control> question(kOwner, {.bytes = "go"});
      messenger().ask(question);
      answered += question.outcome() == AskOutcome::kAnswered ? 1 : 0;
    });
    nodes_.scheduler.spawn([&] {
      WithoutMemory question(Lacks::kAnswer);
      messenger().ask(question);
      ended += question.outcome() == AskOutcome::kNoMemory ? 1 : 0;
    });
  }
  nodes_.scheduler.run();
  EXPECT_EQ(answered, kFibers);
  EXPECT_EQ(ended, kFibers);
}

/// So nothing is left of the questions in the messenger, which would tell their end to whom nobody waits for.
TEST_F(NoMemory, ToNoteAQuestionLeavesAllOfThemUnasked) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  constexpr std::uint64_t kMostFailures = 3;  // with three questions, the list of them grows as often
  for (std::uint64_t fails = 1; fails <= kMostFailures; ++fails) {
    nodes_.change_worker(0);
    QuestionOf<Control> one(kOwner, {.bytes = "1"}), two(kOwner, {.bytes = "2"}), three(kOwner, {.bytes = "3"});
    tests::failing_allocation = tests::allocations + fails;
    EXPECT_THROW(messenger().ask({&one, &two, &three}), std::bad_alloc);
    tests::failing_allocation = 0;
    EXPECT_EQ(nodes_.node(0).answer(kOwner, Control{.bytes = "go"}).bytes, "0 says go");
    for (const QuestionOf<Control>* const question : {&one, &two, &three})
      EXPECT_EQ(question->outcome(), AskOutcome::kOpen);
  }
}

}  // namespace
}  // namespace granary::cluster::messages
