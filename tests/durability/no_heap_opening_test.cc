// An opening that finds no heap memory somewhere while it reads the log says so, and leaves the log as it
// is. (The library that reads and writes the manifest ends the process if it finds none in some of its destructors.)

#include <string>

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/support/allocations.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

class NoHeapOpening : public testing::TestWithParam<LogCompression> {
 protected:
  static constexpr int kKeys = 3;

  NoHeapOpening() : options_(manual_options()) {
    options_.directory = directory_.path() + "/db";
    options_.reliable_directory = rings_.path();
    options_.log_compression = GetParam();
    options_.ring_bytes = options_.log_segment_bytes = std::uint64_t{64} << 10;
    options_.memory_limit_bytes = std::uint64_t{64} << 20;
  }

  static std::string key(int number) { return "key " + std::to_string(number); }

  void write_all() {
    const auto database = Database::open(options_).value();
    const Table table = database->create_table("t", {}).value();
    Worker worker = database->register_worker().value();
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.put(table, key(i), kValue), Outcome::kOk); }));
      database->step();
    }
    worker = {};
    ASSERT_TRUE(database->close().ok());
  }

  void expect_all(Database& database) {
    const Table table = database.table("t").value();
    Worker worker = database.register_worker().value();
    const RunResult read = worker.run([&](Transaction& t) {
      for (int i = 0; i < kKeys; ++i) {
        std::string value;
        EXPECT_EQ(t.get(table, key(i), value), Outcome::kOk) << key(i);
        EXPECT_EQ(value, kValue) << key(i);
      }
    });
    EXPECT_TRUE(read);
  }

  const std::string kValue = std::string(1000, 'v');
  const TemporaryDirectory directory_;
  const RingDirectory rings_;
  Options options_;
};

TEST_P(NoHeapOpening, FailsByAStatusAndLosesNothing) {
  if (!base::kTestHooks) GTEST_SKIP() << "needs sync points";
  if (!kCountsAllocations) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  write_all();
  for (std::uint64_t number = 1;; ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    bool failed = true;
    base::set_sync_hook([&](std::string_view point) {
      if (point == "storage.manifest_read") failing_allocation = allocations + number;
      if (point != "engine.loaded") return;
      failed = allocations >= failing_allocation;
      failing_allocation = 0;
    });
    auto opened = Database::open(options_);
    failing_allocation = 0;
    base::set_sync_hook({});
    if (opened.ok()) {
      expect_all(**opened);
      if (!failed) break;
      continue;
    }
    ASSERT_EQ(opened.status().code(), StatusCode::kResourceExhausted) << opened.status().message();
  }
}

std::string name_of(const testing::TestParamInfo<LogCompression>& info) {
  switch (info.param) {
    case LogCompression::kNone: return "None";
    case LogCompression::kLz4: return "Lz4";
    case LogCompression::kZstd: break;
  }
  return "Zstd";
}
INSTANTIATE_TEST_SUITE_P(Compressions, NoHeapOpening,
                         testing::Values(LogCompression::kNone, LogCompression::kLz4, LogCompression::kZstd), name_of);

}  // namespace
}  // namespace granary::tests
