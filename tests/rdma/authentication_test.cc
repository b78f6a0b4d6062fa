// Proofs of a cluster key. How providers use them is tested in conformance/, shm/ and verbs/.

#include "rdma/authentication.h"

#include <gtest/gtest.h>

namespace granary::rdma {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Authentication, AProofIsOfKeySideAndAllThatWasSaid) {
  const ClusterKey key = key_of("secret");
  const Proof proof = prove(key, Side::kCaller, {bytes("a"), bytes("bc")});
  EXPECT_TRUE(equal(proof, prove(key, Side::kCaller, {bytes("a"), bytes("bc")})));
  EXPECT_FALSE(equal(proof, prove(key_of("Secret"), Side::kCaller, {bytes("a"), bytes("bc")})));
  EXPECT_FALSE(equal(proof, prove(key, Side::kAnswerer, {bytes("a"), bytes("bc")})));
  EXPECT_FALSE(equal(proof, prove(key, Side::kCaller, {bytes("ab"), bytes("c")}))) << "messages have ends";
  EXPECT_FALSE(equal(proof, prove(key, Side::kCaller, {bytes("a"), bytes("bc"), {}})));
}

TEST(Authentication, OnlyNoSecretIsNoKeyAndChallengesAreFresh) {
  EXPECT_EQ(key_of(""), ClusterKey{});
  EXPECT_NE(key_of(std::string_view("\0", 1)), ClusterKey{});
  Nonce one{}, other{};
  make_fresh(one);
  make_fresh(other);
  EXPECT_NE(one, Nonce{});
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace granary::rdma
