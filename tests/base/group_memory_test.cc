// Limits of control groups, in directories made like /proc and /sys. Not covered: what the kernel does at a limit.

#include "src/base/group_memory.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/support/units.h"

namespace granary::base {
namespace {

using tests::kMiB;
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

class GroupMemoryTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::string root() const { return directory_.path(); }

 private:
  tests::TemporaryDirectory directory_;
};

TEST_F(GroupMemoryTest, WithoutGroupsThereIsNoLimit) {
  EXPECT_EQ(group_memory(root()).limit_bytes, kNone);
  EXPECT_EQ(group_memory(root()).left_bytes, kNone);
}

TEST_F(GroupMemoryTest, TheLeastLimitOfAGroupAndThoseAroundItCounts) {
  write("/proc/self/cgroup", "0::/system.slice/granary.service");
  write("/sys/fs/cgroup/system.slice/granary.service/memory.max", "max");
  write("/sys/fs/cgroup/system.slice/memory.max", std::to_string(64 * kMiB));
  write("/sys/fs/cgroup/system.slice/memory.current", std::to_string(24 * kMiB));
  EXPECT_EQ(group_memory(root()).limit_bytes, 64 * kMiB);
  EXPECT_EQ(group_memory(root()).left_bytes, 40 * kMiB);
  write("/sys/fs/cgroup/system.slice/granary.service/memory.max", std::to_string(32 * kMiB));
  EXPECT_EQ(group_memory(root()).limit_bytes, 32 * kMiB);
  EXPECT_EQ(group_memory(root()).left_bytes, 32 * kMiB) << "nobody tells how much of it is used";
  write("/sys/fs/cgroup/system.slice/granary.service/memory.current", std::to_string(33 * kMiB));
  EXPECT_EQ(group_memory(root()).left_bytes, 0u);
}

TEST_F(GroupMemoryTest, AContainerHasItsLimitAtTheRoot) {
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/memory.max", std::to_string(16 * kMiB));
  EXPECT_EQ(group_memory(root()).limit_bytes, 16 * kMiB);
}

TEST_F(GroupMemoryTest, TheFirstVersionHasAFolderForMemory) {
  write("/proc/self/cgroup", "7:cpu,cpuacct:/other\n5:memory:/a/b\n0::/");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(group_memory(root()).limit_bytes, 9223372036854771712u) << "its way to say that there is none";
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(16 * kMiB));
  EXPECT_EQ(group_memory(root()).limit_bytes, 16 * kMiB);
}

}  // namespace
}  // namespace granary::base
