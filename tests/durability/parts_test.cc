// Parts of values that are written in a directory: the log has the whole value that they leave, whatever else the entry writes.

#include <string>

#include "tests/durability/ringed_directory.h"

namespace granary::tests {
namespace {

class DurableParts : public RingedDirectory {
 protected:
  /// Runs it and waits for its release.
  static void run(Database& database, FunctionRef<void(Transaction&)> body) {
    Worker worker = database.register_worker().value();
    const RunResult ran = worker.run(body);
    ASSERT_TRUE(ran);
    ASSERT_TRUE(database.wait_released(ran.ticket).ok());
  }
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
