// Directories that a database makes: their names are on the device before anything is in them, also if the process that
// made them was killed, or met an error, before it had synced a name. This program has an fsync() of its own, which
// notes what is synced.

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <granary/granary.h>
#include <gtest/gtest.h>

#include "src/base/file.h"
#include "tests/support/manual_database.h"
#include "tests/support/ring_directory.h"
#include "tests/support/temporary_directory.h"

namespace granary::tests {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using Paths = std::vector<std::string>;

std::mutex mutex;  // guards what follows
Paths synced;      // the directories, in the order of their syncs
/// Is called before each sync, and returns 0, or the error with which the sync fails.
std::function<int(const std::string& path)> before_sync;

int watched_sync(int descriptor) {
  const std::lock_guard lock(mutex);
  const std::string path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
  const int error = before_sync ? before_sync(path) : 0;
  if (error != 0) {
    errno = error;
    return -1;
  }
  const auto done = static_cast<int>(::syscall(SYS_fsync, descriptor));
  if (done == 0) synced.push_back(path);
  return done;
}

class MadeDirectories : public testing::Test {
 protected:
  MadeDirectories() { anew(); }
  ~MadeDirectories() override { before_sync = {}; }

  /// Begins with a root that is not empty, so that only names below it are to be synced.
  void anew() {
    directory_ = std::make_unique<TemporaryDirectory>();
    root_ = fs::canonical(directory_->path());
    std::ofstream(root_ + "/file") << "file";
    synced.clear();
    before_sync = {};
  }
  /// Runs `body` in a process that is killed before the sync at which `kills` returns true.
  void killed(const std::function<bool(const std::string& path)>& kills, const std::function<void()>& body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      before_sync = [&kills](const std::string& path) {
        if (kills(path)) ::kill(::getpid(), SIGKILL);
        return 0;
      };
      body();
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }
  std::string lowest() const { return root_ + "/a/b/c"; }
  /// The directories that name the ones to be made, from the `first` on.
  Paths parents(std::size_t first) const {
    const Paths all = {root_, root_ + "/a", root_ + "/a/b"};
    return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
  }
  static Status make(const std::string& path) { return base::system_files().make_directory(path); }

  std::unique_ptr<TemporaryDirectory> directory_;
  std::string root_;
};

TEST_F(MadeDirectories, HaveTheirNamesSyncedBeforeAnythingIsMadeInThem) {
  before_sync = [](const std::string& path) {
    const auto below = fs::directory_iterator(path);
    for (const auto& entry : below) EXPECT_TRUE(entry.is_regular_file() || fs::is_empty(entry)) << entry;
    return 0;
  };
  ASSERT_TRUE(make(lowest() + "/").ok());
  EXPECT_TRUE(fs::is_directory(lowest()));
  EXPECT_EQ(synced, parents(0));
  synced.clear();
  ASSERT_TRUE(make(root_ + "/a/b").ok());
  EXPECT_EQ(synced, Paths()) << "there is something in it, so its name had been synced";
}

TEST_F(MadeDirectories, AreSyncedByTheNextCallIfTheProcessWasKilledBefore) {
  for (std::size_t nth = 0; nth < parents(0).size(); ++nth) {
    SCOPED_TRACE(nth);
    anew();
    ASSERT_NO_FATAL_FAILURE(killed([nth](const std::string&) { return synced.size() == nth; },
                                   [this] { static_cast<void>(make(lowest())); }));
    ASSERT_TRUE(make(lowest()).ok());
    EXPECT_EQ(synced, parents(nth));
  }
}

TEST_F(MadeDirectories, AreGoneAgainIfTheirNamesCouldNotBeSynced) {
  for (std::size_t nth = 0; nth < parents(0).size(); ++nth) {
    SCOPED_TRACE(nth);
    anew();
    before_sync = [nth](const std::string&) { return synced.size() == nth ? EIO : 0; };
    EXPECT_EQ(make(lowest()).code(), StatusCode::kIoError);
    EXPECT_TRUE(fs::is_empty(parents(0)[nth]) || nth == 0);
    EXPECT_FALSE(fs::exists(root_ + "/a") && nth == 0);
    before_sync = {};
    synced.clear();
    ASSERT_TRUE(make(lowest()).ok());
    EXPECT_EQ(synced, parents(nth == 0 ? 0 : nth - 1)) << "the lowest one that was left is empty, too";
  }
}

TEST_F(MadeDirectories, MayBeFoundWhereTheirNamesCannotBeRead) {
  constexpr uid_t kNobody = 65534;
  const std::string parent = root_ + "/parent", own = parent + "/own";
  ASSERT_TRUE(fs::create_directories(own));
  ASSERT_EQ(::chmod(root_.c_str(), 0711), 0);
  ASSERT_EQ(::chmod(parent.c_str(), 0311), 0);
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chown(own.c_str(), kNobody, kNobody), 0);
  }
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (is_root && ::seteuid(kNobody) != 0) ::_exit(2);
    ::_exit(make(own).ok() && synced.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(::chmod(parent.c_str(), 0700), 0);
}

/// The directory of a database and that of its log, each below another one.
TEST_F(MadeDirectories, OfADatabaseAreSyncedByTheNextOpening) {
  RingDirectory rings;
  for (const char* const name : {"/data", "/logs"}) {
    for (const bool killed_before : {true, false}) {
      SCOPED_TRACE(std::string(name) + (killed_before ? ": killed" : ": an error"));
      anew();
      for (const char* const each : {"/data", "/logs"}) {
        ASSERT_TRUE(fs::create_directory(root_ + each));
        std::ofstream(root_ + each + "/file") << "file";
      }
      Options options = manual_options();
      options.directory = root_ + "/data/db";
      options.log_directories = {root_ + "/logs/log"};
      options.reliable_directory = rings.path();
      const std::string parent = root_ + name;
      if (killed_before) {
        ASSERT_NO_FATAL_FAILURE(killed([&parent](const std::string& path) { return path == parent; },
                                       [&options] { static_cast<void>(Database::open(options)); }));
      } else {
        before_sync = [&parent](const std::string& path) { return path == parent ? EIO : 0; };
        EXPECT_EQ(Database::open(options).status().code(), StatusCode::kIoError);
        before_sync = {};
      }
      synced.clear();
      const auto opened = Database::open(options);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      EXPECT_THAT(synced, Contains(parent));
    }
  }
}

}  // namespace
}  // namespace granary::tests

extern "C" int fsync(int descriptor) { return granary::tests::watched_sync(descriptor); }
