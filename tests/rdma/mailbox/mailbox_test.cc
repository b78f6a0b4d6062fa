// Mailboxes over the simulator, whose WRITEs tear and land in any order: messages arrive whole, in order, once, through
// rings that are smaller than they are; and never from an earlier life. Many seeds; a failure names the one to replay.

#include <gtest/gtest.h>

#include "src/base/shared_words.h"
#include "tests/rdma/mailbox/sim_mailbox.h"
#include "tests/support/seeds.h"

namespace granary::rdma::mailbox {
namespace {

constexpr int kPatience = 1'000'000;  // steps
constexpr ConnectionId kFirst = 0;

/// What the next message is; empty if none came in time.
std::string receive(MailboxPair& pair) {
  for (int i = 0; i < kPatience; ++i) {
    if (const auto got = pair.b.receiver->poll()) return std::string(*got);
    pair.step();
  }
  return {};
}

TEST(Mailbox, MessagesOfAllSizesArriveWholeAndInOrder) {
  for (const std::uint64_t seed : tests::seeds(kSeeds)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    MailboxPair pair(seed);
    constexpr std::uint64_t kMessages = 60;
    base::Random sizes(seed);
    std::vector<std::string> sent;
    for (std::uint64_t i = 0; i < kMessages; ++i)
      sent.push_back(message(i, sizes.below(i % 10 == 0 ? kMostBytes : 100)));
    std::uint64_t next = 0;
    std::uint64_t received = 0;
    for (int turn = 0; received < kMessages && turn < kPatience; ++turn) {
      while (next < kMessages && pair.a.sender->send(sent[next]) == SendResult::kTaken) ++next;
      if (pair.network.random().chance(0.3)) {
        while (const auto got = pair.b.receiver->poll()) {
          ASSERT_LT(received, next);
          ASSERT_EQ(*got, sent[received]) << "message " << received;
          ++received;
        }
      }
      pair.step();
    }
    ASSERT_EQ(received, kMessages);
    EXPECT_TRUE(pair.b.receiver->status().ok());
    EXPECT_TRUE(pair.a.sender->idle());
  }
}

TEST(Mailbox, AFullRingHoldsTheSenderBackUntilTheReceiverReads) {
  MailboxPair pair(1);
  std::uint64_t taken = 0;
  for (int i = 0; i < 10'000; ++i) {
    taken += pair.a.sender->send(message(taken, 100)) == SendResult::kTaken ? 1 : 0;
    pair.step();
    if (i < 100) (void)pair.b.receiver->poll();  // to serve the session
  }
  const std::uint64_t held = taken;
  EXPECT_LT(held, 100u);
  EXPECT_EQ(pair.a.sender->send("x"), SendResult::kFull);
  for (int i = 0; i < 10'000; ++i) {
    (void)pair.b.receiver->poll();
    pair.step();
  }
  EXPECT_EQ(pair.a.sender->send("x"), SendResult::kTaken);
}

TEST(Mailbox, AnEmptyMessageIsAMessage) {
  MailboxPair pair(1);
  ASSERT_EQ(pair.a.sender->send(""), SendResult::kTaken);
  EXPECT_EQ(receive(pair), "");
  for (int i = 0; i < 100 && !pair.a.sender->idle(); ++i) pair.step();
  ASSERT_EQ(pair.a.sender->send("next"), SendResult::kTaken);
  EXPECT_EQ(receive(pair), "next");
}

TEST(Mailbox, TooLongAMessageIsRefusedAndTheLongestIsNot) {
  MailboxPair pair(1);
  EXPECT_EQ(pair.a.sender->send(std::string(kMostBytes + 1, 'x')), SendResult::kTooLarge);
  const std::string longest = message(1, kMostBytes);
  EXPECT_EQ(pair.a.sender->send(longest), SendResult::kTaken);
  EXPECT_EQ(receive(pair), longest);
}

TEST(Mailbox, ASenderWithABrokenConnectionSaysSo) {
  MailboxPair pair(1);
  ASSERT_EQ(pair.a.sender->send("first"), SendResult::kTaken);
  EXPECT_EQ(receive(pair), "first");
  pair.network.crash(2);
  for (int i = 0; i < kPatience && !pair.a.sender->broken(); ++i) {
    (void)pair.a.sender->send("more");
    pair.network.step();
    pair.a.step();
  }
  EXPECT_EQ(pair.a.sender->send("more"), SendResult::kBroken);
}

/// The sender crashes in the middle of everything and comes back: what then arrives is of its new life only, and whole.
TEST(Mailbox, NothingOfAnEarlierLifeArrivesAfterAMessageOfTheNext) {
  for (const std::uint64_t seed : tests::seeds(kSeeds)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    MailboxPair pair(seed);
    const std::uint64_t steps = pair.network.random().below(200);
    for (std::uint64_t i = 0; i < steps; ++i) {
      (void)pair.a.sender->send(message(1, 300));
      if (pair.network.random().chance(0.1)) (void)pair.b.receiver->poll();
      pair.step();
    }
    pair.network.crash(1);
    pair.a.join(pair.network, 2);
    ASSERT_TRUE(pair.a.connect(pair.b));
    const std::string fresh = message(2, 2'000);
    ASSERT_EQ(pair.a.sender->send(fresh), SendResult::kTaken);
    bool arrived = false;
    for (int i = 0; i < 2'000; ++i) {
      if (const auto got = pair.b.receiver->poll()) {
        EXPECT_TRUE(*got == fresh || (!arrived && *got == message(1, 300)));
        arrived |= *got == fresh;
      }
      pair.step();
    }
    ASSERT_TRUE(arrived);
    ASSERT_TRUE(pair.b.receiver->status().ok()) << pair.b.receiver->status().message();
  }
}

/// A worker has gone, and the next one has its ring: there is nothing for it to do, and it is given nothing of what was
/// sent to the other one, also if the other one has taken a part of that. The sender finds room all the same.
TEST(Mailbox, ALaterReceiverOfARingTakesNothingOfTheSessionThatItFinds) {
  for (const std::uint64_t seed : tests::seeds(kSeeds)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    MailboxPair pair(seed);
    ASSERT_EQ(pair.a.sender->send("for the first"), SendResult::kTaken);
    ASSERT_EQ(receive(pair), "for the first");
    if (seed % 2 == 0) {
      ASSERT_EQ(pair.a.sender->send(message(1, kMostBytes)), SendResult::kTaken);
      for (std::uint64_t i = pair.network.random().below(200); i != 0; --i) {
        pair.step();
        (void)pair.b.receiver->poll();
      }
      pair.step();
    }
    pair.b.receiver = std::make_unique<Receiver>(pair.b.region->base(), kRingBytes, kMostBytes);
    if (seed % 2 != 0) {
      EXPECT_FALSE(pair.b.receiver->has_something());
    }
    std::uint64_t taken = 0;
    for (int i = 0; i < 20'000; ++i) {
      taken += pair.a.sender->send(message(i, 300)) == SendResult::kTaken ? 1 : 0;
      ASSERT_FALSE(pair.b.receiver->poll());
      pair.step();
    }
    EXPECT_GT(taken, 100u);
    pair.a.endpoint->disconnect(kFirst);
    for (int i = 0; i < 1'000; ++i) pair.step();  // the earlier sender hears of it
    ASSERT_TRUE(pair.a.connect(pair.b));
    ASSERT_EQ(pair.a.sender->send("for the second"), SendResult::kTaken);
    EXPECT_EQ(receive(pair), "for the second");
    EXPECT_TRUE(pair.b.receiver->status().ok()) << pair.b.receiver->status().message();
  }
}

/// A node can be reached before its service looks at the rings, and a sender does not ask for a session twice.
TEST(Mailbox, ASessionThatWasTakenBeforeThereWasAReceiverIsServed) {
  MailboxPair pair(1);
  ASSERT_EQ(pair.a.sender->send("early"), SendResult::kTaken);
  for (int i = 0; i < 2'000; ++i) pair.step();  // the session is taken, and nobody has served it
  pair.b.receiver = std::make_unique<Receiver>(pair.b.region->base(), kRingBytes, kMostBytes);
  EXPECT_TRUE(pair.b.receiver->has_something());
  EXPECT_EQ(receive(pair), "early");
}

TEST(Mailbox, WhatNoSenderWouldWriteIsAnErrorNotAMessage) {
  const Seal bad_seals[] = {
      {.session = 0, .last = true, .bytes = 1u << 31},
      {.session = 0, .last = true, .bytes = kRingBytes},
      {.session = 3, .last = true, .bytes = 8},
  };
  for (const Seal& seal : bad_seals) {
    alignas(64) char ring[kRingBytes] = {};
    Receiver receiver(ring, kRingBytes, kMostBytes);
    base::store_word(reinterpret_cast<std::uint64_t*>(ring + kDataOffset), seal.pack());
    EXPECT_FALSE(receiver.poll());
    EXPECT_FALSE(receiver.status().ok());
  }
}

TEST(Mailbox, AMessageLongerThanAgreedIsAnError) {
  alignas(64) char ring[kRingBytes] = {};
  Receiver receiver(ring, kRingBytes, /*most_bytes=*/100);
  base::store_word(reinterpret_cast<std::uint64_t*>(ring + kDataOffset), Seal{.last = true, .bytes = 101}.pack());
  EXPECT_FALSE(receiver.poll());
  EXPECT_NE(receiver.status().message().find("100"), std::string::npos);
}

}  // namespace
}  // namespace granary::rdma::mailbox
