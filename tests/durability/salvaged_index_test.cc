// Secondary indexes of a database whose log has lost transactions: they show what their tables have, whatever was lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/durability/ringed_directory.h"

namespace granary::tests {
namespace {

using testing::HasSubstr;

class SalvagedIndex : public testing::TestWithParam<IndexKind> {
 protected:
  SalvagedIndex() {
    options_ = manual_options();
    options_.directory = "/db";
    options_.reliable_directory = rings_.path();
    options_.loggers = 2;
    files_.pass_through(rings_.path());
  }

  void open(bool salvage) {
    options_.salvage = salvage;
    auto opened = Database::open(options_, files_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    database_ = std::move(*opened);
    people_ = database_->create_table("people", {.index = GetParam(), .expected_keys = 100}).value();
    const IndexPart town{.length = 6, .encoding = IndexEncoding::kBytes};
    by_town_ = database_->create_index(people_, "by town", {.parts = {town}}).value();
    alone_ = database_->create_index(people_, "alone in town", {.parts = {town}, .unique = true}).value();
  }
  /// One worker of each logger.
  void put(Worker& worker, std::string_view key, std::string_view town) {
    const RunResult done =
        worker.run([&](Transaction& t) { static_cast<void>(t.put(people_, key, town)); }, {.max_attempts = 5});
    EXPECT_TRUE(done.committed()) << key << " in " << town << ": " << name(done.reason);
    for (int epoch = 0; epoch < 3; ++epoch) database_->step();
  }
  void remove(Worker& worker, std::string_view key) {
    EXPECT_TRUE(worker.run([&](Transaction& t) { static_cast<void>(t.remove(people_, key)); }));
    for (int epoch = 0; epoch < 3; ++epoch) database_->step();
  }
  /// Takes away the power, and what a logger has written from `town` on, which is the one that has written of `other`.
  void lose(std::string_view town, std::string_view other) {
    const auto left = files_.power_loss_image(Survives::kSynced);
    database_.reset();
    rings_.empty();
    for (const std::string& path : files_.paths()) files_.put(path, left->contents(path));
    for (const std::string& path : files_.paths()) {
      if (!path.ends_with(".glog")) continue;
      files_.edit(path, [&](std::string& bytes) {
        if (bytes.find(other) == std::string::npos) return;
        for (std::size_t at = bytes.find(town); at < bytes.size(); ++at) bytes[at] ^= bytes[at] == 0 ? 0 : 1;
      });
    }
  }
  std::string rows_by(const Index& index) {
    Worker worker = database_->register_worker().value();
    Transaction t = worker.begin();
    std::string rows;
    EXPECT_TRUE(t.scan(index, {}, [&](std::string_view key, std::string_view value) {
      rows.append(key).append("=").append(value).append(" ");
      return true;
    }));
    return rows;
  }

  FaultFiles files_;
  RingDirectory rings_;
  Options options_;
  std::unique_ptr<Database> database_;
  Table people_;
  Index by_town_, alone_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, SalvagedIndex, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& info) { return info.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(SalvagedIndex, HasTheEntriesOfItsTable) {
  ASSERT_NO_FATAL_FAILURE(open(false));
  {
    Worker first = database_->register_worker().value(), second = database_->register_worker().value();
    put(first, "ada", "Berlin");
    put(first, "eve", "Zurich");
    for (std::uint32_t epoch = 0; epoch < 2 * options_.snapshot_epochs; ++epoch) database_->step();
    ASSERT_TRUE(database_->checkpoint().ok());
    put(second, "ada", "Prague");  // which will be lost, and with it that nobody is in Berlin
    put(second, "bob", "Lisbon");  // lost: the entries come back of no row
    put(first, "ada", "Vienna");
    remove(second, "eve");  // lost, and then somebody else comes to her town
    put(first, "max", "Zurich");
  }
  lose("Prague", "Lisbon");
  ASSERT_NO_FATAL_FAILURE(open(true));
  EXPECT_THAT(database_->recovery_report().notes, testing::Contains(HasSubstr("the index 'by town' was put in step")));
  for (const bool again : {false, true}) {
    EXPECT_EQ(rows_by(by_town_), "ada=Vienna eve=Zurich max=Zurich ");
    EXPECT_THAT(rows_by(alone_), testing::AnyOf("ada=Vienna eve=Zurich ", "ada=Vienna max=Zurich "));
    if (again) break;
    database_.reset();
    ASSERT_NO_FATAL_FAILURE(open(false));
  }
  Worker worker = database_->register_worker().value();
  put(worker, "ada", "Berlin");
  put(worker, "ada", "Prague");
  EXPECT_EQ(rows_by(by_town_), "ada=Prague eve=Zurich max=Zurich ");
  put(worker, "max", "London");
  put(worker, "eve", "Moscow");
  EXPECT_EQ(rows_by(by_town_), "max=London eve=Moscow ada=Prague ");
  EXPECT_EQ(rows_by(alone_), rows_by(by_town_));
}

/// Nobody takes the entry of a row whose town nobody knows.
TEST_P(SalvagedIndex, TakesFormerValuesAgain) {
  ASSERT_NO_FATAL_FAILURE(open(false));
  {
    Worker first = database_->register_worker().value(), second = database_->register_worker().value();
    put(first, "ada", "Berlin");
    put(second, "ada", "Prague");  // lost
    put(second, "bob", "Lisbon");  // lost
    put(first, "ada", "Vienna");
  }
  lose("Prague", "Lisbon");
  ASSERT_NO_FATAL_FAILURE(open(true));
  Worker worker = database_->register_worker().value();
  put(worker, "ada", "Berlin");
  put(worker, "bob", "Vienna");
  EXPECT_EQ(rows_by(by_town_), "ada=Berlin bob=Vienna ");
  EXPECT_EQ(rows_by(alone_), rows_by(by_town_));
}

}  // namespace
}  // namespace granary::tests
