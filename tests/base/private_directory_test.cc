// What may and may not be there when a directory of this user alone is made. Who else could write to it is asked of its
// mode; access lists are not covered.

#include "src/base/private_directory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temporary_directory.h"

namespace granary::base {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PrivateDirectory : public testing::Test {
 protected:
  unsigned mode() const {
    struct stat status {};
    EXPECT_EQ(::lstat(path_.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }
  void expect_refused(const std::string& why) const {
    for (const Status& status : {check_private_directory(path_), make_private_directory(path_)}) {
      EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(status.message(), AllOf(HasSubstr(path_), HasSubstr(why), HasSubstr("remove it")));
    }
  }

  tests::TemporaryDirectory parent_;
  const std::string path_ = parent_ / "private";
};

TEST_F(PrivateDirectory, IsMadeForItsUserOnly) {
  EXPECT_EQ(check_private_directory(path_).code(), StatusCode::kNotFound);
  ASSERT_TRUE(make_private_directory(path_).ok());
  EXPECT_EQ(mode(), 0700U);
  EXPECT_TRUE(check_private_directory(path_).ok());
  EXPECT_TRUE(make_private_directory(path_).ok()) << "it may be there";
}

TEST_F(PrivateDirectory, ThatOthersCanReadIsClosedToThem) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0755), 0);
  EXPECT_TRUE(check_private_directory(path_).ok()) << "nobody else could put anything there";
  ASSERT_TRUE(make_private_directory(path_).ok());
  EXPECT_EQ(mode(), 0700U);
}

TEST_F(PrivateDirectory, ThatOthersCanWriteToIsRefused) {
  for (const mode_t mode : {0770U, 0707U, 01777U}) {
    ASSERT_TRUE(::mkdir(path_.c_str(), 0700) == 0 && ::chmod(path_.c_str(), mode) == 0);
    expect_refused("can be written to by other users");
    std::filesystem::remove(path_);
  }
}

TEST_F(PrivateDirectory, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_TRUE(::mkdir(path_.c_str(), 0700) == 0 && ::chown(path_.c_str(), 65534, 65534) == 0);
  expect_refused("belongs to user 65534, not to user 0");
}

TEST_F(PrivateDirectory, ThatIsALinkOrAFileIsRefused) {
  const std::string elsewhere = parent_ / "elsewhere";
  ASSERT_EQ(::mkdir(elsewhere.c_str(), 0755), 0);
  std::filesystem::create_symlink(elsewhere, path_);
  expect_refused("symbolic link");
  EXPECT_EQ(std::filesystem::status(elsewhere).permissions(), std::filesystem::perms(0755)) << "it was touched";
  std::filesystem::remove(path_);
  std::ofstream(path_) << "a file";
  expect_refused("is no directory");
}

}  // namespace
}  // namespace granary::base
