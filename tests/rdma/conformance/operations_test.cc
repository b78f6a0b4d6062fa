// What operations do, in which order, and how they complete.

#include <algorithm>
#include <numeric>

#include "tests/rdma/conformance/suite.h"

namespace granary::rdma::conformance {
namespace {

TEST_F(Conformance, TellsThePeersLifeAndRegions) {
  EXPECT_EQ(endpoint_->peer_generation(connection_), kPeerLife.generation);
  EXPECT_EQ(endpoint_->peer_region_bytes(connection_, kPeerRegion), kPeerBytes);
  EXPECT_EQ(endpoint_->peer_region_bytes(connection_, kPeerRegion + 1), 0u);
  EXPECT_TRUE(endpoint_->status(connection_).ok());
}

TEST_F(Conformance, ReadsWhatWasWrittenAtEverySize) {
  for (const std::uint32_t bytes : {8u, 40u, 64u, 72u, 4096u, 1u << 20}) {
    const std::size_t words = bytes / 8;
    std::iota(word(0), word(words), std::uint64_t{bytes});
    ASSERT_TRUE(run({Operation::write(at(256), word(0), bytes)}));
    std::fill(word(0), word(2 * words + 1), 0);
    ASSERT_TRUE(run({Operation::read(word(words), at(256), bytes)}));
    for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(*word(words + i), bytes + i) << "of " << bytes;
    EXPECT_EQ(*word(words - 1), 0u);
    EXPECT_EQ(*word(2 * words), 0u);
  }
  EXPECT_EQ(remote_word(248), 0u);
  EXPECT_EQ(remote_word(256 + (1u << 20)), 0u);
}

TEST_F(Conformance, ReachesTheLastWordOfTheRegion) {
  *word(1) = 9;
  ASSERT_TRUE(run({Operation::write(at(kPeerBytes - 8), word(1), 8)}));
  EXPECT_EQ(remote_word(kPeerBytes - 8), 9u);
}

TEST_F(Conformance, AWriteOfOneByteChangesThatByteAlone) {
  *word(1) = ~std::uint64_t{0};
  ASSERT_TRUE(run({Operation::write(at(64), word(1), 8)}));
  auto* const byte = reinterpret_cast<std::uint8_t*>(word(2)) + 5;
  *byte = 0x21;
  ASSERT_TRUE(run({Operation::write_byte(at(64 + 3), byte)}));
  EXPECT_EQ(remote_word(64), 0xffffffff21ffffffu);
  EXPECT_EQ(remote_word(56), 0u);
  EXPECT_EQ(remote_word(72), 0u);
}

TEST_F(Conformance, CompareSwapTellsTheOldValueAndWritesOnlyIfItIsTheExpectedOne) {
  ASSERT_TRUE(run({Operation::compare_swap(at(64), 0, 11, word(1))}));
  EXPECT_EQ(*word(1), 0u);
  ASSERT_TRUE(run({Operation::compare_swap(at(64), 0, 22, word(1))}));
  EXPECT_EQ(*word(1), 11u);
  EXPECT_EQ(remote_word(64), 11u);
}

TEST_F(Conformance, FetchAddTellsTheOldValue) {
  ASSERT_TRUE(
      run({Operation::fetch_add(at(64), 5, word(1)), Operation::fetch_add(at(64), ~std::uint64_t{0}, word(2))}));
  EXPECT_EQ(*word(1), 0u);
  EXPECT_EQ(*word(2), 5u);
  EXPECT_EQ(remote_word(64), 4u);
}

TEST_F(Conformance, AtomicsOfTwoEndpointsLoseNothing) {
  const auto other = open_endpoint();
  const ConnectionId second = connect(*other);
  const Rounds rounds(*world_);
  for (std::uint64_t i = 0; rounds.more(i); ++i) {
    const Operation mine = Operation::fetch_add(at(128), 1, word(1));
    const Operation theirs = Operation::fetch_add(at(128), 1, word(2));
    ASSERT_EQ(endpoint_->post(connection_, {&mine, 1}, Signal::kYes, i), PostResult::kPosted);
    ASSERT_EQ(other->post(second, {&theirs, 1}, Signal::kYes, i), PostResult::kPosted);
    ASSERT_TRUE(next(*endpoint_));
    ASSERT_TRUE(next(*other));
    EXPECT_EQ(std::min(*word(1), *word(2)), 2 * i);
    EXPECT_EQ(std::max(*word(1), *word(2)), 2 * i + 1);
  }
}

TEST_F(Conformance, AReadSeesTheCompareSwapBeforeIt) {
  const Rounds rounds(*world_);
  for (std::uint64_t i = 0; rounds.more(i); ++i) {
    ASSERT_TRUE(run({Operation::compare_swap(at(0), i, i + 1, word(1)), Operation::read(word(2), at(0), 8)}));
    ASSERT_EQ(*word(1), i);
    ASSERT_EQ(*word(2), i + 1);
  }
}

TEST_F(Conformance, AReadSeesTheWriteBeforeItAndTheLastWriteStays) {
  const Rounds rounds(*world_);
  for (std::uint64_t i = 0; rounds.more(i); ++i) {
    *word(1) = 2 * i;
    *word(2) = 2 * i + 1;
    ASSERT_TRUE(run({Operation::write(at(0), word(1), 8), Operation::write(at(0), word(2), 8),
                     Operation::read(word(3), at(0), 8)}));
    ASSERT_EQ(*word(3), 2 * i + 1);
  }
}

TEST_F(Conformance, TheOrderHoldsFromChainToChain) {
  const Rounds rounds(*world_);
  for (std::uint64_t i = 1; rounds.more(i); ++i) {
    *word(1) = i;
    const Operation write = Operation::write(at(0), word(1), 8);
    const Operation read = Operation::read(word(2), at(0), 8);
    ASSERT_EQ(endpoint_->post(connection_, {&write, 1}, Signal::kNo, 0), PostResult::kPosted);
    ASSERT_EQ(endpoint_->post(connection_, {&read, 1}, Signal::kYes, i), PostResult::kPosted);
    const auto completion = next(*endpoint_);
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->tag, i) << "unsignalled chains are not reported";
    ASSERT_EQ(*word(2), i);
  }
}

TEST_F(Conformance, AFencedWriteDoesNotOvertakeAReadOrAnAtomic) {
  const Rounds rounds(*world_);
  for (std::uint64_t i = 0; rounds.more(i); ++i) {
    *word(1) = i + 1;
    ASSERT_TRUE(run({Operation::read(word(2), at(0), 8), Operation::fetch_add(at(0), 0, word(3)),
                     Operation::write(at(0), word(1), 8, /*fenced=*/true)}));
    ASSERT_EQ(*word(2), i);
    ASSERT_EQ(*word(3), i);
  }
}

TEST_F(Conformance, AWriteIsVisibleBeforeTheNextOne) {
  const auto observer = open_endpoint();
  const ConnectionId seen_by = connect(*observer);
  constexpr std::uint64_t kBlock = 256;  // the flag lies behind it
  const Rounds rounds(*world_);
  for (std::uint64_t i = 1; rounds.more(i); ++i) {
    std::fill(word(0), word(kBlock / 8), i);
    *word(100) = i;
    const Operation writes[] = {Operation::write(at(0), word(0), kBlock), Operation::write(at(4096), word(100), 8)};
    ASSERT_EQ(endpoint_->post(connection_, writes, Signal::kYes, i), PostResult::kPosted);
    for (const std::uint64_t end = world_->now_us() + kPatience_us; *word(200) != i;) {
      ASSERT_LT(world_->now_us(), end);
      const Operation flag = Operation::read(word(200), at(4096), 8);
      ASSERT_EQ(observer->post(seen_by, {&flag, 1}, Signal::kYes, 0), PostResult::kPosted);
      ASSERT_TRUE(next(*observer));
    }
    const Operation block = Operation::read(word(300), at(0), kBlock);
    ASSERT_EQ(observer->post(seen_by, {&block, 1}, Signal::kYes, 0), PostResult::kPosted);
    ASSERT_TRUE(next(*observer));
    ASSERT_EQ(std::count(word(300), word(300 + kBlock / 8), i), static_cast<std::ptrdiff_t>(kBlock / 8));
    ASSERT_TRUE(next(*endpoint_));
  }
}

TEST_F(Conformance, AReadWithinALineLoadsLowerWordsNoLaterThanHigherOnes) {
  const auto writer = open_endpoint();
  const ConnectionId writes = connect(*writer);
  const Rounds rounds(*world_);
  for (std::uint64_t i = 1; rounds.more(i); ++i) {
    *word(100) = i;
    const Operation downwards[] = {Operation::write(at(56), word(100), 8), Operation::write(at(0), word(100), 8)};
    ASSERT_EQ(writer->post(writes, downwards, Signal::kYes, i), PostResult::kPosted);
    std::vector<Operation> looks;
    for (std::size_t look = 0; look < 8; ++look) looks.push_back(Operation::read(word(8 * look), at(0), 64));
    ASSERT_TRUE(run(looks));
    for (std::size_t look = 0; look < 8; ++look) ASSERT_LE(*word(8 * look), *word(8 * look + 7));
    ASSERT_TRUE(next(*writer));
  }
}

TEST_F(Conformance, CompletionsComeInTheOrderPosted) {
  const std::uint64_t chains = endpoint_->limits().outstanding / 2;
  for (std::uint64_t i = 0; i < chains; ++i) {
    const Operation chain[] = {Operation::read(word(8 * i), at(0), 64), Operation::read(word(8 * i), at(0), 8)};
    ASSERT_EQ(endpoint_->post(connection_, chain, Signal::kYes, i), PostResult::kPosted);
  }
  for (std::uint64_t i = 0; i < chains; ++i) {
    const auto completion = next(*endpoint_);
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->tag, i);
    EXPECT_EQ(completion->connection, connection_);
    EXPECT_EQ(completion->status, CompletionStatus::kDone);
  }
  Completion more;
  EXPECT_EQ(endpoint_->poll({&more, 1}), 0u);
}

TEST_F(Conformance, APostThatDoesNotFitChangesNothingAndFitsAfterPolling) {
  const std::vector<Operation> chain(2, Operation::fetch_add(at(0), 1, word(1)));
  std::uint64_t posted = 0;
  while (endpoint_->post(connection_, chain, Signal::kYes, posted) == PostResult::kPosted) ++posted;
  EXPECT_EQ(posted, endpoint_->limits().outstanding / 2);
  EXPECT_EQ(endpoint_->post(connection_, chain, Signal::kYes, 0), PostResult::kFull);
  ASSERT_TRUE(next(*endpoint_));
  EXPECT_EQ(endpoint_->post(connection_, chain, Signal::kYes, posted), PostResult::kPosted);
  for (std::uint64_t i = 0; i < posted; ++i) ASSERT_TRUE(next(*endpoint_));
  EXPECT_EQ(remote_word(0), 2 * (posted + 1));
}

TEST_F(Conformance, UnsignalledChainsNeverBlockForGood) {
  const Operation add = Operation::fetch_add(at(0), 1, word(1));
  const std::uint64_t count = 3 * endpoint_->limits().outstanding;
  const std::uint64_t end = world_->now_us() + kPatience_us;
  for (std::uint64_t i = 0; i < count && world_->now_us() < end;) {
    const PostResult result = endpoint_->post(connection_, {&add, 1}, Signal::kNo, 0);
    if (result == PostResult::kPosted) {
      ++i;
      continue;
    }
    ASSERT_EQ(result, PostResult::kFull);
    Completion none;
    ASSERT_EQ(endpoint_->poll({&none, 1}), 0u);
    world_->advance();
  }
  while (endpoint_->post(connection_, {&add, 1}, Signal::kYes, 7) == PostResult::kFull && world_->now_us() < end) {
    Completion none;
    ASSERT_EQ(endpoint_->poll({&none, 1}), 0u);
    world_->advance();
  }
  const auto completion = next(*endpoint_);
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->tag, 7u);
  EXPECT_EQ(remote_word(0), count + 1);
}

TEST_F(Conformance, ABufferOfASmallWriteIsFreeAfterThePost) {
  const std::uint32_t bytes = std::min(endpoint_->limits().inline_bytes, 64u) / 8 * 8;
  if (bytes == 0) GTEST_SKIP() << "the provider copies no WRITEs at post";
  const Rounds rounds(*world_);
  for (std::uint64_t i = 0; rounds.more(i); ++i) {
    std::fill(word(1), word(1 + bytes / 8), i);
    const Operation write = Operation::write(at(0), word(1), bytes);
    ASSERT_EQ(endpoint_->post(connection_, {&write, 1}, Signal::kYes, 0), PostResult::kPosted);
    std::fill(word(1), word(1 + bytes / 8), ~std::uint64_t{0});
    ASSERT_TRUE(next(*endpoint_));
    ASSERT_EQ(remote_word(bytes - 8), i);
  }
}

TEST_F(Conformance, TheTargetsCpuTakesNoPart) {
  world_->stop_peer(kPeer);
  EXPECT_TRUE(run({Operation::fetch_add(at(0), 3, word(1))}));
  EXPECT_EQ(remote_word(0), 3u);
  EXPECT_TRUE(endpoint_->status(connection_).ok()) << "stopped is not dead";
  world_->resume_peer(kPeer);
}

}  // namespace
}  // namespace granary::rdma::conformance
