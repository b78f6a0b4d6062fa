// What is in the place of a file and is none. Not here: what a disk does to files (tests/support/fault_files.h).

#include "src/base/file.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace granary::base {
namespace {

TEST(SystemFiles, APipeIsRefusedAndNotWaitedFor) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Status refused = system_files().open(path).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), testing::HasSubstr("'" + path + "': it is no regular file"));
}

TEST(SystemFiles, ALimitOfTheProcessIsNoFaultOfTheDisk) {
  for (const int limit : {EMFILE, ENFILE})
    EXPECT_EQ(file_error("open", "file", limit).code(), StatusCode::kUnavailable);
  EXPECT_EQ(file_error("open", "file", EIO).code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace granary::base
