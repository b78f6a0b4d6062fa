// A file that is replaced as a whole: after an error the old one is there, and nothing beside it.

#include <gtest/gtest.h>

#include "tests/support/fault_files.h"

namespace granary::base {
namespace {

using tests::FaultFiles;
using tests::FileCall;

class ReplaceFile : public testing::TestWithParam<FileCall> {};

TEST_P(ReplaceFile, LeavesNothingAsideWhenItFails) {
  FaultFiles files;
  files.put("/d/file", "old");
  files.plan({.call = GetParam(), .code = StatusCode::kDiskFull});
  EXPECT_EQ(replace_file(files, "/d/file", std::string(100, 'n')).code(), StatusCode::kDiskFull);
  EXPECT_EQ(files.paths(), std::vector<std::string>{"/d/file"});
  EXPECT_EQ(files.contents("/d/file"), "old");
  EXPECT_TRUE(replace_file(files, "/d/file", std::string("new")).ok());
  EXPECT_EQ(files.contents("/d/file"), "new");
}

INSTANTIATE_TEST_SUITE_P(Calls, ReplaceFile,
                         testing::Values(FileCall::kCreate, FileCall::kAppend, FileCall::kSync, FileCall::kRename));

}  // namespace
}  // namespace granary::base
