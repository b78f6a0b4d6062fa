// Files with the cluster key: who may read them, and what is a key.

#include "cluster_config/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace granary::cluster_config {
namespace {

using testing::HasSubstr;

class KeyFile : public testing::Test {
 protected:
  void write(const std::string& text) {
    std::ofstream(path_) << text;
    ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  }

  tests::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "key";
};

TEST_F(KeyFile, IsMadePrivateAndNeverTwice) {
  ASSERT_TRUE(make_key(path_).ok());
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  const std::string key = read_key(path_).value();
  EXPECT_EQ(key.size(), 2 * kLeastKeyBytes);
  EXPECT_EQ(make_key(path_).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(read_key(path_).value(), key) << "it is still there";
  ASSERT_TRUE(make_key(directory_ / "other").ok());
  EXPECT_NE(read_key(directory_ / "other").value(), key);
}

TEST_F(KeyFile, IsNotLeftBehindOnAFullDisk) {
  const tests::SmallDisk disk(1);
  if (!disk.mounted()) GTEST_SKIP() << disk.why();
  const std::string filler = disk.path() + "/filler", key = disk.path() + "/key";
  std::ofstream(filler) << std::string(2 << 20, 'x');
  EXPECT_EQ(make_key(key).code(), StatusCode::kDiskFull);
  EXPECT_NE(::access(key.c_str(), F_OK), 0) << "an empty file would refuse the next try";
  ASSERT_EQ(::unlink(filler.c_str()), 0);
  EXPECT_TRUE(make_key(key).ok());
  EXPECT_TRUE(read_key(key).ok());
}

TEST_F(KeyFile, IsRefusedIfOthersMayReadIt) {
  ASSERT_TRUE(make_key(path_).ok());
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  const Result<std::string> key = read_key(path_);
  EXPECT_EQ(key.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(key.status().message(), HasSubstr("(mode 0640); run: chmod 600 " + path_));
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_THAT(read_key(path_).status().message(), HasSubstr("belongs to user 12345, not to user 0"));
}

TEST_F(KeyFile, WhatIsTooShortOrTooLongIsNoKey) {
  write(std::string(31, 'k') + "\n");
  EXPECT_THAT(read_key(path_).status().message(), HasSubstr("has 31 bytes; expected 32 to 4096"));
  write(std::string(32, 'k') + "\r\n");
  EXPECT_EQ(read_key(path_).value(), std::string(32, 'k'));
  write(std::string(100'000, 'k'));
  EXPECT_EQ(read_key(path_).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(read_key(directory_ / "none").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(read_key(directory_.path()).ok());
}

}  // namespace
}  // namespace granary::cluster_config
