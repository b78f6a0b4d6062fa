// A salvage that is interrupted before its checkpoint: what it gave up is neither forgotten nor in the way of the next
// salvage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/durability/ringed_directory.h"
#include "tests/support/at_sync_point.h"

namespace granary::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;

class InterruptedSalvage : public RingedDirectory {
 protected:
  using Rows = FunctionRef<void(Transaction&)>;

  Status open_database(FaultFiles& files, bool salvage) {
    Options options = RingedDirectory::options();
    options.background = Background::kManual;
    options.salvage = salvage;
    database_.reset();
    auto opened = Database::open(options, files);
    if (!opened.ok()) return opened.status();
    database_ = std::move(*opened);
    people_ = database_->create_table("people").value();
    letters_ = database_->create_table("letters").value();
    const IndexPart town{.length = 6, .encoding = IndexEncoding::kBytes};
    by_town_ = database_->create_index(people_, "by town", {.parts = {town}}).value();
    return {};
  }
  /// Dies after transactions of three kinds: some that stay in the log, some that the log had synced and has lost, and
  /// one that only a ring has.
  std::unique_ptr<FaultFiles> die_with_a_gap(Rows stay, Rows lost, Rows in_ring) {
    const auto files = new_files();
    EXPECT_TRUE(open_database(*files, false).ok());
    std::unique_ptr<FaultFiles> older;
    {
      Worker worker = database_->register_worker().value();
      const auto sync_all_of = [&](Rows rows) {
        EXPECT_TRUE(worker.run(rows));
        for (int epoch = 0; epoch < 3; ++epoch) EXPECT_TRUE(database_->step());
      };
      sync_all_of(stay);
      older = files->power_loss_image(Survives::kSynced);
      sync_all_of(lost);
      EXPECT_TRUE(worker.run(in_ring));
    }
    auto left = die(*files);
    for (const std::string& path : left->paths()) {
      if (path.ends_with(".glog")) left->put(path, older->contents(path));
    }
    return left;
  }
  /// Salvages, and dies once the manifest names the new generation.
  std::unique_ptr<FaultFiles> salvage_and_die(FaultFiles& files) {
    std::unique_ptr<FaultFiles> left;
    RingDirectory::Contents rings;
    {
      const AtSyncPoint dies("engine.log_begun", [&] {
        left = files.process_crash_image();
        rings = rings_.contents();
      });
      const Status salvaged = open_database(files, true);
      EXPECT_TRUE(salvaged.ok()) << salvaged.message();
    }
    database_.reset();
    rings_.replace(rings);
    return left;
  }
  std::string rows_by(const auto& source) {
    Worker worker = database_->register_worker().value();
    Transaction t = worker.begin();
    return scan_text(t, source);
  }
  /// Expects that each opening misses what was lost until a salvage has come to its end.
  void expect_known(FaultFiles& files, const std::string& rows) {
    const Status refused = open_database(files, false);
    EXPECT_EQ(refused.code(), StatusCode::kDamaged);
    EXPECT_THAT(refused.message(), HasSubstr("the file ends here, expected"));
    const Status salvaged = open_database(files, true);
    ASSERT_TRUE(salvaged.ok()) << salvaged.message();
    EXPECT_THAT(database_->recovery_report().notes, Contains(HasSubstr("LOST: transactions of epochs")));
    EXPECT_EQ(rows_by(people_), rows);
    EXPECT_EQ(rows_by(by_town_), rows);
    const Status again = open_database(files, false);
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(rows_by(people_), rows);
    database_.reset();  // before the files
  }

  Table people_, letters_;
  Index by_town_;

 private:
  std::unique_ptr<FaultFiles> die(FaultFiles& files) {
    auto left = files.process_crash_image();
    const RingDirectory::Contents rings = rings_.contents();
    database_.reset();
    rings_.replace(rings);
    return left;
  }

  std::unique_ptr<Database> database_;
};

TEST_F(InterruptedSalvage, StillMissesWhatTheLogHasLost) {
  const auto put = [this](std::string_view town) {
    return [this, town](Transaction& t) { static_cast<void>(t.put(people_, "eve", town)); };
  };
  const auto files = die_with_a_gap(put("Zurich"), put("Berlin"), put("Prague"));
  EXPECT_THAT(open_database(*files, false).message(), HasSubstr("the log has lost what had been synced"));
  const auto left = salvage_and_die(*files);
  expect_known(*left, "eve=Prague ");
}

/// Without its value, the part keeps every replay from coming to its end that does not know of the loss.
TEST_F(InterruptedSalvage, OfAPartWhoseValueWasLostCanBeRepeated) {
  const std::string letter(1000, 'l');  // of a table without an index, so that the log has the part alone
  const auto files =
      die_with_a_gap([this](Transaction& t) { static_cast<void>(t.put(people_, "eve", "Zurich")); },
                     [&](Transaction& t) { static_cast<void>(t.put(letters_, "ada", letter)); },
                     [this](Transaction& t) { static_cast<void>(t.update_part(letters_, "ada", 50, "2")); });
  const auto left = salvage_and_die(*files);
  expect_known(*left, "eve=Zurich ");
}

}  // namespace
}  // namespace granary::tests
