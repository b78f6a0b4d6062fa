// A process that dies between writing and syncing the name of the next segment at the end of one, and then a loss of
// power: nothing is missing, as nothing stands behind that name that anybody could miss, however torn it is. And
// segments that follow one another within one epoch.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/durability/ringed_directory.h"
#include "tests/support/scale.h"

namespace granary::tests {
namespace {

class SegmentLink : public RingedDirectory {
 protected:
  /// The files and rings that a process leaves which dies between writing and syncing that name.
  struct Left {
    std::unique_ptr<FaultFiles> files;
    RingDirectory::Contents rings;
    unsigned rows = 0;
  };

  Options manual() const {
    Options by_hand = options();
    by_hand.background = Background::kManual;
    return by_hand;
  }

  /// Writes rows until the first segment has been synced with the name of the next one; the length of the first row
  /// says where in a sector that stands.
  Left run(std::size_t length) {
    Left left;
    const auto files = new_files();
    ManualDatabase database(open(*files, manual()), 1);
    const Table table = database.table("table");
    bool second = false;
    files->set_observer([&](FileCall call, const std::string& path) {
      if (call != FileCall::kSync || path.find("/log-g") == std::string::npos || left.files != nullptr) return;
      const bool first_segment = path == first_;
      if (first_.empty()) first_ = path;
      if (path != first_) second = true;
      if (!second || !first_segment) return;
      left.files = files->process_crash_image();
      left.rings = rings_.contents();
    });
    for (; left.files == nullptr; ++left.rows) {
      database.put(table, "key " + std::to_string(left.rows), std::string(left.rows == 0 ? length : 1000, 'v'));
      database.pass_epochs(1);
    }
    files->set_observer({});
    return left;
  }

  /// Lets the next process open what the first one has left, do something, and lose power. Nothing is missing then.
  void lose_power_after(std::size_t length, const std::function<void(ManualDatabase&)>& something) {
    SCOPED_TRACE("a first row of " + std::to_string(length) + " bytes");
    first_.clear();
    const Left left = run(length);
    rings_.replace(left.rings);
    left.files->pass_through(rings_.path());
    std::vector<std::unique_ptr<FaultFiles>> images;
    {
      auto opened = open(*left.files, manual());
      ASSERT_NE(opened, nullptr);
      ManualDatabase next(std::move(opened), 1);
      something(next);
      for (std::uint64_t seed = 0; seed < scaled(8); ++seed)
        images.push_back(left.files->power_loss_image(Survives::kRandom, seed));
    }
    for (const auto& image : images) {
      rings_.empty();
      image->pass_through(rings_.path());
      auto opened = open(*image, manual());
      ASSERT_NE(opened, nullptr);
      ManualDatabase database(std::move(opened), 1);
      const std::string last = "key " + std::to_string(left.rows - 1);
      EXPECT_EQ(database.value(database.table("table"), last), std::string(1000, 'v'));
    }
  }

  static constexpr std::size_t kSector = 512, kStep = 8;
  std::string first_;
};

TEST_F(SegmentLink, TornByALossOfPowerAfterTheProcessHasDied) {
  for (std::size_t length = kStep; length <= kSector && !HasFailure(); length += kStep)
    lose_power_after(length, [](ManualDatabase&) {});
}

TEST_F(SegmentLink, TornByALossOfPowerWhileTheNextProcessWrites) {
  for (std::size_t length = kStep; length <= kSector && !HasFailure(); length += kStep) {
    lose_power_after(length, [](ManualDatabase& next) {
      next.put(next.table("table"), "one more", "row");
      next.pass_epochs(3);
    });
  }
}

/// While a transaction stays open, E does not move, and rings that are full have the log go on in further segments.
TEST_F(SegmentLink, HoldsWhereSegmentsEndWithinAnEpochThatFollowsIdleOnes) {
  const auto files = new_files();
  constexpr int kRows = 400;
  {
    ManualDatabase database(open(*files, manual()), 1);
    const Table table = database.table("table");
    database.put(table, "first", "row");
    database.pass_epochs(5);
    const std::uint64_t segments = database->statistics().log_segments;
    for (int i = 0; i < kRows; ++i) database.put(table, "key " + std::to_string(i), std::string(1000, 'v'));
    EXPECT_GT(database->statistics().log_segments, segments + 2);
  }
  auto opened = open(*files, manual());
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(opened->recovery_report().records, std::uint64_t{kRows} + 1);
}

}  // namespace
}  // namespace granary::tests
