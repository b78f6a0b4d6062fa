#pragma once
// A directory for log rings that a test may take away, as a power loss does, or keep, as the death of a process does.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/contents.h"

namespace granary::tests {

class RingDirectory {
 public:
  using Contents = std::map<std::string, std::string>;

  /// Makes the directory where GRANARY_TEST_RINGS says, or else in memory, if the system has a place for that.
  RingDirectory() {
    const char* const asked = std::getenv("GRANARY_TEST_RINGS");
    const std::string usual = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir();
    const std::string parent = asked == nullptr ? usual : std::string(asked) + "/";
    std::string name = parent + "granary-test-XXXXXX";
    path_ = ::mkdtemp(name.data()) == nullptr ? std::string() : name;
    EXPECT_FALSE(path_.empty()) << "cannot make a directory below " << parent;
  }
  ~RingDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  RingDirectory(const RingDirectory&) = delete;
  RingDirectory& operator=(const RingDirectory&) = delete;

  const std::string& path() const { return path_; }

  /// Returns the present contents of the rings, by path below this one. They may be in use.
  Contents contents() const {
    Contents files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (!entry.is_regular_file()) continue;
      files[entry.path().lexically_relative(path_)] = tests::contents(entry.path());
    }
    return files;
  }
  void empty() const { replace({}); }
  void replace(const Contents& files) const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove_all(entry.path());
    for (const auto& [name, bytes] : files) {
      const std::filesystem::path path = std::filesystem::path(path_) / name;
      // Rings in a directory that other users can write to are refused.
      if (std::filesystem::create_directories(path.parent_path()))
        std::filesystem::permissions(path.parent_path(), std::filesystem::perms::owner_all);
      std::ofstream file(path, std::ios::binary);
      file << bytes;
      EXPECT_TRUE(file.flush().good()) << "cannot write " << path;
    }
  }

 private:
  std::string path_;
};

}  // namespace granary::tests
