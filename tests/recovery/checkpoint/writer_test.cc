// Covers how a checkpoint is written: failures at every operation, cancelling, the order of syncs, wrong options, E
// that goes on meanwhile, pacing.

#include <time.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/recovery/checkpoint/checkpoint_fixture.h"
#include "tests/recovery/checkpoint/memory_files.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

class WriterTest : public testing::Test {
 protected:
  void fill(std::uint64_t records, std::size_t value_bytes) {
    constexpr std::uint64_t kBatch = 100;
    for (std::uint64_t i = 0; i < records; i += kBatch) {
      database_.commit([&](Transaction& t) {
        for (std::uint64_t j = i; j < i + kBatch; ++j)
          EXPECT_EQ(t.put(table_, "key " + std::to_string(j), std::string(value_bytes, 'v')), Outcome::kOk);
      });
    }
    database_.pass_snapshot_period();
  }

  checkpoint::WriteOptions options(std::uint32_t partitions = 1, std::uint32_t threads = 1) {
    auto options = write_options("data/c", partitions, threads);
    options.files = &files_;
    return options;
  }
  Result<checkpoint::Contents> take(const checkpoint::WriteOptions& options) {
    return take_checkpoint(*database_, options, {table_.core()});
  }
  Result<checkpoint::Contents> verify() {
    auto options = read_options("data/c");
    options.files = &files_;
    return checkpoint::verify_checkpoint(options);
  }

  MemoryFiles files_;
  ManualDatabase database_{2, [] {
                             Options options = manual_options();
                             options.max_open_epochs = 2;
                             return options;
                           }()};
  Table table_ = database_.table("t");
};

TEST_F(WriterTest, AFailureAnywhereLeavesNothing) {
  fill(1000, 1000);
  std::uint64_t failures = 0;
  for (std::uint64_t operation = 1;; ++operation) {
    files_.fail_at(operation);
    auto failing = options(3, 2);
    failing.sync_bytes = 300'000;
    const auto written = take(failing);
    files_.fail_at(0);
    if (written.ok()) break;
    SCOPED_TRACE(operation);
    ++failures;
    EXPECT_EQ(written.status().code(), StatusCode::kDiskFull) << written.status().message();
    EXPECT_EQ(files_.count(), 0U);
    EXPECT_FALSE(verify().ok());
  }
  EXPECT_GT(failures, 15U);
  EXPECT_TRUE(verify().ok());
}

TEST_F(WriterTest, AHalfWrittenCheckpointIsNoneAtAnyMoment) {
  fill(1000, 1000);
  // Whatever the files are like after an operation, they pass only once the last trailer is written.
  std::size_t blocks = 0;
  base::set_sync_hook([&](std::string_view point) {
    if (point != "checkpoint.block") return;
    ++blocks;
    EXPECT_FALSE(verify().ok());
  });
  const auto written = take(options(2));
  base::set_sync_hook({});
  ASSERT_TRUE(written.ok());
  EXPECT_GE(blocks, 4U);
  EXPECT_TRUE(verify().ok());
}

TEST_F(WriterTest, FilesAreSyncedBeforeTheirDirectoryAndThatBeforeItsParent) {
  fill(100, 10);
  files_.fail_at(0);
  ASSERT_TRUE(take(options(2)).ok());
  const auto done = files_.operations();
  ASSERT_GE(done.size(), 4U);
  const std::vector<std::string> last(done.end() - 2, done.end());
  EXPECT_EQ(last, (std::vector<std::string>{"sync_directory data/c", "sync_directory data"}));
  for (const std::string name : {"data/c/part-0000.gckpt", "data/c/part-0001.gckpt"}) {
    const auto appended = std::find(done.rbegin(), done.rend(), "append " + name);
    const auto synced = std::find(done.rbegin(), done.rend(), "sync " + name);
    EXPECT_LT(synced - done.rbegin(), appended - done.rbegin()) << "synced after the last append";
  }
}

TEST_F(WriterTest, CancelledLeavesNothing) {
  fill(3000, 1000);
  std::atomic<bool> cancel{false};
  auto cancelled = options(2);
  cancelled.cancel = &cancel;
  const AtSyncPoint after_a_block("checkpoint.block", [&] { cancel = true; });
  const auto written = take(cancelled);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(written.status().message(), testing::HasSubstr("cancelled"));
  EXPECT_EQ(files_.count(), 0U);
}

TEST_F(WriterTest, RefusesWhatCannotBe) {
  EXPECT_EQ(take(options(0)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(take(options(checkpoint::kMaxPartitions + 1)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(take(options(1, 0)).status().code(), StatusCode::kInvalidArgument);
  auto idle = options();
  idle.duty = 0;
  EXPECT_EQ(take(idle).status().code(), StatusCode::kInvalidArgument);
  files_.put("data/c/other", "mine");
  const auto written = take(options());
  EXPECT_EQ(written.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(written.status().message(), testing::HasSubstr("'data/c': it holds 'other'"));
  EXPECT_EQ(files_.count(), 1U);

  Options without = manual_options();
  without.snapshots = false;
  ManualDatabase plain(1, without);
  const auto refused = take_checkpoint(*plain, options(), {});
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(WriterTest, AFailedSyncIsNotTriedAgain) {
  fill(1000, 1000);
  files_.fail_at(0);
  auto syncing = options();
  syncing.sync_bytes = 300'000;
  ASSERT_TRUE(take(syncing).ok());
  const auto done = files_.operations();
  ASSERT_TRUE(checkpoint::remove_checkpoint(files_, "data/c").ok());
  const auto first = std::find(done.begin(), done.end(), "sync data/c/part-0000.gckpt");
  ASSERT_NE(first, done.end());
  ASSERT_NE(std::find(first + 1, done.end(), *first), done.end()) << "needs more than one sync";
  files_.fail_at(static_cast<std::uint64_t>(first - done.begin()) + 1);
  EXPECT_FALSE(take(syncing).ok());
  const auto again = files_.operations();
  EXPECT_EQ(std::count(again.begin(), again.end(), *first), 1);
  EXPECT_EQ(files_.count(), 0U);
}

TEST_F(WriterTest, DirectoriesAreSyncedOrItFails) {
  fill(100, 10);
  files_.fail_at(0);
  ASSERT_TRUE(take(options()).ok());
  const auto done = files_.operations();
  for (const std::uint64_t last : {done.size() - 1, done.size()}) {
    EXPECT_THAT(done[last - 1], testing::StartsWith("sync_directory"));
    ASSERT_TRUE(checkpoint::remove_checkpoint(files_, "data/c").ok());
    files_.fail_at(last);
    EXPECT_FALSE(take(options()).ok());
  }
}

TEST_F(WriterTest, EGoesOnBetweenPieces) {
  fill(5000, 50);
  const std::uint64_t before = database_->statistics().epoch;
  std::uint64_t pieces = 0;
  base::set_sync_hook([&](std::string_view point) {
    if (point != "checkpoint.piece") return;
    ++pieces;
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(database_->step()) << "the checkpoint holds E back";
  });
  const auto written = take(options());
  base::set_sync_hook({});
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->records, 5000U);
  EXPECT_GE(pieces, 15U);
  EXPECT_EQ(database_->statistics().epoch, before + 2 * pieces);
}

TEST_F(WriterTest, TheSnapshotStaysPinnedUntilTheEndAndNoLonger) {
  fill(3000, 50);
  std::uint64_t pieces = 0;
  base::set_sync_hook([&](std::string_view point) {
    if (point != "checkpoint.piece" || ++pieces != 1) return;
    for (int i = 0; i < 3000; ++i) database_.put(table_, "key " + std::to_string(i), "new");
    database_.collect_everything();
    EXPECT_GT(database_->statistics().version_bytes, 0U) << "what the snapshot sees is kept";
  });
  const auto written = take(options());
  base::set_sync_hook({});
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_EQ(written->tables.at(table_.id()).bytes, verify()->tables.at(table_.id()).bytes);
  EXPECT_GE(written->tables.at(table_.id()).bytes, 3000U * 50) << "old values only";
  database_.collect_everything();
  EXPECT_EQ(database_->statistics().version_bytes, 0U);
}

TEST_F(WriterTest, LeavesTheCoreToOthersForTheRestOfItsDuty) {
  fill(2000, 1000);
  timespec before{}, after{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  const auto began = std::chrono::steady_clock::now();
  auto calm = options();
  calm.duty = 0.05;
  ASSERT_TRUE(take(calm).ok());  // one thread: this one
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  const double processor =
      static_cast<double>(after.tv_sec - before.tv_sec) + static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  EXPECT_LT(processor, 0.2 * elapsed.count()) << "the ends and the sleeping itself are not in the duty";
}

}  // namespace
}  // namespace granary::tests
