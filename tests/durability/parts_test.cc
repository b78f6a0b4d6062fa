// Parts of values that are written in a directory: the log has the whole value that they leave, whatever else the entry writes.

#include <string>

#include <gtest/gtest.h>

#include "tests/support/fault_files.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"

namespace granary::tests {
namespace {

class DurableParts : public testing::TestWithParam<Survives> {
 protected:
  Options options() const {
    Options options = manual_options();
    options.background = Background::kThreads;
    options.epoch_ms = 5;
    options.directory = "/db";
    options.reliable_directory = rings_.path();
    options.ring_bytes = options.log_segment_bytes = std::uint64_t{64} << 10;
    return options;
  }
  std::unique_ptr<Database> open(FaultFiles& files) const {
    auto opened = Database::open(options(), files);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return std::move(opened).value();
  }
  std::unique_ptr<FaultFiles> new_files() const {
    auto files = std::make_unique<FaultFiles>();
    files->pass_through(rings_.path());
    return files;
  }
  /// Runs it and waits for its release.
  static void run(Database& database, FunctionRef<void(Transaction&)> body) {
    Worker worker = database.register_worker().value();
    const RunResult ran = worker.run(body);
    ASSERT_TRUE(ran);
    ASSERT_TRUE(database.wait_released(ran.ticket).ok());
  }
  static std::string rows(Database& database, const Table& table) {
    Worker worker = database.register_worker().value();
    Transaction t = worker.begin();
    return scan_text(t, table);
  }

  RingDirectory rings_;
};
INSTANTIATE_TEST_SUITE_P(Images, DurableParts, testing::Values(Survives::kSynced, Survives::kAll),
                         [](const auto& made) { return made.param == Survives::kSynced ? "Synced" : "All"; });

TEST_P(DurableParts, APowerLossTakesNone) {
  std::unique_ptr<FaultFiles> files = new_files(), image;
  {
    const auto database = open(*files);
    const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
    run(*database, [&](Transaction& t) {
      for (const char* key : {"x", "y", "z"}) EXPECT_EQ(t.put(table, key, "0123456789abcdefghij"), Outcome::kOk);
    });
    run(*database, [&](Transaction& t) {
      EXPECT_EQ(t.update_part(table, "x", 3, "PART"), Outcome::kOk);
      EXPECT_EQ(t.put(table, "y", "whole"), Outcome::kOk);
      EXPECT_EQ(t.update_part(table, "z", 19, "!"), Outcome::kOk);
    });
    run(*database, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 0, "$$$"), Outcome::kOk); });
    image = files->power_loss_image(GetParam());
  }
  rings_.empty();
  image->pass_through(rings_.path());
  const auto database = open(*image);
  const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
  EXPECT_EQ(rows(*database, table), "x=$$$PART789abcdefghij y=whole z=0123456789abcdefghi! ");
}

TEST_P(DurableParts, EachOpeningGoesOnWithThem) {
  const std::unique_ptr<FaultFiles> files = new_files();
  std::string expected = "0123456789";
  for (std::size_t life = 0; life < 4; ++life) {
    const auto database = open(*files);
    const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
    if (life == 0) run(*database, [&](Transaction& t) { EXPECT_EQ(t.put(table, "x", expected), Outcome::kOk); });
    run(*database, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 2 * life, "##"), Outcome::kOk); });
    expected.replace(2 * life, 2, "##");
    EXPECT_EQ(rows(*database, table), "x=" + expected + " ");
  }
}

}  // namespace
}  // namespace granary::tests
