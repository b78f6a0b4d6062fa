// A direct file holds what was appended, whatever the pieces, the flushes and the syncs; and says when it cannot.

#include "src/base/direct_file.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_directory.h"

namespace granary::base {
namespace {

std::string random_bytes(Random& random, std::size_t most) {
  std::string bytes(random.below(most), '\0');
  for (char& byte : bytes) byte = static_cast<char>(1 + random.below(255));
  return bytes;
}

class DirectFileTest : public testing::Test {
 protected:
  std::unique_ptr<File> create() {
    auto file = system_files().create_direct(path_);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::move(*file);
  }
  std::string contents() { return *read_file(system_files(), path_); }

  tests::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "file";
};

TEST_F(DirectFileTest, HoldsWhatWasAppended) {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    const auto file = create();
    std::string expected;
    for (int step = 0; step < 60; ++step) {
      const std::string piece = random_bytes(random, random.chance(0.1) ? 3 << 20 : 9000);
      ASSERT_TRUE(file->append(piece).ok());
      expected += piece;
      if (random.chance(0.7)) continue;
      ASSERT_TRUE(file->sync().ok());
      const std::string found = contents();
      ASSERT_EQ(found.size(), (expected.size() + kDirectBlock - 1) / kDirectBlock * kDirectBlock);
      ASSERT_TRUE(found.starts_with(expected));
      ASSERT_EQ(found.find_first_not_of('\0', expected.size()), std::string::npos);
    }
    ASSERT_TRUE(system_files().remove(path_).ok());
  }
}

TEST_F(DirectFileTest, RefusesAFileThatIsThere) {
  create();
  const auto again = system_files().create_direct(path_);
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(system_files().create_direct(directory_ / "no/file").status().code(), StatusCode::kNotFound);
}

/// Overlayfs takes O_DIRECT from whoever has opened a file, and then refuses writes and syncs if what lies below cannot
/// do without a page cache, as ramfs.
TEST_F(DirectFileTest, IsWrittenPlainlyWhereTheFileSystemCannot) {
  const tests::SmallDisk disk(1);
  if (!disk.mounted()) GTEST_SKIP() << disk.why();
  const auto directory = [&](const std::string& name) {
    std::filesystem::create_directory(disk.path() + "/" + name);
    return disk.path() + "/" + name;
  };
  const std::string below = directory("below"), over = directory("over");
  ASSERT_EQ(mount("none", below.c_str(), "ramfs", 0, nullptr), 0) << std::strerror(errno);
  const std::string layers = "lowerdir=" + directory("below/lower") + ",upperdir=" + directory("below/upper") +
                             ",workdir=" + directory("below/work");
  if (mount("none", over.c_str(), "overlay", 0, layers.c_str()) != 0)
    GTEST_SKIP() << "no overlayfs here: " << std::strerror(errno);
  for (const std::string& path : {below + "/file", over + "/file"}) {
    const auto file = system_files().create_direct(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_TRUE((*file)->append("some bytes").ok());
    const Status synced = (*file)->sync();
    EXPECT_TRUE(synced.ok()) << synced.message();
    EXPECT_TRUE(read_file(system_files(), path)->starts_with("some bytes"));
  }
}

/// The file may not grow beyond half a buffer: an error of the device, as far as the file can tell.
TEST_F(DirectFileTest, AnErrorSticks) {
  const auto file = create();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1 << 19, before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string piece(1 << 18, 'x');
  EXPECT_TRUE(file->append(piece).ok());
  EXPECT_TRUE(file->sync().ok());
  EXPECT_TRUE(file->append(piece + piece).ok()) << "gathered only";
  const Status failed = file->sync();
  EXPECT_EQ(failed.code(), StatusCode::kIoError);
  EXPECT_NE(failed.message().find(path_), std::string::npos) << failed.message();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_FALSE(file->append("x").ok());
  EXPECT_FALSE(file->sync().ok());
}

}  // namespace
}  // namespace granary::base
