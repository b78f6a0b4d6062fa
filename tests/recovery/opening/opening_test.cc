// Power fails before any call that an opening makes, also one that moves the log to other directories: the next
// openings find the same database. And which directories an opening accepts. Not covered: crashes of the process with
// rings left, and of transactions.

#include <filesystem>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <granary/granary.h>

#include "src/log/format.h"
#include "tests/support/fault_files.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary {
namespace {

using tests::FaultFiles;
using tests::Survives;

using Directories = std::vector<std::string>;

Options options(const tests::RingDirectory& rings, std::uint32_t loggers, const Directories& logs = {}) {
  Options options;
  options.log_directories = logs;
  options.directory = "/db";
  options.reliable_directory = rings.path();
  options.loggers = loggers;
  options.ring_bytes = std::uint64_t{64} << 10;
  options.background = Background::kManual;
  options.memory_limit_bytes = std::uint64_t{64} << 20;
  options.huge_pages = HugePages::kOff;
  return options;
}

/// Opens, checks that the table holds what was put, and returns what went wrong.
std::string check(FaultFiles& files, std::uint32_t loggers, const Directories& logs = {}) {
  const tests::RingDirectory rings;
  auto opened = Database::open(options(rings, loggers, logs), files);
  if (!opened.ok()) return opened.status().message();
  const auto table = (*opened)->table("t");
  if (!table.ok()) return table.status().message();
  Worker worker = (*opened)->register_worker().value();
  std::string value;
  (void)worker.run([&](Transaction& transaction) { (void)transaction.get(*table, "key", value); });
  return value == "value" ? "" : "the value is missing";
}

/// What a loss of power leaves before a call.
struct Image {
  std::unique_ptr<FaultFiles> files;
  std::size_t number;
  std::string path;  ///< of the call
};
/// Takes images before each call for `files` from now until stop(). They are looked at when the process that they are
/// of is done, as it holds the lock of its rings until then.
class Images {
 public:
  explicit Images(FaultFiles& files) : files_(files) {
    files.set_observer([this](tests::FileCall, const std::string& path) { add(path); });
  }
  void stop() { files_.set_observer({}); }
  const std::vector<Image>& taken() const { return images_; }

 private:
  void add(const std::string& path) {
    const std::lock_guard lock(mutex_);  // the logs of two loggers are read by two threads
    for (const Survives survives : {Survives::kSynced, Survives::kAll, Survives::kRandom}) {
      const std::size_t number = images_.size() + 1;
      images_.push_back({files_.power_loss_image(survives, number), number, path});
    }
  }

  FaultFiles& files_;
  std::mutex mutex_;
  std::vector<Image> images_;
};

class Opening : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Loggers, Opening, testing::Values(1, 2));

/// A closed database.
void make_database(FaultFiles& files, std::uint32_t loggers, const Directories& logs = {}) {
  const tests::RingDirectory rings;
  auto database = Database::open(options(rings, loggers, logs), files).value();
  const Table table = database->create_table("t", TableOptions{}).value();
  Worker worker = database->register_worker().value();
  ASSERT_TRUE(worker.run([&](Transaction& transaction) { (void)transaction.put(table, "key", "value"); }).committed());
}

TEST_P(Opening, MayFailAtEveryCall) {
  FaultFiles files;
  ASSERT_NO_FATAL_FAILURE(make_database(files, GetParam()));
  Images images(files);
  {
    const tests::RingDirectory rings;
    const auto opened = Database::open(options(rings, GetParam()), files);
    EXPECT_TRUE(opened.ok());
    images.stop();
  }
  for (const Image& image : images.taken()) {
    ASSERT_EQ(check(*image.files, GetParam()), "") << "image " << image.number << ", before a call for " << image.path;
  }
  EXPECT_EQ(check(files, GetParam()), "");
  EXPECT_GT(images.taken().size(), 30u);
}

TEST_P(Opening, MayFailWhileTheLogMoves) {
  const Directories moved{"/logs"};
  FaultFiles files;
  ASSERT_NO_FATAL_FAILURE(make_database(files, GetParam()));
  Images images(files);
  {
    const tests::RingDirectory rings;
    const auto opened = Database::open(options(rings, GetParam(), moved), files);
    EXPECT_TRUE(opened.ok());
    images.stop();
  }
  for (const Image& image : images.taken()) {
    // Where it was, then where it was to go, and so on: what the cut left must not come between.
    for (const Directories& logs : {Directories{}, moved, Directories{}, moved}) {
      ASSERT_EQ(check(*image.files, 1, logs), "") << "image " << image.number << ", before a call for " << image.path;
    }
  }
  EXPECT_EQ(check(files, GetParam(), moved), "");
  EXPECT_GT(images.taken().size(), 30u);
}

TEST(OpeningDirectories, ANewOneMustHoldNoLog) {
  FaultFiles files;
  ASSERT_NO_FATAL_FAILURE(make_database(files, 1));
  ASSERT_TRUE(files.make_directory("/logs").ok());
  ASSERT_TRUE(files.create("/logs/" + log::segment_name(7, 0, 0)).ok());
  EXPECT_THAT(check(files, 1, {"/logs"}), testing::HasSubstr("'/logs/" + log::segment_name(7, 0, 0) + "'"));
  EXPECT_TRUE(files.open("/logs/" + log::segment_name(7, 0, 0)).ok()) << "another database may need it";
  EXPECT_EQ(check(files, 1), "");
}

TEST(OpeningDirectories, OneGivenTwiceIsOne) {
  FaultFiles files;
  const Directories twice{"/logs", "/x/../logs/"};
  ASSERT_NO_FATAL_FAILURE(make_database(files, 2, twice));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(check(files, 2, twice), "");
}

/// What a relative path meant is not forgotten when the next program runs elsewhere.
TEST(OpeningDirectories, RelativePathsMeanWhereTheyWereGiven) {
  const tests::TemporaryDirectory here, there;
  const tests::RingDirectory rings;
  const auto open_in = [&](const std::string& working, const std::string& directory, const Directories& logs) {
    std::filesystem::current_path(working);
    Options given = options(rings, 1, logs);
    given.directory = directory;
    const auto opened = Database::open(given);
    return opened.ok() ? std::string() : opened.status().message();
  };
  const std::filesystem::path before = std::filesystem::current_path();
  EXPECT_EQ(open_in(here.path(), "db", {"logs", "./more/"}), "");
  EXPECT_EQ(open_in(there.path(), here / "db", {here / "logs"}), "");
  EXPECT_EQ(open_in(here.path(), "./db", {"more"}), "");
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(there.path())) << "it took the names to be of another place";
}

}  // namespace
}  // namespace granary
