// Parts of values that are written in a directory: the log has them alone, and a recovery puts the values together
// again. In which orders it may meet them: tests/recovery/replay_parts_test.cc; at random, with crashes: crash_rig.h.

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/durability/ringed_directory.h"
#include "tests/support/htm_setting.h"

namespace granary::tests {
namespace {

struct PartsCase {
  Survives survives;
  const char* protocol;
};

class DurableParts : public RingedDirectoryFor<PartsCase> {
 protected:
  Options options() const {
    Options options = RingedDirectoryFor::options();
    options.protocol = GetParam().protocol;
    return options;
  }
  using RingedDirectoryFor::open;
  std::unique_ptr<Database> open(FaultFiles& files) const { return open(files, options()); }
  /// Runs it and waits for its release.
  static void run(Database& database, FunctionRef<void(Transaction&)> body) {
    Worker worker = database.register_worker().value();
    const RunResult ran = worker.run(body);
    ASSERT_TRUE(ran);
    ASSERT_TRUE(database.wait_released(ran.ticket).ok());
  }
};
INSTANTIATE_TEST_SUITE_P(Images, DurableParts,
                         testing::Values(PartsCase{Survives::kSynced, "silo"}, PartsCase{Survives::kAll, "silo"},
                                         PartsCase{Survives::kSynced, "tictoc"}, PartsCase{Survives::kAll, "tictoc"}),
                         [](const auto& made) {
                           const std::string images = made.param.survives == Survives::kSynced ? "Synced" : "All";
                           return images + (std::string_view(made.param.protocol) == "silo" ? "Silo" : "TicToc");
                         });

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
    image = files->power_loss_image(GetParam().survives);
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

TEST_P(DurableParts, CostTheLogTheirBytes) {
  if (asked_htm != Htm::kOff) GTEST_SKIP() << "parts are made whole where commits may be in regions";
  const std::unique_ptr<FaultFiles> files = new_files();
  Options wide = options();
  wide.ring_bytes = wide.log_segment_bytes = std::uint64_t{1} << 20;
  const auto database = open(*files, wide);
  const Table table = database->create_table("t", {.max_value_bytes = 1000}).value();
  run(*database, [&](Transaction& t) { EXPECT_EQ(t.put(table, "x", std::string(1000, '-')), Outcome::kOk); });
  // In one piece, or in two members that are side by side.
  const auto cost = [&](std::size_t bytes, std::size_t pieces = 1) {
    constexpr std::uint64_t kTimes = 500;
    const std::uint64_t before = database->statistics().log_bytes;
    Worker worker = database->register_worker().value();
    RunResult ran;
    for (std::uint64_t i = 0; i < kTimes; ++i) {
      ran = worker.run([&](Transaction& t) {
        for (std::size_t piece = 0; piece < pieces; ++piece) {
          const std::size_t from = 1000 - bytes + piece * bytes / pieces;
          EXPECT_EQ(t.update_part(table, "x", from, std::string(bytes / pieces, '#')), Outcome::kOk);
        }
      });
      EXPECT_TRUE(ran);
    }
    EXPECT_TRUE(database->wait_released(ran.ticket).ok());
    return (database->statistics().log_bytes - before) / kTimes;
  };
  EXPECT_LT(cost(100), 250u) << "with headers, markers, and what fills up blocks";
  EXPECT_LT(cost(100, 2), 250u);
  EXPECT_GT(cost(1000), 1000u);
}

/// A checkpoint has what the parts up to it have left; those behind it lie on that.
TEST_P(DurableParts, LieOnACheckpoint) {
  std::unique_ptr<FaultFiles> files = new_files(), image;
  {
    const auto database = open(*files);
    const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
    run(*database, [&](Transaction& t) {
      for (const char* key : {"x", "y"}) EXPECT_EQ(t.put(table, key, "0123456789"), Outcome::kOk);
    });
    for (const char* bytes : {"aaaa", "bbb", "cc"}) {
      run(*database, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 2, bytes), Outcome::kOk); });
      const std::uint64_t seen = database->current_epoch() + 2 * std::uint64_t{options().snapshot_epochs};
      while (database->current_epoch() < seen) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ASSERT_TRUE(database->checkpoint().ok());
    }
    run(*database, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 3, "d"), Outcome::kOk); });
    run(*database, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "y", 9, "e"), Outcome::kOk); });
    image = files->power_loss_image(GetParam().survives);
  }
  rings_.empty();
  image->pass_through(rings_.path());
  const auto database = open(*image);
  EXPECT_NE(database->recovery_report().checkpoint_records, 0u);
  const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
  EXPECT_EQ(rows(*database, table), "x=01cdba6789 y=012345678e ");
}

/// Workers of several loggers have parts of one record, which was removed and inserted again meanwhile.
TEST_P(DurableParts, OfARecordThatWasInsertedAgain) {
  std::unique_ptr<FaultFiles> files = new_files(), image;
  Options several = options();
  several.loggers = 3;
  {
    const auto database = open(*files, several);
    const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
    std::vector<Worker> workers;
    for (int i = 0; i < 3; ++i) workers.push_back(database->register_worker().value());
    Ticket last;
    const auto with = [&](std::size_t worker, FunctionRef<void(Transaction&)> body) {
      const RunResult ran = workers[worker].run(body);
      EXPECT_TRUE(ran);
      last = ran.ticket;
    };
    with(0, [&](Transaction& t) { EXPECT_EQ(t.put(table, "x", "0123456789"), Outcome::kOk); });
    with(1, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 1, "old"), Outcome::kOk); });
    with(2, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 8, "!"), Outcome::kOk); });
    with(1, [&](Transaction& t) { EXPECT_EQ(t.remove(table, "x"), Outcome::kOk); });
    with(2, [&](Transaction& t) { EXPECT_EQ(t.insert(table, "x", "abcdefghij"), Outcome::kOk); });
    with(0, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 4, "new"), Outcome::kOk); });
    with(1, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, "x", 6, "est"), Outcome::kOk); });
    EXPECT_TRUE(database->wait_released(last).ok());
    image = files->power_loss_image(GetParam().survives);
  }
  rings_.empty();
  image->pass_through(rings_.path());
  const auto database = open(*image, several);
  const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
  EXPECT_EQ(rows(*database, table), "x=abcdneestj ");
}

/// What a recovery keeps beside the tables has a limit: then it takes the log in stretches.
TEST_P(DurableParts, OfManyRecordsInLittleMemory) {
  constexpr std::uint32_t kRows = 5000;
  std::unique_ptr<FaultFiles> files = new_files(), image;
  Options small = options();
  small.memory_limit_bytes = std::uint64_t{8} << 20;
  small.ring_bytes = small.log_segment_bytes = std::uint64_t{1} << 20;
  const auto open_typed = [](Database& database) {
    return database.create_table<std::uint32_t, std::array<std::uint32_t, 20>>("t").value();
  };
  {
    const auto database = open(*files, small);
    const auto table = open_typed(*database);
    for (const std::uint32_t round : {0u, 1u, 2u, 3u}) {
      for (std::uint32_t first = 0; first < kRows; first += 100) {
        run(*database, [&](Transaction& t) {
          for (std::uint32_t row = first; row < first + 100; ++row) {
            if (round == 0) {
              EXPECT_EQ(t.put(table, row, {row}), Outcome::kOk);
            }
            const std::uint32_t bytes = row + round;
            const Table& untyped = table;
            EXPECT_EQ(t.update_part(untyped, encode_key(row), 4 * (3 * round + row % 3),
                                    {reinterpret_cast<const char*>(&bytes), sizeof bytes}),
                      Outcome::kOk);
          }
        });
      }
    }
    image = files->power_loss_image(GetParam().survives);
  }
  rings_.empty();
  image->pass_through(rings_.path());
  const auto database = open(*image, small);
  const auto table = open_typed(*database);
  run(*database, [&](Transaction& t) {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      std::array<std::uint32_t, 20> expected{row};
      for (const std::uint32_t round : {0u, 1u, 2u, 3u}) expected[3 * round + row % 3] = row + round;
      ASSERT_EQ(t.get(table, row), expected) << row;
    }
  });
}

/// Parts whose value was lost with a damaged piece of the log are lost with it, and that is said.
TEST_P(DurableParts, SalvageDoesWithoutThoseThatHaveLostTheirValue) {
  if (asked_htm != Htm::kOff) GTEST_SKIP() << "parts are made whole where commits may be in regions";
  std::unique_ptr<FaultFiles> files = new_files(), image;
  {
    const auto database = open(*files);
    const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
    run(*database, [&](Transaction& t) { EXPECT_EQ(t.put(table, "lost", "this is gone"), Outcome::kOk); });
    run(*database, [&](Transaction& t) { EXPECT_EQ(t.put(table, "x", "0123456789"), Outcome::kOk); });
    for (const char* key : {"lost", "x"})
      run(*database, [&](Transaction& t) { EXPECT_EQ(t.update_part(table, key, 0, "part"), Outcome::kOk); });
    image = files->power_loss_image(GetParam().survives);
  }
  rings_.empty();
  image->pass_through(rings_.path());
  for (const std::string& path : image->paths()) {
    if (!path.ends_with(".glog")) continue;
    image->edit(path, [](std::string& bytes) {
      if (const std::size_t at = bytes.find("this is gone"); at != std::string::npos) bytes[at] ^= 1;
    });
  }
  EXPECT_EQ(Database::open(options(), *image).status().code(), StatusCode::kDamaged);
  Options salvage = options();
  salvage.salvage = true;
  const auto database = open(*image, salvage);
  const Table table = database->create_table("t", {.max_value_bytes = 100}).value();
  EXPECT_EQ(rows(*database, table), "x=part456789 ");
  EXPECT_THAT(database->recovery_report().notes,
              testing::Contains(
                  testing::AllOf(testing::HasSubstr("LOST: parts of 1 values"), testing::HasSubstr("key 'lost'"))));
}

}  // namespace
}  // namespace granary::tests
