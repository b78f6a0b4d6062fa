// A system that does not tell its boot id for a while, as a process sees it that has too many files open or no /proc.
// Whether the log rings of a process that died are of this boot is not known then: the database is not opened, and
// nothing of it is removed.

#include <sys/mount.h>

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/crash_child.h"
#include "tests/support/manual_database.h"
#include "tests/support/mount_namespace.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

constexpr const char* kWhereBootIdsAre = "/proc/sys/kernel/random";

class UnknownBoot : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = enter_mount_namespace(); !why.empty()) GTEST_SKIP() << why;
    if (!hide()) GTEST_SKIP() << why_not_mounted("mount a tmpfs over a directory of /proc");
    show();
  }
  void TearDown() override { show(); }

  static bool hide() { return mount_memory(kWhereBootIdsAre, 4096); }
  static void show() { ::umount2(kWhereBootIdsAre, MNT_DETACH); }

  Options options() const {
    Options options = manual_options();
    options.directory = directory_ / "db";
    options.reliable_directory = rings_.path();
    options.ring_bytes = std::uint64_t{64} << 10;
    return options;
  }
  /// Leaves a transaction that only the log rings have.
  void die_after_a_commit() const {
    CrashChild child([this](const CrashChild::Report&) {
      ManualDatabase database(1, options());
      database.put(database.table("t"), "key", "value");
      ::kill(::getpid(), SIGKILL);
    });
    ASSERT_TRUE(child.wait().killed);
  }
  void see_that_it_is_refused() const {
    ASSERT_TRUE(hide());
    const Status refused = Database::open(options()).status();
    show();
    EXPECT_EQ(refused.code(), StatusCode::kUnavailable) << refused.message();
    EXPECT_THAT(refused.message(), testing::HasSubstr("'/proc/sys/kernel/random/boot_id'"));
  }

  TemporaryDirectory directory_;
  RingDirectory rings_;
};

TEST_F(UnknownBoot, KeepsTheRingsOfAProcessThatDied) {
  ASSERT_NO_FATAL_FAILURE(die_after_a_commit());
  const RingDirectory::Contents before = rings_.contents();
  ASSERT_FALSE(before.empty());
  ASSERT_NO_FATAL_FAILURE(see_that_it_is_refused());
  EXPECT_TRUE(rings_.contents() == before) << "something of the rings is missing";
  ManualDatabase database(1, options());
  EXPECT_TRUE(database->recovery_report().rings);
  EXPECT_EQ(database.value(database.table("t"), "key"), "value");
}

/// The rings of such a generation would count for nothing after the next crash.
TEST_F(UnknownBoot, BeginsNoGeneration) {
  ASSERT_NO_FATAL_FAILURE(see_that_it_is_refused());
  { ManualDatabase database(1, options()); }
  ASSERT_NO_FATAL_FAILURE(see_that_it_is_refused());
  ASSERT_NO_FATAL_FAILURE(die_after_a_commit());
  ManualDatabase database(1, options());
  EXPECT_EQ(database.value(database.table("t"), "key"), "value");
}

}  // namespace
}  // namespace granary::tests
