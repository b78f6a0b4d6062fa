// Paths of a database where the working directory does not say what they mean.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/crash_child.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

TEST(Paths, ARelativeOneIsRefusedWhereTheWorkingDirectoryIsGone) {
  const TemporaryDirectory directory;
  const RingDirectory rings;
  CrashChild child([&](const CrashChild::Report& report) {
    const std::string gone = directory / "gone";
    std::filesystem::create_directory(gone);
    std::filesystem::current_path(gone);
    std::filesystem::remove(gone);
    Options options = manual_options();
    options.reliable_directory = rings.path();
    for (const std::string& path : {std::string("db"), directory / "db"}) {
      options.directory = path;
      const Status opened = Database::open(options).status();
      report(opened.ok() ? "opened" : opened.message());
    }
  });
  EXPECT_EQ(child.wait().exit_code, 0);
  EXPECT_THAT(child.lines(),
              testing::ElementsAre(testing::StartsWith("cannot tell where 'db' is, for want of a working directory"),
                                   "opened"));
}

}  // namespace
}  // namespace granary::tests
