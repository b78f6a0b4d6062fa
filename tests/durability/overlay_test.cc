// A data directory on an overlay, as a container's own file system is: in the container's layer, in that of its image,
// or a whole database in the image. A process that is killed loses nothing that committed, also if the container is
// started again in between; without the rings ("reboot") nothing that was released.
//
// Not covered: the kernel's death (power_loss_test); file systems below that have no O_DIRECT (direct_file_test).

#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <granary/granary.h>

#include "tests/durability/small_options.h"
#include "tests/support/crash_child.h"
#include "tests/support/mount_namespace.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

enum class Begins : std::uint8_t { kNowhere, kAsEmptyDirectoryOfTheImage, kInTheImage };

struct OverlayCase {
  const char* name;
  Begins database;
  bool rings_on_it;  ///< the rings are on the overlay, too; else in memory
};

class Overlay : public testing::TestWithParam<OverlayCase> {
 protected:
  void SetUp() override {
    if (const std::string why = enter_mount_namespace(); !why.empty()) GTEST_SKIP() << why;
    for (const char* name : {"nothing", "image", "container", "work", "work2", "over"})
      ASSERT_TRUE(std::filesystem::create_directory(disk_ / name));
    if (GetParam().database == Begins::kAsEmptyDirectoryOfTheImage) {
      ASSERT_TRUE(std::filesystem::create_directory(disk_ / "image/db"));
    } else if (GetParam().database == Begins::kInTheImage) {  // which is the layer of the container that made it
      if (!lay("nothing", "image", "work2")) GTEST_SKIP() << why_not_mounted("mount an overlay");
      ASSERT_NO_FATAL_FAILURE(live(std::chrono::milliseconds(100)));
      ASSERT_NO_FATAL_FAILURE(see(/*rings_are_there=*/true));
      ASSERT_NO_FATAL_FAILURE(take_away());
    }
    if (!lay("image", "container", "work")) GTEST_SKIP() << why_not_mounted("mount an overlay");
  }
  void TearDown() override { ::umount2(over().c_str(), MNT_DETACH); }

  std::string over() const { return disk_ / "over"; }
  bool lay(const std::string& lower, const std::string& upper, const std::string& work) const {
    const std::string layers = "lowerdir=" + disk_ / lower + ",upperdir=" + disk_ / upper + ",workdir=" + disk_ / work;
    return ::mount("none", over().c_str(), "overlay", 0, layers.c_str()) == 0;
  }
  /// The kernel may hold files of a process a little longer than the process lives: those of its io_uring.
  void take_away() const {
    for (int tries = 0; ::umount(over().c_str()) != 0; ++tries) {
      ASSERT_TRUE(errno == EBUSY && tries < 6000) << std::strerror(errno);
      ::usleep(10'000);
    }
  }
  /// The container is started again.
  void lay_again() const {
    ASSERT_NO_FATAL_FAILURE(take_away());
    ASSERT_TRUE(lay("image", "container", "work")) << std::strerror(errno);
  }

  Options options() const {
    const std::string directory = over() + "/db";
    Options options = small_options(directory, GetParam().rings_on_it ? directory + "/rings" : rings_.path());
    options.epoch_ms = 5;
    return options;
  }

  void live(std::chrono::milliseconds time);
  void see(bool rings_are_there);

  TemporaryDirectory disk_;
  RingDirectory rings_;
  std::uint64_t committed_ = 0, released_ = 0;  ///< so many keys
};

/// A process that writes one key after the other, and takes a checkpoint now and then, until it is killed.
void Overlay::live(std::chrono::milliseconds time) {
  CrashChild child([this](const CrashChild::Report& report) {
    auto database = Database::open(options());
    if (!database.ok()) return report("refused " + database.status().message());
    const auto table = (*database)->create_table<std::uint64_t, std::uint64_t>("t").value();
    Worker worker = (*database)->register_worker().value();
    for (std::uint64_t key = committed_;; ++key) {
      const RunResult done = worker.run([&](Transaction& t) { static_cast<void>(t.put(table, key, key)); });
      if (!done) return report("refused " + std::string(name(done.reason)));
      report("committed " + std::to_string(key + 1));
      if (key % 64 == 0 && (*database)->wait_released(done.ticket).ok()) report("released " + std::to_string(key + 1));
      if (key % 512 == 0 && !(*database)->checkpoint().ok()) return report("refused a checkpoint");
    }
  });
  ASSERT_TRUE(child.run_until_beginning("released", std::chrono::seconds(60))) << testing::PrintToString(child.lines());
  child.run_for(time);
  child.kill();
  for (const std::string& line : child.lines()) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t number = 0;
    words >> word >> number;
    ASSERT_NE(word, "refused") << line;
    (word == "released" ? released_ : committed_) = number;
  }
}

/// Checks that the killed process has left what it told of, or one key more, which it had no time to tell.
void Overlay::see(bool rings_are_there) {
  const auto database = Database::open(options());
  ASSERT_TRUE(database.ok()) << database.status().message();
  EXPECT_EQ((*database)->recovery_report().rings, rings_are_there) << "else it takes itself for a copy";
  const auto table = (*database)->create_table<std::uint64_t, std::uint64_t>("t").value();
  Worker worker = (*database)->register_worker().value();
  std::uint64_t found = 0;
  Transaction t = worker.begin();
  while (t.get(table, found)) ++found;
  ASSERT_TRUE(t.commit().committed());
  EXPECT_GE(found, rings_are_there ? committed_ : released_);
  EXPECT_LE(found, committed_ + 1);
  committed_ = released_ = found;
}

TEST_P(Overlay, LosesNothingOfAKilledProcess) {
  for (unsigned round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_NO_FATAL_FAILURE(live(std::chrono::milliseconds(20 + 30 * round)));
    if (round % 2 == 1) {
      ASSERT_NO_FATAL_FAILURE(lay_again());
    }
    const bool rings_are_there = GetParam().rings_on_it || round < 4;
    if (!rings_are_there) rings_.empty();
    ASSERT_NO_FATAL_FAILURE(see(rings_are_there));
    ASSERT_FALSE(HasFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Overlay,
                         testing::Values(OverlayCase{"Container", Begins::kNowhere, false},
                                         OverlayCase{"ContainerWithRings", Begins::kNowhere, true},
                                         OverlayCase{"DirectoryOfTheImage", Begins::kAsEmptyDirectoryOfTheImage, false},
                                         OverlayCase{"Image", Begins::kInTheImage, false},
                                         OverlayCase{"ImageWithRings", Begins::kInTheImage, true}),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace granary::tests
