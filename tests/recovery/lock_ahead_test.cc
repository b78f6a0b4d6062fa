// The lock-ahead record: what its writer names, its reader finds, whenever the process ends, and whatever the bytes
// are. What transactions name is for tests/cluster/transaction/lock_ahead_test.cc, and for
// tests/node/held_by_dead_test.cc.

#include "recovery/lock_ahead.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/record/state_word.h"
#include "tests/support/crash_child.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"
#include "tests/support/temporary_directory.h"

namespace granary::recovery {
namespace {

using log::LockAheadArea;
using log::NamedLock;
using log::NamedLocks;

constexpr record::TidWord kTid = record::make_tid(7, 1);

std::uint64_t word(std::uint32_t sequence) {
  return record::x_lock_word({.node = 1, .generation = 2, .worker = 3, .sequence = sequence});
}

/// An area of a ring that is not there.
class Area {
 public:
  explicit Area(std::uint64_t slots) : bytes_(slots * kSlotBytes / sizeof(std::uint64_t)), ahead_(data(), slots) {}

  LockAheadArea& ahead() { return ahead_; }
  std::string_view view() { return {data(), bytes_.size() * sizeof(std::uint64_t)}; }
  char* data() { return reinterpret_cast<char*>(bytes_.data()); }
  Result<std::vector<UnfinishedTransaction>> read(std::uint64_t tail = 0) {
    return read_lock_ahead(view(), ahead_.slots(), tail);
  }

  static constexpr std::uint64_t kSlotBytes = sizeof(log::SlotHeader) + log::kLockBlockBytes;

 private:
  std::vector<std::uint64_t> bytes_;
  LockAheadArea ahead_;
};

bool name(NamedLocks& record, const NamedLock& lock) {
  if (!record.reserve(log::named_bytes(lock.key.size()))) return false;
  record.add(lock);
  record.publish();
  return true;
}

std::vector<std::uint64_t> words(const std::vector<UnfinishedTransaction>& found) {
  std::vector<std::uint64_t> all;
  for (const UnfinishedTransaction& one : found) {
    for (const NamedLock& lock : one.locks) all.push_back(lock.word);
  }
  return all;
}

TEST(LockAhead, WhatIsNamedIsFoundUntilItIsComplete) {
  Area area(8);
  NamedLocks first(&area.ahead()), second(&area.ahead());
  ASSERT_TRUE(name(first, {word(1), 2, 17, "key"}) && name(second, {word(2), 3, 0, ""}) &&
              name(first, {word(3), 4, 5, "another key"}));
  auto found = area.read();
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(words(*found), (std::vector{word(1), word(3), word(2)}));
  const NamedLock& lock = found->front().locks.front();
  EXPECT_EQ(lock.node, 2u);
  EXPECT_EQ(lock.table, 17u);
  EXPECT_EQ(lock.key, "key");
  EXPECT_EQ(found->front().locks.back().key, "another key");
  EXPECT_EQ(found->back().locks.front().key, "");
  first.complete();
  EXPECT_EQ(words(*area.read()), std::vector{word(2)});
  EXPECT_FALSE(area.ahead().empty());
  second.complete();
  EXPECT_TRUE(area.read()->empty());
  EXPECT_TRUE(area.ahead().empty());
}

TEST(LockAhead, IsDecidedOnceTheRingHoldsTheEntry) {
  Area area(8);
  NamedLocks record(&area.ahead());
  ASSERT_TRUE(name(record, {word(1), 2, 0, "key"}));
  const auto decided = [&](std::uint64_t tail) { return area.read(tail)->front().tid; };
  EXPECT_FALSE(decided(~std::uint64_t{0}));
  record.announce_decision(kTid, 96);
  EXPECT_FALSE(decided(95));
  EXPECT_EQ(decided(96), kTid);
  EXPECT_EQ(decided(1000), kTid);
  record.take_back_announcement();
  EXPECT_FALSE(decided(1000));
  record.announce_decision(kTid, 2000);
  record.complete();
  ASSERT_TRUE(name(record, {word(2), 2, 0, "key"}));
  EXPECT_FALSE(decided(2000)) << "another transaction's decision in the same block";
}

TEST(LockAhead, LocksThatNeedMoreBlocksAreOneTransactionsAllTheSame) {
  Area area(16);
  const std::string long_key(3000, 'k');
  NamedLocks record(&area.ahead());
  ASSERT_TRUE(name(record, {word(1), 2, 0, "key"}) && name(record, {word(2), 2, 0, long_key}) &&
              name(record, {word(3), 2, 0, "key"}));
  record.announce_decision(kTid, 8);
  const auto found = area.read(8);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(words(*found), (std::vector{word(1), word(2), word(3)}));
  EXPECT_EQ(found->back().locks.front().key, long_key);
  for (const UnfinishedTransaction& part : *found) EXPECT_EQ(part.tid, kTid);
}

TEST(LockAhead, WithoutRoomNothingIsNamed) {
  Area area(4);
  NamedLocks small(&area.ahead()), large(&area.ahead());
  ASSERT_TRUE(name(small, {word(1), 2, 0, "key"}));
  EXPECT_FALSE(large.reserve(4 * log::kLockBlockBytes));
  ASSERT_TRUE(large.reserve(3 * log::kLockBlockBytes));
  EXPECT_FALSE(small.reserve(log::kLockBlockBytes));
  EXPECT_EQ(words(*area.read()), std::vector{word(1)});
  small.complete();
  large.complete();
  EXPECT_TRUE(large.reserve(4 * log::kLockBlockBytes));
}

TEST(LockAhead, TheLocksOfARecordThatHasEndedStay) {
  Area area(4);
  {
    NamedLocks record(&area.ahead());
    ASSERT_TRUE(name(record, {word(1), 2, 0, "key"}));
    NamedLocks other(std::move(record));
  }
  EXPECT_EQ(words(*area.read()), std::vector{word(1)});
}

/// Transactions that come, lock more, are decided and end, in any order.
TEST(LockAhead, RandomTransactionsAreFoundExactly) {
  for (const std::uint64_t seed : tests::seeds(tests::scaled(20))) {
    base::Random random(seed, 1);
    Area area(64);
    std::map<unsigned, NamedLocks> open;
    std::map<unsigned, std::vector<std::uint64_t>> expected;
    std::uint32_t sequence = 0;
    for (int turn = 0; turn < 300; ++turn) {
      const auto which = static_cast<unsigned>(random.below(6));
      NamedLocks& record = open.try_emplace(which, &area.ahead()).first->second;
      if (random.chance(0.3)) {
        record.complete();
        expected.erase(which);
      } else if (name(record, {word(++sequence), which, 0, std::string(random.below(900), 'k')})) {
        expected[which].push_back(word(sequence));
      }
      const auto found = area.read();
      ASSERT_TRUE(found.ok()) << "seed " << seed << ": " << found.status().message();
      std::map<unsigned, std::vector<std::uint64_t>> by_node;
      for (const UnfinishedTransaction& one : *found) {
        for (const NamedLock& lock : one.locks) by_node[lock.node].push_back(lock.word);
      }
      for (auto& [node, all] : by_node) std::sort(all.begin(), all.end());
      ASSERT_EQ(by_node, expected) << "seed " << seed;
    }
  }
}

/// A process that is killed anywhere leaves whole locks: key and word say the same.
TEST(LockAhead, WhateverIsFoundOfAKilledProcessIsWhole) {
  for (std::uint64_t round = 0; round < tests::scaled(30); ++round) {
    const tests::TemporaryDirectory directory;
    const std::string path = directory / "ring-0000";
    tests::CrashChild child([&](const tests::CrashChild::Report& report) {
      const log::Ring::Identity identity{
          .database = {}, .generation = 1, .worker = 0, .version = log::kClusterFormatVersion};
      auto ring = std::move(*log::Ring::create(path, identity, 4096));
      report("runs");
      for (std::uint32_t sequence = 1;; ++sequence) {
        NamedLocks record(ring->lock_ahead());
        for (std::uint32_t i = 0; i < sequence % 20; ++i) {
          const std::string key(8 + 40 * (i % 3), static_cast<char>('a' + sequence % 26));
          if (!name(record, {word(sequence), sequence, sequence, key})) return;
        }
        record.announce_decision(record::make_tid(sequence, 1), 8);
        record.complete();
      }
    });
    ASSERT_TRUE(child.run_until("runs"));
    child.run_for(std::chrono::microseconds(round * 100));
    child.kill();
    const auto ring = log::Ring::open(path, {});
    ASSERT_TRUE(ring.ok()) << ring.status().message();
    const auto found = read_lock_ahead(**ring);
    ASSERT_TRUE(found.ok()) << found.status().message();
    for (const UnfinishedTransaction& one : *found) {
      for (const NamedLock& lock : one.locks) {
        const std::uint32_t sequence = lock.node;
        EXPECT_EQ(lock.word, word(sequence));
        EXPECT_EQ(lock.table, sequence);
        EXPECT_EQ(lock.word, one.locks.front().word) << "two transactions in one";
        EXPECT_EQ(lock.key.find_first_not_of(static_cast<char>('a' + sequence % 26)), std::string_view::npos);
      }
    }
  }
}

bool same(const std::vector<UnfinishedTransaction>& some, const std::vector<UnfinishedTransaction>& others) {
  const auto same_lock = [](const NamedLock& a, const NamedLock& b) {
    return a.word == b.word && a.node == b.node && a.table == b.table && a.key == b.key &&
           a.state_offset == b.state_offset;
  };
  return std::equal(some.begin(), some.end(), others.begin(), others.end(), [&](const auto& a, const auto& b) {
    return a.tid == b.tid && std::equal(a.locks.begin(), a.locks.end(), b.locks.begin(), b.locks.end(), same_lock);
  });
}

/// Recovery writes to other nodes by what it finds. So a changed bit is refused, unless it stands where nothing counts.
TEST(LockAhead, EveryChangedBitThatCountsIsRefused) {
  Area area(4);
  NamedLocks first(&area.ahead()), second(&area.ahead());
  const std::string long_key(700, 'k');
  ASSERT_TRUE(name(first, {word(1), 2, 17, "a key"}) && name(second, {word(2), 3, 0, long_key}));
  first.announce_decision(kTid, 8);
  const std::string good(area.view());
  const auto whole = area.read(8);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  // The header of the decided slot, the words `named` and `log_end` of the undecided one, `named` of the two that are
  // empty, and the locks.
  const std::size_t counting = sizeof(log::SlotHeader) + 16 + 8 + 8 + log::named_bytes(5) + log::named_bytes(700);
  unsigned refused = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      const auto memory = std::make_unique<char[]>(good.size());  // of exactly this size, for AddressSanitizer
      std::memcpy(memory.get(), good.data(), good.size());
      memory[at] = static_cast<char>(memory[at] ^ (1 << bit));
      const auto found = read_lock_ahead({memory.get(), good.size()}, 4, 8);
      if (found.ok()) {
        EXPECT_TRUE(same(*found, *whole)) << "byte " << at << ", bit " << bit;
        continue;
      }
      ++refused;
      EXPECT_EQ(found.status().code(), StatusCode::kDamaged);
      EXPECT_THAT(found.status().message(), testing::HasSubstr("of the lock-ahead record: "));
    }
  }
  EXPECT_EQ(refused, 8 * counting);
}

}  // namespace
}  // namespace granary::recovery
