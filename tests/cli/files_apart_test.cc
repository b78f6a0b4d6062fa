// A file that a benchmark writes is no other file that it writes or reads: one of the two would be lost.

#include <fstream>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

class FilesApart : public testing::Test {
 protected:
  void expect_refused(const std::string& words, const std::string& one, const std::string& other) {
    const Ran ran = granary(words + " --" + one + " --" + other);
    EXPECT_EQ(ran.exit_code, 2) << words << ran.err;
    EXPECT_NE(ran.err.find("are the same file; name another one for one of them\n"), std::string::npos) << ran.err;
  }
  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "file";
  const std::string append_ = "bench append --transactions=10";
};

TEST_F(FilesApart, ThoseThatAreWritten) {
  expect_refused(append_, "history=" + file_, "json=" + file_);
  expect_refused(append_, "history=" + file_, "snapshot_history=" + directory_.path() + "/./file");
  EXPECT_EQ(contents(file_), "");
  std::ofstream(file_) << "kept";
  std::filesystem::create_hard_link(file_, directory_ / "link");
  expect_refused(append_, "snapshot_history=" + file_, "json=" + directory_ / "link");
  expect_refused("bench append", "check=" + file_, "json=" + file_);
  expect_refused("bench predict", "less=" + file_, "json=" + file_);
  expect_refused("cluster run ycsb", "cluster=" + file_, "json=" + file_);
  EXPECT_EQ(contents(file_), "kept");
}

TEST_F(FilesApart, OthersAndDevicesAreTaken) {
  const std::string other = directory_ / "other";
  const Ran apart = granary(append_ + " --history=" + file_ + " --json=" + other);
  EXPECT_EQ(apart.exit_code, 0) << apart.err;
  EXPECT_EQ(contents(file_)[0], '{');
  const Ran nowhere = granary(append_ + " --history=/dev/null --json=/dev/null");
  EXPECT_EQ(nowhere.exit_code, 0) << nowhere.err;
}

}  // namespace
}  // namespace granary::cli
