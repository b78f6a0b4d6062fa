// The log of a database, without its threads: rings made and removed, who logs for whom, opening and closing. With
// threads: log_stress_test.cc.

#include "src/log/log.h"

#include <atomic>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "src/record/tid.h"
#include "tests/log/segment_decoder.h"
#include "tests/support/allocations.h"
#include "tests/support/fault_files.h"
#include "tests/support/temporary_directory.h"

namespace granary::log {
namespace {

using testing::HasSubstr;
using tests::FaultFiles;
using tests::FileCall;
using tests::Survives;

constexpr DatabaseId kLogDatabase = {7};

class LogTest : public testing::Test {
 protected:
  LogTest() { files_.pass_through(rings_.path() + "/"); }

  LogOptions options() {
    for (const std::string& directory : directories_) EXPECT_TRUE(files_.make_directory(directory).ok());
    return {.files = &files_,
            .directories = directories_,
            .reliable_directory = rings_.path(),
            .loggers = 2,
            .ring_bytes = 4096,
            .codec = {},
            .threads = false,
            .database = kLogDatabase,
            .generation = 1};
  }
  void commit(Log& log, Ring& ring, std::size_t bytes = 100) {
    epochs_.enter(*slot_);
    const EntryHeader header{static_cast<std::uint32_t>(bytes), 0,
                             record::make_tid(epochs_.current(), ++sequence_) | std::uint64_t{1}};
    base::ThreadWaiter waiter;
    if (!ring.has_room(header.bytes())) static_cast<void>(log.wait_for_room(waiter, ring, header.bytes()));
    std::memset(ring.at_tail(), 0, header.bytes());
    std::memcpy(ring.at_tail(), &header, sizeof header);
    ring.publish(header.bytes());
    epochs_.leave(*slot_);
  }
  std::size_t left(const std::string& directory, std::uint32_t loggers) {
    const auto image = files_.power_loss_image(Survives::kSynced);
    return tests::decode_log(*image, directory, kLogDatabase, 1, loggers, 0).replayed().size();
  }
  std::vector<std::string> rings() { return *files_.list(rings_.path()); }

  tests::TemporaryDirectory rings_;
  FaultFiles files_;
  std::vector<std::string> directories_ = {"/db"};
  epoch::EpochManager epochs_{{}};
  epoch::Slot* const slot_ = epochs_.acquire_slot();
  std::uint64_t sequence_ = 0;
};

TEST_F(LogTest, AWorkerHasItsRingAndItsLogger) {
  const auto log = Log::open(options(), epochs_, 0);
  ASSERT_TRUE(log.ok()) << log.status().message();
  for (std::uint32_t worker = 0; worker < 3; ++worker) {
    const auto ring = (*log)->add_worker(worker);
    ASSERT_TRUE(ring.ok()) << ring.status().message();
    EXPECT_EQ((*ring)->header().worker, worker);
    EXPECT_EQ((*ring)->header().database, kLogDatabase);
    EXPECT_EQ((*ring)->header().generation, 1u);
    for (std::uint32_t i = 0; i <= worker; ++i) commit(**log, **ring);
  }
  EXPECT_EQ(rings(), (std::vector<std::string>{"ring-0000", "ring-0001", "ring-0002"}));
  epochs_.tick();
  EXPECT_TRUE((*log)->step());
  EXPECT_EQ((*log)->durable().current(), epochs_.current() - 1);
  const auto image = files_.power_loss_image(Survives::kSynced);
  const auto decoded = tests::decode_log(*image, "/db", kLogDatabase, 1, 2, 0);
  EXPECT_EQ(decoded.loggers[0].transactions.size(), 1u + 3u) << "of workers 0 and 2";
  EXPECT_EQ(decoded.loggers[1].transactions.size(), 2u);
  EXPECT_EQ((*log)->statistics().entries, 6u);
  EXPECT_GT((*log)->statistics().bytes, 6u * 100);
  EXPECT_GE((*log)->statistics().syncs, 2u);
}

TEST_F(LogTest, ARingThatIsThereIsRefusedByItsPath) {
  const auto log = Log::open(options(), epochs_, 0);
  ASSERT_TRUE((*log)->add_worker(0).ok());
  const auto again = (*log)->add_worker(0);
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(again.status().message(), HasSubstr(rings_ / "ring-0000"));
}

TEST_F(LogTest, ClosingMakesAllDurableAndThenRemovesTheRings) {
  const auto log = Log::open(options(), epochs_, 0);
  Ring* const ring = *(*log)->add_worker(0);
  for (int i = 0; i < 10; ++i) commit(**log, *ring);
  EXPECT_EQ(left("/db", 2), 0u);
  epochs_.tick();
  EXPECT_TRUE((*log)->close().ok());
  EXPECT_EQ(left("/db", 2), 10u);
  EXPECT_EQ(rings().size(), 1u);
  EXPECT_TRUE((*log)->remove_rings().ok());
  EXPECT_TRUE(rings().empty());
}

/// A full ring is drained and synced though its epoch is not complete. Without a marker behind it, that counts only
/// together with the rings, which must stay then.
TEST_F(LogTest, ClosingLeavesTheRingsOfAnEpochThatIsHeldBack) {
  const auto log = Log::open(options(), epochs_, 0);
  Ring* const ring = *(*log)->add_worker(0);
  epoch::Slot* const holder = epochs_.acquire_slot();
  epochs_.enter(*holder);
  epochs_.tick();
  for (int i = 0; i < 3; ++i) commit(**log, *ring, 900);
  EXPECT_EQ((*log)->close().code(), StatusCode::kUnavailable);
  EXPECT_EQ(ring->fill(), 0u) << "the log has all of it";
  EXPECT_EQ(left("/db", 2), 0u) << "and a recovery takes none of it from there";
  epochs_.leave(*holder);
  epochs_.tick();
  EXPECT_TRUE((*log)->close().ok());
  EXPECT_EQ(left("/db", 2), 3u);
}

TEST_F(LogTest, WithoutHeapMemoryTheLogFails) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const auto log = Log::open(options(), epochs_, 0);
  Ring* const ring = *(*log)->add_worker(0);
  commit(**log, *ring);
  epochs_.tick();
  tests::no_memory = true;
  (*log)->step();
  tests::no_memory = false;
  EXPECT_EQ((*log)->durable().cause().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ((*log)->close().code(), StatusCode::kResourceExhausted);
}

/// The logger goes on once the waiter was asked to rest: it is the waiter that lets others of its thread run.
TEST_F(LogTest, WaitsForRoomByTheWaiterItIsGiven) {
  struct Rester final : base::Waiter {
    void pause(std::uint32_t) override { base::spin_pause(); }
    void rest() override {
      ++rests;
      std::this_thread::yield();
    }
    std::atomic<int> rests{0};
  } waiter;
  std::atomic<bool> held{false}, gave_up{false};
  base::set_process_sync_hook([&](std::string_view point) {
    if (point != "logger.appended" || held.exchange(true)) return;
    for (int turn = 0; turn < 2000 && waiter.rests == 0; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    gave_up = waiter.rests == 0;
  });
  {
    LogOptions threaded = options();
    threaded.threads = true;
    const auto log = Log::open(threaded, epochs_, 0);
    ASSERT_TRUE((*log)->start().ok());
    Ring* const ring = *(*log)->add_worker(0);
    while (ring->has_room(1024)) commit(**log, *ring, 900);
    epochs_.tick();
    EXPECT_TRUE((*log)->wait_for_room(waiter, *ring, 2048));
  }
  base::set_process_sync_hook({});
  EXPECT_FALSE(gave_up);
  EXPECT_GT(waiter.rests, 0);
}

/// A node of a cluster has left something locked elsewhere.
TEST_F(LogTest, ClosingLeavesRingsThatNameLocks) {
  for (const bool given_back : {false, true}) {
    LogOptions of_node = options();
    of_node.cluster = true;
    of_node.generation = given_back ? 2 : 1;
    const auto log = Log::open(of_node, epochs_, 0);
    ASSERT_TRUE(log.ok()) << log.status().message();
    for (const std::uint32_t worker : {0u, 1u}) {
      if (!given_back) continue;
      ASSERT_TRUE(base::system_files().remove(rings_.path() + "/" + ring_name(worker)).ok());
    }
    Ring& ring = **(*log)->add_worker(0);
    ASSERT_TRUE((*log)->add_worker(1).ok());
    NamedLocks record(ring.lock_ahead());
    ASSERT_TRUE(record.reserve(named_bytes(3)));
    record.add({.word = 1, .node = 2, .table = 0, .key = "key"});
    record.publish();
    if (given_back) record.complete();
    ASSERT_TRUE((*log)->close().ok());
    EXPECT_EQ((*log)->owes(), !given_back);
    EXPECT_EQ(rings().size(), 2u) << "the manifest does not yet say that the generation has ended";
  }
}

TEST_F(LogTest, TheEntryOfADecidedTransactionStaysWhileLocksAreNamed) {
  LogOptions of_node = options();
  of_node.cluster = true;
  of_node.loggers = 1;
  of_node.segment_bytes = std::uint64_t{64} << 10;
  const auto log = Log::open(of_node, epochs_, 0);
  Ring& ring = **(*log)->add_worker(0);
  constexpr std::size_t kBytes = 2000;
  NamedLocks record(ring.lock_ahead());
  ASSERT_TRUE(record.reserve(named_bytes(3)));
  record.add({.word = 1, .node = 2, .table = 0, .key = "key"});
  record.publish();
  record.announce_decision(record::make_tid(epochs_.current(), sequence_ + 1),
                           ring.end_after(EntryHeader{kBytes, 0, 0}.bytes()));
  for (int i = 0; i < 200; ++i) {
    commit(**log, ring, kBytes);
    epochs_.tick();
    (*log)->step();
  }
  const epoch::Epoch covered = epochs_.current() - 10;
  EXPECT_EQ((*log)->first_after(covered).front(), 0u);
  record.complete();
  EXPECT_GT((*log)->first_after(covered).front(), 0u);
}

TEST_F(LogTest, DroppedItLeavesTheRingsAsACrashWould) {
  auto log = std::move(*Log::open(options(), epochs_, 0));
  commit(*log, **log->add_worker(0));
  log.reset();
  EXPECT_EQ(left("/db", 2), 0u);
  const auto ring = Ring::open(rings_ / "ring-0000", kLogDatabase);
  ASSERT_TRUE(ring.ok()) << ring.status().message();
  EXPECT_EQ((*ring)->pending().size(), 120u);
}

TEST_F(LogTest, AdoptedEntriesAreDurableBeforeTheFirstMarker) {
  auto former = std::move(*Log::open(options(), epochs_, 0));
  for (std::uint32_t worker = 0; worker < 2; ++worker) {
    Ring* const ring = *former->add_worker(worker);
    for (int i = 0; i < 3; ++i) commit(*former, *ring);
  }
  former.reset();
  for (int i = 0; i < 5; ++i) epochs_.tick();
  const auto first = Ring::open(rings_ / "ring-0000", kLogDatabase),
             second = Ring::open(rings_ / "ring-0001", kLogDatabase);
  const std::string_view adopted[] = {(*first)->pending(), (*second)->pending()};
  LogOptions next = options();
  next.generation = 2;
  const std::uint64_t appends = files_.calls(FileCall::kAppend);
  const auto log = Log::open(next, epochs_, epochs_.current() - 1, adopted);
  ASSERT_TRUE(log.ok()) << log.status().message();
  const auto image = files_.power_loss_image(Survives::kSynced);
  const std::string segment = "/db/log-g00000002-l00-s00000000.glog";
  EXPECT_EQ(tests::decode_log(*image, "/db", kLogDatabase, 2, 2, 0).replayed().size(), 6u);
  // Without the marker at its end the segment says nothing of how far it goes.
  image->edit(segment, [](std::string& bytes) { bytes.resize(bytes.size() - 1); });
  EXPECT_EQ(tests::decode_log(*image, "/db", kLogDatabase, 2, 2, 0).loggers[0].markers, 0u);
  EXPECT_LE(files_.calls(FileCall::kAppend) - appends, 4u);
}

TEST_F(LogTest, AFailedLogKeepsTheRingsAndTellsWhy) {
  const auto log = Log::open(options(), epochs_, 0);
  commit(**log, **(*log)->add_worker(0));
  epochs_.tick();
  files_.plan({.call = FileCall::kSync});
  const Status closed = (*log)->close();
  EXPECT_EQ(closed.code(), StatusCode::kIoError);
  EXPECT_THAT(closed.message(), HasSubstr("cannot sync '/db/log-g00000001-l00-s00000000.glog'"));
  EXPECT_EQ(rings().size(), 1u);
}

TEST_F(LogTest, AFullRingStepsTheLoggersItself) {
  const auto log = Log::open(options(), epochs_, 0);
  Ring* const ring = *(*log)->add_worker(1);
  for (int i = 0; i < 200; ++i) commit(**log, *ring, 1000);
  epochs_.tick();
  EXPECT_TRUE((*log)->close().ok());
  EXPECT_EQ(left("/db", 2), 200u);
}

TEST_F(LogTest, LoggersAreSpreadOverTheDirectories) {
  directories_ = {"/a", "/b"};
  LogOptions three = options();
  three.loggers = 3;
  ASSERT_TRUE(Log::open(three, epochs_, 0).ok());
  EXPECT_EQ(files_.paths(),
            (std::vector<std::string>{"/a/log-g00000001-l00-s00000000.glog", "/a/log-g00000001-l02-s00000000.glog",
                                      "/b/log-g00000001-l01-s00000000.glog"}));
}

TEST_F(LogTest, AdoptedEntriesStandBeforeTheFirstMarker) {
  // So a log that lost one of them lost its markers, too, and is not taken for one that ends early.
  const EntryHeader header{0, 0, record::make_tid(1, 1) | std::uint64_t{1}};
  const std::string_view adopted[] = {{reinterpret_cast<const char*>(&header), sizeof header}};
  const auto log = Log::open(options(), epochs_, 3, adopted);
  ASSERT_TRUE(log.ok());
  const auto image = files_.power_loss_image(Survives::kSynced);
  EXPECT_EQ(tests::decode_log(*image, "/db", kLogDatabase, 1, 2, 3).replayed().size(), 1u);
  const std::string bytes = image->contents("/db/" + segment_name(1, 0, 0));
  ASSERT_EQ(bytes.size(), sizeof(SegmentHeader) + sizeof header + sizeof(EntryHeader) + sizeof(Marker));
  EntryHeader first;
  std::memcpy(&first, bytes.data() + sizeof(SegmentHeader), sizeof first);
  EXPECT_EQ(first.kind(), EntryKind::kTransaction);
}

TEST_F(LogTest, OpeningTellsWhatFailed) {
  files_.plan({.call = FileCall::kCreate, .nth = 1, .code = StatusCode::kDiskFull});
  const auto log = Log::open(options(), epochs_, 0);
  EXPECT_EQ(log.status().code(), StatusCode::kDiskFull);
  EXPECT_THAT(log.status().message(), HasSubstr("/db/log-g00000001-l01-s00000000.glog"));
}

TEST_F(LogTest, ALoneIdleLoggerIsKnownToBeAlone) {
  LogOptions one = options();
  one.loggers = 1;
  const auto log = Log::open(one, epochs_, 0);
  commit(**log, **(*log)->add_worker(0));
  epochs_.tick();
  EXPECT_TRUE((*log)->step());
  const std::uint64_t bytes = (*log)->statistics().bytes;
  for (int i = 0; i < 10; ++i) {
    epochs_.tick();
    EXPECT_FALSE((*log)->step());
  }
  EXPECT_EQ((*log)->statistics().bytes, bytes);
  EXPECT_EQ((*log)->durable().current(), epochs_.current() - 1);
}

}  // namespace
}  // namespace granary::log
