// A device that does not give back some block of the log: an opening says so, and a salvage goes on without it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/log/format.h"
#include "tests/durability/ringed_directory.h"

namespace granary::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr int kRows = 40;
constexpr std::size_t kValueBytes = 9000;  // more than two blocks

class UnreadableBlock : public RingedDirectory {
 protected:
  Options by_hand(bool salvage = false) const {
    Options options = RingedDirectory::options();
    options.background = Background::kManual;
    options.salvage = salvage;
    return options;
  }
  /// Makes a database whose log fills several segments, with values of one character. Ends it in order or by a loss of
  /// power.
  std::unique_ptr<FaultFiles> make(bool in_order, char letter = 'a') const {
    auto files = new_files();
    auto database = open(*files, by_hand());
    const Table table = database->create_table("t").value();
    {
      Worker worker = database->register_worker().value();
      for (int i = 0; i < kRows; ++i) {
        const std::string value(kValueBytes, letter);
        EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.put(table, std::to_string(i), value)); }));
        EXPECT_TRUE(database->step());
      }
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(database->step());
    }
    auto dead = files->power_loss_image(Survives::kSynced);
    database.reset();
    if (in_order) return files;
    rings_.empty();
    return dead;
  }
  static std::size_t count(Database& database) {
    Worker worker = database.register_worker().value();
    Transaction t = worker.begin();
    std::size_t rows = 0;
    const auto found = [&rows](std::string_view, std::string_view) { return ++rows != 0; };
    EXPECT_TRUE(t.scan(database.table("t").value(), {}, found));
    return rows;
  }
  /// Expects that opening fails, that a salvage finds the rows that are left, and that nothing is missed after it.
  void expect_salvaged(FaultFiles& files, const std::string& path, std::size_t left) const {
    const Status refused = Database::open(by_hand(), files).status();
    EXPECT_EQ(refused.code(), StatusCode::kIoError);
    EXPECT_THAT(refused.message(), HasSubstr(path));
    {
      const auto salvaged = open(files, by_hand(true));
      ASSERT_NE(salvaged, nullptr);
      EXPECT_THAT(salvaged->recovery_report().notes, Contains(AllOf(HasSubstr("LOST"), HasSubstr("cannot read"))));
      EXPECT_EQ(count(*salvaged), left);
    }
    const auto again = open(files, by_hand());
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(count(*again), left);
  }
};

TEST_F(UnreadableBlock, OfAMiddleSegmentCostsWhatStoodThere) {
  for (const bool in_order : {true, false}) {
    SCOPED_TRACE(in_order);
    const auto files = make(in_order);
    const std::string path = "/db/" + log::segment_name(1, 0, 1);
    ASSERT_GT(files->contents(path).size(), 30'000u);
    files->make_unreadable(path, 3 * base::kDirectBlock);
    expect_salvaged(*files, path, kRows - 1);
    rings_.empty();
  }
}

/// An unreadable block is read as zeros, and zeros stood there.
TEST_F(UnreadableBlock, OfZerosCostsNothing) {
  const auto files = make(/*in_order=*/true, '\0');
  const std::string path = "/db/" + log::segment_name(1, 0, 1);
  std::uint64_t block = 0;
  while (files->contents(path).find_first_not_of('\0', block) < block + base::kDirectBlock) block += base::kDirectBlock;
  files->make_unreadable(path, block);
  const auto salvaged = open(*files, by_hand(true));
  ASSERT_NE(salvaged, nullptr);
  EXPECT_EQ(count(*salvaged), std::size_t{kRows});
}

/// The last segment is full of zeros behind its entries. Nobody knows whether that is so in the block.
TEST_F(UnreadableBlock, BehindTheLastEntryIsALossAsWell) {
  const auto files = make(/*in_order=*/false);
  std::string last;
  for (const std::string& each : files->paths()) {
    if (each.ends_with(".glog")) last = each;
  }
  const std::uint64_t size = files->contents(last).size();
  files->edit(last, [](std::string& bytes) { bytes.resize(bytes.size() + 4 * base::kDirectBlock, '\0'); });
  files->make_unreadable(last, (size / base::kDirectBlock + 2) * base::kDirectBlock);
  expect_salvaged(*files, last, kRows);
}

}  // namespace
}  // namespace granary::tests
