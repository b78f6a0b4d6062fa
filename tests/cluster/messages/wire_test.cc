// Messages as bytes: all kinds survive the way, and nothing that is damaged or made up is taken for a message. The
// decoder meets more in tests/fuzz (message_fuzz.cc).

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/cluster/messages/question.h"
#include "tests/cluster/messages/samples.h"

namespace granary::cluster::messages {
namespace {

template <typename T>
bool reads_back(const std::string& message, RequestType type, const T& value) {
  Frame frame;
  T again;
  return open_frame(message, frame) && frame.version == kVersion && frame.type == static_cast<std::uint8_t>(type) &&
         frame.status == ReplyStatus::kDone && decode(frame.body, again) && again == value;
}

TEST(Wire, EveryKindOfRequestAndAnswerSurvives) {
  for_each_sample([](const auto& request, const auto& answer) {
    EXPECT_TRUE(reads_back(encode_request(request), request.kType, request));
    EXPECT_TRUE(reads_back(encode(request.kType, answer), request.kType, answer));
  });
}

TEST(Wire, ADamagedBitIsSeen) {
  const std::string whole = encode_request(FindRecord{.table = 1, .key = "key", .make = true});
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    Frame frame;
    EXPECT_FALSE(open_frame(damaged, frame)) << "bit " << bit;
  }
}

TEST(Wire, ABodyThatEndsTooEarlyOrTooLateIsRefused) {
  for_each_sample([](const auto& request, const auto& answer) {
    const auto check = [](const auto& value) {
      std::string body;
      Writer(body).put(value);
      auto again = value;
      for (std::size_t bytes = 0; bytes < body.size(); ++bytes)
        EXPECT_FALSE(decode(std::string_view(body).substr(0, bytes), again));
      EXPECT_FALSE(decode(body + '\0', again));
    };
    check(request);
    check(answer);
  });
}

/// Lengths and counts of 2^32 − 1, and enumerators and booleans that are none.
TEST(Wire, NumbersThatCannotBeAreRefused) {
  std::string text;
  std::vector<SeenNode> nodes;
  EXPECT_FALSE(decode(std::string(4, '\xff') + "abc", text));
  EXPECT_FALSE(decode(std::string(4, '\xff') + "abc", nodes));
  EXPECT_LE(nodes.capacity(), 8u) << "memory as the bytes allow, not as the count says";
  bool flag = false;
  EXPECT_FALSE(decode("\x02", flag));
  NodeKind kind{};
  EXPECT_FALSE(decode("\x02", kind));
}

TEST(Wire, RandomBodiesDoNoHarm) {
  base::Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random.below(64), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(4) == 0 ? random.below(256) : random.below(3));
    for_each_sample([&](auto request, auto answer) {
      (void)decode(bytes, request);
      (void)decode(bytes, answer);
    });
  }
}

TEST(Question, EndsAsItsAnswerSays) {
  const auto asked = [](const std::string& message) {
    QuestionOf<FindRecord> question(1, {.key = "key"});
    question.receive(message);
    return question;
  };
  const auto answered = asked(encode(RequestType::kFindRecord, FindRecordAnswer{.made = true}));
  EXPECT_EQ(answered.outcome(), AskOutcome::kAnswered);
  EXPECT_TRUE(answered.answer().made);
  const auto refused = asked(refusal(RequestType::kFindRecord, ReplyStatus::kBusy));
  EXPECT_EQ(refused.outcome(), AskOutcome::kRefused);
  EXPECT_EQ(refused.status(), ReplyStatus::kBusy);
  EXPECT_EQ(asked(refusal(RequestType::kFindRecord, ReplyStatus::kTooLarge)).outcome(), AskOutcome::kAnswerTooLarge)
      << "what was asked for is done";
  EXPECT_EQ(how_it_ended(refused), "refused (record busy), so that nothing was done");
  EXPECT_EQ(asked("garbage").outcome(), AskOutcome::kMalformed);
  EXPECT_EQ(how_it_ended(asked("garbage")), "malformed answer");
  EXPECT_EQ(asked(encode(RequestType::kCall, CallAnswer{})).outcome(), AskOutcome::kMalformed)
      << "the answer to another kind";
  EXPECT_EQ(asked(encode(RequestType::kFindRecord, CallAnswer{"another body"})).outcome(), AskOutcome::kMalformed);
}

}  // namespace
}  // namespace granary::cluster::messages
