// A file that cannot be opened for want of heap memory leaves no descriptor open, and a lock is not kept.

#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "src/base/directory.h"
#include "src/base/file.h"
#include "tests/support/allocations.h"
#include "tests/support/temporary_directory.h"

namespace granary::base {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

struct Opening {
  const char* name;
  /// Opens something in the directory, and whether that went well.
  bool (*open)(const std::string& directory);
};

bool opened(const Result<std::unique_ptr<File>>& file) { return file.ok(); }

class OpenWithoutHeap : public testing::TestWithParam<Opening> {};

TEST_P(OpenWithoutHeap, LeavesNoDescriptorOpen) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const tests::TemporaryDirectory directory;
  ASSERT_TRUE(system_files().lock(directory / "LOCK").ok()) << "the files that are opened are there";
  const std::ptrdiff_t before = open_descriptors();
  int failed = 0;
  for (std::uint64_t number = 1;; ++number) {
    bool done = false;
    tests::failing_allocation = tests::allocations + number;
    try {
      done = GetParam().open(directory.path());
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    tests::failing_allocation = 0;
    ASSERT_EQ(open_descriptors(), before) << "after allocation " << number;
    if (done) break;
  }
  EXPECT_GT(failed, 0);
}

constexpr Opening kOpenings[] = {
    {"File", [](const std::string& at) { return opened(system_files().open(at + "/LOCK")); }},
    {"FileAt", [](const std::string& at) { return opened(system_files().open_at(at + "/LOCK", 0)); }},
    {"Directory", [](const std::string& at) { return opened(system_files().open_directory(at)); }},
    {"Lock", [](const std::string& at) { return opened(system_files().lock(at + "/LOCK")); }},
    {"LockToRead", [](const std::string& at) { return lock_to_read(at + "/LOCK").ok(); }},
    {"List", [](const std::string& at) { return system_files().list(at).ok(); }},
};
std::string name_of(const testing::TestParamInfo<Opening>& opening) { return opening.param.name; }
INSTANTIATE_TEST_SUITE_P(Kinds, OpenWithoutHeap, testing::ValuesIn(kOpenings), name_of);

}  // namespace
}  // namespace granary::base
