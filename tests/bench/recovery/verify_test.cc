// The check at the end of `granary bench recovery` notices what is missing, wrong or too much. That processes are
// really killed and databases recovered is tested with the command, in tests/cli/recovery_bench_test.cc.

#include "bench/recovery/verify.h"

#include <csignal>

#include <gtest/gtest.h>

#include "bench/recovery/victim.h"

namespace granary::bench::recovery {
namespace {

constexpr Load kLoad{.records = 300, .keys = 200, .workers = 3, .value_bytes = 20, .writes = 4, .seed = 9};

class Verify : public testing::Test {
 protected:
  Verify() {
    Options options;
    options.memory_limit_bytes = std::uint64_t{32} << 20;
    options.background = Background::kManual;
    database_ = Database::open(options).value();
    table_ = database_->create_table(kTableName, {.max_value_bytes = kLoad.value_bytes}).value();
    for (std::uint64_t key = 0; key < kLoad.keys; ++key) {
      if (last_[key] != 0) put(key, last_[key]);
    }
  }
  template <typename Body>
  void change(Body&& body) {
    Worker worker = database_->register_worker().value();
    ASSERT_TRUE(worker.run(body).committed());
  }
  void put(std::uint64_t key, std::uint64_t operation) {
    std::string value;
    make_value(kLoad, key, operation, &value);
    change([&](Transaction& t) { static_cast<void>(t.put(table_, key_of(key), value)); });
  }
  /// The first key that the load wrote, or the first that it did not.
  std::uint64_t first(bool written) const {
    std::uint64_t key = 0;
    while ((last_[key] != 0) != written) ++key;
    return key;
  }
  Finding found() { return verify(*database_, kLoad).value(); }

  const std::vector<std::uint64_t> last_ = last_operations(kLoad);
  std::unique_ptr<Database> database_;
  Table table_;
};

TEST_F(Verify, HoldsForWhatWasWritten) {
  const Finding finding = found();
  EXPECT_TRUE(finding.holds) << finding.detail;
  EXPECT_GT(last_operations(kLoad)[first(true)], 0u);
}

TEST_F(Verify, EndsEarlyWhenAskedTo) {
  StopSignals signals;
  EarlyEnd end(&signals);
  end.have_figure();
  ASSERT_EQ(std::raise(SIGTERM), 0);
  EXPECT_EQ(verify(*database_, kLoad, end).value().detail, "0 records, 0 wrong, 0 missing, 0 unexpected");
}

TEST_F(Verify, NoticesAMissingRecord) {
  change([&](Transaction& t) { static_cast<void>(t.remove(table_, key_of(first(true)))); });
  EXPECT_FALSE(found().holds);
  EXPECT_NE(found().detail.find("1 missing"), std::string::npos) << found().detail;
}

TEST_F(Verify, NoticesAnOlderValue) {
  put(first(true), last_[first(true)] - 1);
  EXPECT_NE(found().detail.find("1 wrong"), std::string::npos) << found().detail;
}

TEST_F(Verify, NoticesARecordThatNobodyWrote) {
  put(first(false), 1);
  EXPECT_NE(found().detail.find("1 unexpected"), std::string::npos) << found().detail;
}

TEST_F(Verify, NoticesARecordWithAKeyThatTheLoadDoesNotHave) {
  put(kLoad.keys + 7, 1);
  EXPECT_FALSE(found().holds);
  change([&](Transaction& t) { static_cast<void>(t.put(table_, "", "of no load")); });
  EXPECT_NE(found().detail.find("0 unexpected; a scan of the table finds"), std::string::npos) << found().detail;
  EXPECT_NE(found().detail.find("so 2 of them have keys that the load does not have"), std::string::npos)
      << found().detail;
}

TEST_F(Verify, CountsMoreRecordsThanOneTransactionReads) {
  Load longer = kLoad;
  longer.keys = 2500;
  longer.records = 20'000;
  const auto last = last_operations(longer);
  for (std::uint64_t key = 0; key < longer.keys; ++key) {
    change([&](Transaction& t) {
      std::string value;
      make_value(longer, key, last[key], &value);
      if (last[key] != 0) static_cast<void>(t.put(table_, key_of(key), value));
      if (last[key] == 0) static_cast<void>(t.remove(table_, key_of(key)));
    });
  }
  const Finding finding = verify(*database_, longer).value();
  EXPECT_TRUE(finding.holds) << finding.detail;
}

TEST_F(Verify, NoticesALateLostWrite) {
  Load longer = kLoad;
  longer.records += 3;  // one more of each worker
  EXPECT_FALSE(verify(*database_, longer).value().holds);
}

TEST(Contents, WorkersShareTheRecordsAndNotTheKeys) {
  std::uint64_t records = 0;
  for (std::uint32_t worker = 0; worker < kLoad.workers; ++worker) {
    records += kLoad.records_of(worker);
    KeyStream keys(kLoad, worker);
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t key = keys.next();
      EXPECT_EQ(key % kLoad.workers, worker);
      EXPECT_LT(key, kLoad.keys);
    }
  }
  EXPECT_EQ(records, kLoad.records);
}

}  // namespace
}  // namespace granary::bench::recovery
