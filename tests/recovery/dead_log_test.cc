// What a dead node owes, by rings and segments that were made by hand. Nodes that really commit and die are in
// tests/durability/dead_node_test.cc and tests/cluster/recovery.

#include "recovery/dead_log.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/record/state_word.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"
#include "tests/support/temporary_directory.h"

namespace granary::recovery {
namespace {

using log::Debt;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::SegmentBuilder;
using tests::TestWrite;

constexpr std::uint64_t kGeneration = 3;
constexpr std::uint32_t kTables = 2;
constexpr std::uint32_t kMostValueBytes = 32;

std::uint64_t lock_word(std::uint32_t sequence) {
  return record::x_lock_word({.node = 1, .generation = 2, .worker = 3, .sequence = sequence});
}

/// "home:key=value", or "home:key-" for a removal, or "home:key" for what is freed unchanged.
std::string text_of(const Debt& debt) {
  const std::string lock = std::to_string(debt.node) + ":" + debt.key;
  if (!debt.version) return lock;
  return lock + (debt.version->removed ? "-" : "=" + debt.version->value);
}

class DeadLog : public testing::Test {
 protected:
  DeadLog() {
    EXPECT_TRUE(disk_.make_directory("/log").ok());
    manifest_.database = tests::kDatabase;
    manifest_.log_directories = {"/log"};
    manifest_.reliable_directory = directory_.path();
    manifest_.generations.push_back({.number = kGeneration, .loggers = 2, .first_epoch = 5, .cut = {}});
    for (std::uint32_t id = 0; id < kTables; ++id)
      manifest_.tables.push_back({.id = id, .name = "t", .max_value_bytes = kMostValueBytes, .base = {}});
    for (const std::uint32_t logger : {0u, 1u})
      put_segment(logger, SegmentBuilder({kGeneration, logger, 0}).marker(4, 4));
  }
  /// The first segment of a logger in the generation that was running.
  void put_segment(std::uint32_t logger, const SegmentBuilder& builder) {
    disk_.put("/log/" + log::segment_name(kGeneration, logger, 0), builder.bytes());
  }
  log::Ring& ring(std::uint32_t worker, std::uint32_t logger = 0) {
    if (const auto known = by_worker_.find(worker); known != by_worker_.end()) return *known->second;
    const log::Ring::Identity identity{.database = tests::kDatabase,
                                       .generation = kGeneration,
                                       .worker = worker,
                                       .version = log::kClusterFormatVersion,
                                       .logger = logger};
    survey_.rings.rings.push_back(log::Ring::create(directory_ / log::ring_name(worker), identity, 4096).value());
    return *by_worker_.emplace(worker, survey_.rings.rings.back().get()).first->second;
  }
  /// Names locks as a transaction does, in slots of their own.
  static void name(log::NamedLocks& record, const std::vector<log::NamedLock>& locks) {
    std::uint64_t bytes = 0;
    for (const log::NamedLock& lock : locks) bytes += log::named_bytes(lock.key.size());
    ASSERT_TRUE(record.reserve(bytes));
    for (const log::NamedLock& lock : locks) record.add(lock);
    record.publish();
  }
  static void decide(log::Ring& ring, log::NamedLocks& record, record::TidWord tid,
                     const std::vector<TestWrite>& writes) {
    const std::string entry = tests::entry_of(tid, log::EntryKind::kTransaction, tests::body_of(writes));
    record.announce_decision(tid, ring.end_after(entry.size()));
    std::copy(entry.begin(), entry.end(), ring.at_tail());
    ring.publish(entry.size());
  }
  /// One transaction that is decided, and not complete.
  void leave(log::Ring& ring, record::TidWord tid, const std::vector<log::NamedLock>& locks,
             const std::vector<TestWrite>& writes) {
    log::NamedLocks record(ring.lock_ahead());
    name(record, locks);
    decide(ring, record, tid, writes);
  }
  /// The logger has taken all that the ring had, and has synced it.
  static void drain(log::Ring& ring) {
    ring.drained(ring.undrained().size());
    ring.give_room({0, 96});
  }
  Result<std::vector<Debt>> read() {
    auto scan = scan_logs(disk_, manifest_, {});
    EXPECT_TRUE(scan.ok()) << scan.status().message();
    survey_.scan = std::move(*scan);
    return read_debts(disk_, manifest_, survey_);
  }
  std::vector<std::string> debts() {
    const auto read_all = read();
    EXPECT_TRUE(read_all.ok()) << read_all.status().message();
    std::vector<std::string> texts;
    if (!read_all.ok()) return texts;
    for (const Debt& debt : *read_all) texts.push_back(text_of(debt));
    return texts;
  }
  std::string message() {
    const Status refused = read().status();
    EXPECT_EQ(refused.code(), StatusCode::kDamaged);
    return refused.message();
  }
  std::string path(std::uint32_t worker) const { return "'" + directory_ / log::ring_name(worker) + "'"; }

  tests::TemporaryDirectory directory_;
  tests::FaultFiles disk_;
  Manifest manifest_;
  LogSurvey survey_;
  std::map<std::uint32_t, log::Ring*> by_worker_;
};

constexpr record::TidWord kDecidedTid = record::make_tid(5, 7);

TEST_F(DeadLog, NothingNamedIsNothingOwed) {
  ring(0);
  EXPECT_THAT(debts(), ElementsAre());
}

TEST_F(DeadLog, WhatIsUndecidedIsFreedUnchanged) {
  log::NamedLocks record(ring(0).lock_ahead()), complete(ring(0).lock_ahead()), another(ring(1).lock_ahead());
  name(complete, {{lock_word(9), 2, 0, "other", 64}});
  name(record, {{lock_word(1), 2, 0, "a", 128}, {lock_word(2), 3, 1, "b", 192}});
  complete.complete();
  name(another, {{lock_word(3), 2, 0, "c", 256}});
  EXPECT_THAT(debts(), ElementsAre("2:a", "3:b", "2:c"));
  const auto found = read();
  EXPECT_EQ(found->at(1).table, 1u);
  EXPECT_EQ(found->at(1).state_offset, 192u);
  EXPECT_EQ(found->at(1).word, lock_word(2));
  EXPECT_EQ(found->at(0).transaction, found->at(1).transaction);
  EXPECT_NE(found->at(1).transaction, found->at(2).transaction);
}

/// Its entry is written behind the tail, but the tail has not come so far.
TEST_F(DeadLog, WhatWasAnnouncedAndNotPublishedIsUndecided) {
  log::NamedLocks record(ring(0).lock_ahead());
  name(record, {{lock_word(1), 2, 0, "a", 128}});
  record.announce_decision(kDecidedTid, ring(0).end_after(64));
  EXPECT_THAT(debts(), ElementsAre("2:a"));
}

TEST_F(DeadLog, WhatIsDecidedHasItsWritesFromTheRing) {
  leave(ring(0), record::make_tid(5, 6), {}, {{0, "before", "x"}});
  leave(ring(0), kDecidedTid,
        {{lock_word(1), 2, 0, "a", 128}, {lock_word(2), 3, 0, "gone", 64}, {lock_word(3), 3, 1, "a", 64}},
        {{0, "here", "y"}, {0, "a", "new", 2}, {0, "a", "of node 3", 3}, {0, "gone", std::nullopt, 3}});
  leave(ring(0), record::make_tid(5, 8), {}, {{0, "behind", "z"}});
  EXPECT_THAT(debts(), ElementsAre("2:a=new", "3:gone-", "3:a")) << "of table 1 it was only locked";
  EXPECT_EQ(read()->front().version->tid, kDecidedTid);
}

/// A transaction that locked more later has slots in two places, and may have named a record twice: at the place that
/// it let go as well.
TEST_F(DeadLog, AllPartsOfATransactionHaveItsWrites) {
  const std::string long_key(700, 'k');
  log::NamedLocks record(ring(0).lock_ahead());
  name(record, {{lock_word(1), 2, 0, "a", 64}});
  name(record, {{lock_word(2), 2, 0, long_key, 128}});
  name(record, {{lock_word(3), 2, 0, "a", 192}});
  decide(ring(0), record, kDecidedTid, {{0, "a", "1", 2}, {0, long_key, "2", 2}});
  EXPECT_THAT(debts(), ElementsAre("2:a=1", "2:" + long_key + "=2", "2:a=1"));
}

/// Of the running generation, beyond D, and packed or not.
TEST_F(DeadLog, WritesAreFoundInTheLogOnceTheRingHasGivenThemBack) {
  const std::vector<TestWrite> a = {{0, "a", "first", 2}}, b = {{1, "b", "second", 3}}, c = {{0, "c", std::nullopt, 2}};
  leave(ring(0), kDecidedTid, {{lock_word(1), 2, 0, "a", 64}}, a);
  leave(ring(1, 1), kDecidedTid + 8, {{lock_word(2), 3, 1, "b", 64}}, b);
  leave(ring(1, 1), kDecidedTid + 16, {{lock_word(3), 2, 0, "c", 64}}, c);
  const auto entry = [](record::TidWord tid, const std::vector<TestWrite>& writes) {
    return tests::entry_of(tid, log::EntryKind::kTransaction, tests::body_of(writes));
  };
  put_segment(0, SegmentBuilder({kGeneration, 0, 0})
                     .marker(4, 4)
                     .transaction(5, 1, {{0, "a", "older", 2}})
                     .entry(kDecidedTid, log::EntryKind::kTransaction, tests::body_of(a)));
  for (const log::Codec codec : {log::Codec::kLz4, log::Codec::kZstd}) {
    put_segment(1, SegmentBuilder({kGeneration, 1, 0})
                       .marker(4, 4)
                       .packed(codec, entry(kDecidedTid + 8, b) + entry(kDecidedTid + 16, c)));
    for (const std::uint32_t worker : {0u, 1u}) drain(ring(worker));
    EXPECT_THAT(debts(), ElementsAre("2:a=first", "3:b=second", "2:c-"));
  }
}

/// Two workers may choose the same TID for transactions that do not meet, be their entries in rings or in one logger's
/// log.
TEST_F(DeadLog, TransactionsWithTheSameTidAreToldByTheirKeys) {
  const std::vector<TestWrite> a = {{0, "a", "1", 2}, {0, "x", "1", 3}}, b = {{0, "b", "2", 2}};
  leave(ring(0), kDecidedTid, {{lock_word(1), 2, 0, "a", 64}, {lock_word(2), 2, 0, "b", 128}}, a);
  leave(ring(1), kDecidedTid, {{lock_word(3), 2, 0, "b", 128}, {lock_word(4), 3, 0, "y", 64}}, b);
  EXPECT_THAT(debts(), ElementsAre("2:a=1", "2:b", "2:b=2", "3:y"));
  put_segment(0, SegmentBuilder({kGeneration, 0, 0})
                     .marker(4, 4)
                     .entry(kDecidedTid, log::EntryKind::kTransaction, tests::body_of(b))
                     .entry(kDecidedTid, log::EntryKind::kTransaction, tests::body_of(a)));
  for (const std::uint32_t worker : {0u, 1u}) drain(ring(worker));
  const auto found = debts();
  EXPECT_EQ(found[0], "2:a=1");
  EXPECT_EQ(found[2], "2:b=2");
}

/// Before a marker stand all transactions of its epoch, and some of the two that follow. So one of those may have been
/// in the part of the log that was left out, also if this part has another worker's with the same TID.
TEST_F(DeadLog, APartOfTheLogIsAskedOnlyForWhatItMustHave) {
  constexpr epoch::Epoch kMarked = 6;
  const auto look_for = [this](record::TidWord tid, std::uint32_t worker) {
    const std::string key = "k" + std::to_string(worker);
    leave(ring(worker), tid, {{lock_word(worker + 1), 2, 0, key, 64}}, {{0, key, "1", 2}});
    drain(ring(worker));
    put_segment(0, SegmentBuilder({kGeneration, 0, 0})
                       .marker(kMarked, 4)
                       .entry(tid, log::EntryKind::kTransaction, tests::body_of({{0, "other", "2", 2}}))
                       .entry(tid, log::EntryKind::kTransaction, tests::body_of({{0, key, "1", 2}})));
    survey_.whole = false;
    const auto part = read();
    survey_.whole = true;
    EXPECT_TRUE(read().ok());
    survey_.rings.rings.clear();
    by_worker_.clear();
    return part.ok() ? text_of(part->front()) : std::string(part.status().code() == StatusCode::kNotFound ? "ask" : "");
  };
  EXPECT_EQ(look_for(record::make_tid(kMarked, 7), 0), "ask");
  EXPECT_EQ(look_for(record::make_tid(kMarked + log::kAheadOfMarker, 7), 1), "ask");
  EXPECT_EQ(look_for(record::make_tid(kMarked + log::kAheadOfMarker + 1, 7), 2), "2:k2=1");
}

TEST_F(DeadLog, ADecidedTransactionWithoutItsEntryIsDamage) {
  leave(ring(4), kDecidedTid, {{lock_word(1), 2, 0, "a", 64}}, {{0, "a", "1", 2}});
  drain(ring(4));
  put_segment(0, SegmentBuilder({kGeneration, 0, 0}).marker(4, 4).transaction(5, 6, {{0, "a", "other", 2}}));
  put_segment(1, SegmentBuilder({kGeneration, 1, 0})
                     .marker(4, 4)
                     .entry(kDecidedTid, log::EntryKind::kTransaction, tests::body_of({{0, "a", "1", 2}})));
  EXPECT_THAT(message(), HasSubstr("transaction 5.7 of the log ring " + path(4) + " is decided"))
      << "the ring's entries are in logger 0's log";
}

TEST_F(DeadLog, AnEntryThatIsNotTheDecidedOneIsDamage) {
  log::Ring& of = ring(0);
  log::NamedLocks record(of.lock_ahead());
  name(record, {{lock_word(1), 2, 0, "a", 64}});
  const std::string entry =
      tests::entry_of(kDecidedTid + 8, log::EntryKind::kTransaction, tests::body_of({{0, "a", "1", 2}}));
  record.announce_decision(kDecidedTid, of.end_after(entry.size()));
  std::copy(entry.begin(), entry.end(), of.at_tail());
  of.publish(entry.size());
  EXPECT_THAT(message(), HasSubstr("transaction 5.7 of the log ring " + path(0)));
}

TEST_F(DeadLog, WhatDoesNotFitTheTablesIsDamage) {
  leave(ring(0), kDecidedTid, {{lock_word(1), 2, 0, "a", 64}}, {{0, "a", std::string(kMostValueBytes + 1, 'v'), 2}});
  EXPECT_THAT(message(), HasSubstr("has a value of 33 bytes for table 0"));
  survey_.rings.rings.clear();
  by_worker_.clear();
  leave(ring(1), kDecidedTid, {{lock_word(1), 2, kTables, "a", 64}}, {{kTables, "a", "v", 2}});
  EXPECT_THAT(message(), HasSubstr(path(1) + " is damaged: a lock in table 2"));
  survey_.rings.rings.clear();
  by_worker_.clear();
  leave(ring(3), kDecidedTid, {{lock_word(1), 4096, 0, "a", 64}}, {{0, "a", "v", 2}});
  EXPECT_THAT(message(), HasSubstr("a lock at node 4096, which there cannot be"));
  survey_.rings.rings.clear();
  by_worker_.clear();
  leave(ring(2), kDecidedTid, {{lock_word(1), 2, 0, "a", 64}}, {});
  EXPECT_THAT(message(), HasSubstr("transaction 5.7 has no writes"));
}

TEST_F(DeadLog, AChangedBitOfANameIsDamage) {
  leave(ring(3), kDecidedTid, {{lock_word(1), 2, 0, "key", 64}}, {{0, "key", "1", 2}});
  char* const block = ring(3).lock_ahead()->block(0);
  for (const std::size_t at :
       {offsetof(log::LockHeader, word), offsetof(log::LockHeader, state_offset), sizeof(log::LockHeader)}) {
    block[at] = static_cast<char>(block[at] ^ 8);
    EXPECT_THAT(message(),
                HasSubstr(path(3) + " is damaged: slot 0 of the lock-ahead record: the checksum of its locks"));
    block[at] = static_cast<char>(block[at] ^ 8);
  }
  EXPECT_THAT(debts(), ElementsAre("2:key=1"));
}

}  // namespace
}  // namespace granary::recovery
