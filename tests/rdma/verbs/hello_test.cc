// What nodes tell each other when they connect: what is no message is known as none, and what does not fit is refused.

#include "rdma/verbs/hello.h"

#include "rdma/verbs/challenges.h"

#include <gtest/gtest.h>

namespace granary::rdma::verbs {
namespace {

constexpr NodeOptions kNode{.node = 2, .generation = 3, .layout = 0xabc};

template <typename Message>
std::span<const std::byte> bytes(const Message& message, std::size_t count = sizeof(Message)) {
  return std::as_bytes(std::span(&message, 1)).first(count);
}

Request request() { return {.node = 1, .generation = 1, .endpoint = 1, .layout = 0xabc, .serial = 1, .target = 2}; }

TEST(Hello, IsReadBackAndPaddingDoesNotMatter) {
  std::array<Request, 2> padded = {request(), {}};
  EXPECT_EQ(read_request(bytes(padded))->layout, 0xabcu);
  const Answer answer{.node = 2, .generation = 7, .region_count = 1, .regions = {RegionEntry{.bytes = 64, .id = 5}}};
  EXPECT_EQ(read_answer(bytes(answer))->regions[0].bytes, 64u);
  EXPECT_EQ(read_answer(bytes(answer, kRefusalBytes + sizeof(RegionEntry)))->generation, 7u);
}

TEST(Hello, IsNotTakenFromOtherBytes) {
  Request other = request();
  EXPECT_FALSE(read_request(bytes(other, sizeof(other) - 1)));
  other.magic ^= 1;
  EXPECT_FALSE(read_request(bytes(other)));
  Answer answer{.node = 2, .region_count = 2};
  EXPECT_FALSE(read_answer(bytes(answer, kRefusalBytes - 1)));
  EXPECT_FALSE(read_answer(bytes(answer, kRefusalBytes + sizeof(RegionEntry)))) << "its second region is missing";
  answer.region_count = kMostRegions + 1;
  EXPECT_FALSE(read_answer(bytes(answer)));
  EXPECT_FALSE(read_answer({}));
}

TEST(Hello, IsJudged) {
  EXPECT_EQ(judge(request(), kNode), Refusal::kNone);
  Request other = request();
  other.version = kHelloVersion + 1;
  EXPECT_EQ(judge(other, kNode), Refusal::kVersion);
  other = request();
  other.layout = 1;
  EXPECT_EQ(judge(other, kNode), Refusal::kLayout);
  other = request();
  other.target = 9;
  EXPECT_EQ(judge(other, kNode), Refusal::kOtherNode);
}

TEST(Hello, ARefusalIsExplainedWithBothValues) {
  const struct {
    Refusal refusal;
    StatusCode code;
    std::string parts[2];
  } cases[] = {{Refusal::kVersion, StatusCode::kFailedPrecondition, {"version 8", "version 2"}},
               {Refusal::kLayout, StatusCode::kFailedPrecondition, {"0xdef", "0xabc"}},
               {Refusal::kOtherNode, StatusCode::kFailedPrecondition, {"is node 4", "node 2 at here:1"}},
               {Refusal::kTooLate, StatusCode::kFailedPrecondition, {"late", "try again"}},
               {Refusal::kKey, StatusCode::kFailedPrecondition, {"another cluster key", "node 2"}},
               {Refusal::kCutOff, StatusCode::kFailedPrecondition, {"has cut off generation", "node 2 refuses"}},
               {Refusal::kChallenge, StatusCode::kUnavailable, {"try again", "node 2"}},
               {Refusal::kResources, StatusCode::kUnavailable, {"node 2", "queue pair"}},
               {Refusal::kConnections, StatusCode::kUnavailable, {"node 2", "fewer workers"}},
               {Refusal{99}, StatusCode::kFailedPrecondition, {"does not know", "node 2"}}};
  for (const auto& [refusal, code, parts] : cases) {
    const Status status = explain({.version = 8, .node = 4, .refusal = refusal, .layout = 0xdef}, request(), "here:1");
    EXPECT_EQ(status.code(), code);
    for (const std::string& part : parts) EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

TEST(Hello, AProofIsOfTheWholeMessageAndItsChallenge) {
  const ClusterKey key = key_of("secret"), other_key = key_of("other");
  Request asked = request();
  const Nonce challenge{1};
  const Proof proof = proof_of(key, asked, challenge);
  asked.proof = proof;
  EXPECT_EQ(proof_of(key, asked, challenge), proof) << "the proof in it is no part of it";
  EXPECT_NE(proof_of(other_key, asked, challenge), proof);
  EXPECT_NE(proof_of(key, asked, Nonce{2}), proof);
  Answer answer{.node = 2, .region_count = 1, .regions = {RegionEntry{.key = 7}}};
  answer.token = proof_of(key, asked, answer);
  EXPECT_EQ(proof_of(key, asked, answer), answer.token);
  answer.regions[0].key = 8;
  EXPECT_NE(proof_of(key, asked, answer), answer.token);
  answer.regions[0].key = 7;
  asked.challenge[0] = 1;
  EXPECT_NE(proof_of(key, asked, answer), answer.token) << "an answer to another challenge";
}

TEST(Challenges, AreOfUseOnceAndForWhoeverGotThem) {
  Challenges challenges;
  const Nonce first = challenges.give(request());
  const Nonce second = challenges.give(request());
  EXPECT_NE(first, second);
  Request other = request();
  other.endpoint = 2;
  EXPECT_FALSE(challenges.take(other));
  EXPECT_EQ(challenges.take(request()), second) << "the last one given";
  EXPECT_FALSE(challenges.take(request())) << "an old answer meets no challenge";
}

TEST(Challenges, AreBounded) {
  Challenges challenges;
  Request asked = request();
  for (asked.endpoint = 1; asked.endpoint <= Challenges::kMost + 1; ++asked.endpoint) (void)challenges.give(asked);
  asked.endpoint = 1;
  EXPECT_FALSE(challenges.take(asked));
  asked.endpoint = 2;
  EXPECT_TRUE(challenges.take(asked));
}

}  // namespace
}  // namespace granary::rdma::verbs
