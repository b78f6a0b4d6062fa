// Sealed tables of a directory (I31): the seal is as durable as what it seals, and the manifest keeps it.

#include <string>

#include "tests/durability/ringed_directory.h"

namespace granary::tests {
namespace {

constexpr TableOptions kImmutable = {.max_value_bytes = 100, .immutable = true};

class DurableSeal : public RingedDirectory {
 protected:
  static void load(Database& database, const Table& table) {
    Worker worker = database.register_worker().value();
    for (const char* key : {"x", "y", "z"})
      ASSERT_TRUE(worker.run([&](Transaction& t) { EXPECT_EQ(t.put(table, key, "row"), Outcome::kOk); }));
  }
  static Outcome put(Database& database, const Table& table) {
    Worker worker = database.register_worker().value();
    Transaction t = worker.begin();
    const Outcome outcome = t.put(table, "late", "row");
    EXPECT_TRUE(t.commit().committed());
    return outcome;
  }
};
INSTANTIATE_TEST_SUITE_P(Images, DurableSeal, testing::Values(Survives::kSynced, Survives::kAll),
                         [](const auto& made) { return made.param == Survives::kSynced ? "Synced" : "All"; });

/// Whatever a power loss takes, a table that is sealed has all of its rows.
TEST_P(DurableSeal, APowerLossTakesNoRow) {
  std::unique_ptr<FaultFiles> files = new_files(), image;
  {
    const auto database = open(*files);
    const Table table = database->create_table("t", kImmutable).value();
    load(*database, table);
    const Status sealed = database->seal(table);
    ASSERT_TRUE(sealed.ok()) << sealed.message();
    image = files->power_loss_image(GetParam());
  }
  rings_.empty();
  image->pass_through(rings_.path());
  const auto database = open(*image);
  ASSERT_NE(database, nullptr);
  EXPECT_FALSE(database->recovery_report().rings);
  const Table table = database->create_table("t", kImmutable).value();
  EXPECT_TRUE(table.sealed());
  EXPECT_EQ(rows(*database, table), "x=row y=row z=row ");
  EXPECT_EQ(put(*database, table), Outcome::kImmutable);
}

/// The rows must be durable also where results are not held back until they are.
TEST_P(DurableSeal, WaitsUntilTheRowsAreDurable) {
  for (const Release release : {Release::kDurable, Release::kCommit}) {
    rings_.empty();
    const std::unique_ptr<FaultFiles> files = new_files();
    Options by_hand = options();
    by_hand.background = Background::kManual;
    by_hand.release = release;
    const auto database = open(*files, by_hand);
    const Table table = database->create_table("t", kImmutable).value();
    load(*database, table);
    EXPECT_EQ(database->seal(table, /*timeout_us=*/1000).code(), StatusCode::kUnavailable);
    EXPECT_FALSE(table.sealed());
    EXPECT_EQ(put(*database, table), Outcome::kOk) << "it is as before";
  }
}

TEST_P(DurableSeal, AnotherOpeningHasIt) {
  const std::unique_ptr<FaultFiles> files = new_files();
  for (int life = 0; life < 3; ++life) {
    const auto database = open(*files);
    const Table table = database->create_table("t", kImmutable).value();
    EXPECT_EQ(table.sealed(), life > 0);
    if (life == 0) load(*database, table);
    EXPECT_TRUE(database->seal(table).ok());
    EXPECT_EQ(put(*database, table), Outcome::kImmutable);
    EXPECT_EQ(rows(*database, table), "x=row y=row z=row ");
  }
}

TEST_P(DurableSeal, SalvageUnseals) {
  const std::unique_ptr<FaultFiles> files = new_files();
  {
    const auto database = open(*files);
    const Table table = database->create_table("t", kImmutable).value();
    load(*database, table);
    ASSERT_TRUE(database->seal(table).ok());
  }
  Options salvage = options();
  salvage.salvage = true;
  for (const Options& opening : {salvage, options()}) {
    const auto database = open(*files, opening);
    const Table table = database->create_table("t", kImmutable).value();
    EXPECT_FALSE(table.sealed());
    EXPECT_EQ(put(*database, table), Outcome::kOk);
  }
}

/// Then nobody knows whether the next opening will find it sealed.
TEST_P(DurableSeal, IsNotThereIfTheManifestCannotBeWritten) {
  const std::unique_ptr<FaultFiles> files = new_files();
  const auto database = open(*files);
  const Table table = database->create_table("t", kImmutable).value();
  load(*database, table);
  files->plan({.call = FileCall::kRename, .path = "MANIFEST"});
  EXPECT_FALSE(database->seal(table).ok());
  EXPECT_FALSE(table.sealed());
  EXPECT_EQ(put(*database, table), Outcome::kImmutable);
  EXPECT_TRUE(database->seal(table).ok());
  EXPECT_TRUE(table.sealed());
}

TEST_P(DurableSeal, TheDeclarationIsKept) {
  const std::unique_ptr<FaultFiles> files = new_files();
  { ASSERT_TRUE(open(*files)->create_table("t", kImmutable).ok()); }
  const auto other = open(*files)->create_table("t", {.max_value_bytes = 100});
  EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(other.status().message().find("immutable"), std::string::npos) << other.status().message();
}

}  // namespace
}  // namespace granary::tests
