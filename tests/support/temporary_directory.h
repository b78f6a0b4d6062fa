#pragma once
// A directory of the system that is removed with the object.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace granary::tests {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = testing::TempDir() + "granary-XXXXXX";
    path_ = ::mkdtemp(name.data()) == nullptr ? std::string() : name;
    EXPECT_FALSE(path_.empty()) << "cannot make a directory below " << testing::TempDir();
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace granary::tests
