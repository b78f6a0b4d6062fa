// What is in the place of a file and is none. Not here: what a disk does to files (tests/support/fault_files.h).

#include "src/base/file.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/directory.h"
#include "tests/support/paused_child.h"
#include "tests/support/temporary_directory.h"

namespace {

int entries_to_read = -1;   // the call of readdir() after so many fails; -1: none does
off_t most_allocated = -1;  // a longer call of posix_fallocate() is interrupted and undone; -1: none is

}  // namespace

// These functions take the place of the system's in all of this program.

extern "C" int posix_fallocate(int descriptor, off_t offset, off_t length) {
  static auto* const real = reinterpret_cast<int (*)(int, off_t, off_t)>(::dlsym(RTLD_NEXT, "posix_fallocate"));
  return most_allocated >= 0 && length > most_allocated ? EINTR : real(descriptor, offset, length);
}

extern "C" dirent* readdir(DIR* stream) {
  static auto* const real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  if (entries_to_read < 0 || entries_to_read-- > 0) return real(stream);
  errno = EIO;
  return nullptr;
}

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

/// Things that are no lock file, each made at a path.
constexpr std::pair<const char*, bool (*)(const std::string& path)> kNoLocks[] = {
    {"a pipe", [](const std::string& path) { return ::mkfifo(path.c_str(), 0600) == 0; }},
    {"a directory", [](const std::string& path) { return ::mkdir(path.c_str(), 0700) == 0; }},
    {"a link to nothing", [](const std::string& path) { return ::symlink("nothing", path.c_str()) == 0; }},
    {"a link to itself", [](const std::string& path) { return ::symlink("LOCK", path.c_str()) == 0; }},
    {"a device", [](const std::string& path) { return ::symlink("/dev/null", path.c_str()) == 0; }},
    {"a socket",
     [](const std::string& path) {
       const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
       sockaddr_un at{};
       at.sun_family = AF_UNIX;
       path.copy(at.sun_path, sizeof at.sun_path - 1);
       const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
       ::close(socket);
       return bound;
     }},
};

TEST(Locks, WhatIsNoRegularFileIsRefusedAtOnceAndStays) {
  for (const auto& [what, make] : kNoLocks) {
    SCOPED_TRACE(what);
    const tests::TemporaryDirectory directory;
    const std::string path = directory / "LOCK";
    ASSERT_TRUE(make(path));
    for (const Status& refused : {system_files().lock(path).status(), lock_to_read(path).status()}) {
      EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(refused.message(), testing::AllOf(testing::HasSubstr("'" + path + "'"),
                                                    testing::HasSubstr("it is no regular file: remove it")));
    }
    EXPECT_THAT(system_files().list(directory.path()).value(), testing::ElementsAre("LOCK"));
  }
}

TEST(Locks, ExcludeAlsoThisProcess) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "LOCK";
  EXPECT_EQ(lock_to_read(path).status().code(), StatusCode::kNotFound);
  {
    const auto held = system_files().lock(path);
    ASSERT_TRUE(held.ok());
    for (const Status& refused : {system_files().lock(path).status(), lock_to_read(path).status()}) {
      EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
      EXPECT_THAT(refused.message(), testing::HasSubstr("this or another process has this database open"));
    }
  }
  const auto one = lock_to_read(path), another = lock_to_read(path);
  EXPECT_TRUE(one.ok() && another.ok());
  const Status read = system_files().lock(path).status();
  EXPECT_EQ(read.code(), StatusCode::kUnavailable);
  EXPECT_THAT(read.message(), testing::HasSubstr("locked by a program that only reads the database"));
  EXPECT_TRUE(lock_to_read(path).ok()) << "the attempt left a lock";
}

TEST(Locks, AreNotKeptByAChild) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "LOCK";
  auto whole = system_files().lock(path);
  ASSERT_TRUE(whole.ok());
  const tests::PausedChild child;
  whole->reset();
  auto to_read = lock_to_read(path);
  EXPECT_TRUE(to_read.ok()) << to_read.status().message();
  const tests::PausedChild another;
  if (to_read.ok()) to_read->reset();
  EXPECT_TRUE(system_files().lock(path).ok());
}

TEST(Locks, AreNotGivenUpByAChild) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "LOCK";
  auto held = system_files().lock(path);
  ASSERT_TRUE(held.ok());
  const pid_t child = ::fork();
  if (child == 0) {
    held->reset();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(system_files().lock(path).status().code(), StatusCode::kUnavailable);
}

/// Names that are missing from a list are taken for files that are not there.
TEST(SystemFiles, ADirectoryThatCannotBeReadToItsEndIsAnError) {
  const tests::TemporaryDirectory directory;
  for (const char* name : {"a", "b", "c"}) std::ofstream(directory / name) << name;
  for (int entries = 0; entries < 5; ++entries) {
    entries_to_read = entries;
    const auto names = system_files().list(directory.path());
    entries_to_read = -1;
    EXPECT_EQ(names.status().code(), StatusCode::kIoError) << "after " << entries;
    EXPECT_THAT(names.status().message(), testing::HasSubstr("cannot list '" + directory.path() + "'"));
  }
  EXPECT_THAT(system_files().list(directory.path()).value(), testing::ElementsAre("a", "b", "c"));
}

/// A file system in memory ends the call at a signal, as setting its pages aside takes longer than a timer's period;
/// Linux 6.18 does not any more.
TEST(SystemFiles, AReadThatFailsTellsWhere) {
  const tests::TemporaryDirectory directory;
  const auto opened = system_files().open(directory.path());  // which cannot be read as a file
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  char bytes[10];
  EXPECT_THAT((*opened)->read_at(8192, bytes).status().message(),
              testing::AllOf(testing::HasSubstr("cannot read '" + directory.path() + "'"),
                             testing::EndsWith("(at offset 8192)")));
}

TEST(SystemFiles, SpaceIsSetAsideAlthoughSignalsKeepComing) {
  constexpr std::uint64_t kBytes = (std::uint64_t{5} << 20) + 4096;
  const tests::TemporaryDirectory directory;
  most_allocated = 100'000;
  const Status reserved = system_files().reserve(directory / "reserved", kBytes);
  most_allocated = -1;
  ASSERT_TRUE(reserved.ok()) << reserved.message();
  struct stat about {};
  ASSERT_EQ(::stat((directory / "reserved").c_str(), &about), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(about.st_size), kBytes);
  EXPECT_GE(static_cast<std::uint64_t>(about.st_blocks) * 512, kBytes) << "all of it, not only its end";
}

TEST(SystemFiles, ALimitOfTheProcessIsNoFaultOfTheDisk) {
  for (const int limit : {EMFILE, ENFILE})
    EXPECT_EQ(file_error("open", "file", limit).code(), StatusCode::kUnavailable);
  EXPECT_EQ(file_error("open", "file", EIO).code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace granary::base
