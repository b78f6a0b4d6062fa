#include "tests/crash/disks.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "tests/support/mount_namespace.h"

namespace granary::crash {
namespace {

namespace fs = std::filesystem;

/// Hides what is there: only this process and its children see this one.
const std::string kWorkshop = "/dev/shm";
constexpr std::uint64_t kFileSystemBytes = std::uint64_t{2}
                                           << 30;  ///< bytes of a file system in memory; only used ones take any
constexpr const char* kDiskSize = "32M";

// Not in the system's headers before Linux 6.
constexpr unsigned long kShutDown = _IOR('X', 125, std::uint32_t);
constexpr std::uint32_t kWithoutFlushing = 2;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

int run_program(const std::vector<std::string>& command, std::string* output) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments.front(), arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::array<char, 4096> bytes{};
  for (ssize_t got; (got = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
    if (output != nullptr) output->append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Workshop::Workshop() : why_not_(tests::enter_mount_namespace()) {
  if (why_not_.empty() && !tests::mount_memory(kWorkshop, kFileSystemBytes))
    why_not_ = tests::why_not_mounted("mount a file system in memory at " + kWorkshop);
}

std::string Workshop::new_round() {
  const std::string former = kWorkshop + "/" + std::to_string(rounds_),
                    next = kWorkshop + "/" + std::to_string(++rounds_);
  std::error_code ignored;
  fs::remove_all(former, ignored);
  fs::create_directory(next, ignored);
  return next;
}

bool leave_room(const std::string& path, std::uint64_t bytes) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return false;
  const std::uint64_t used = (status.f_blocks - status.f_bfree) * status.f_frsize;
  return tests::mount_memory(path, used + bytes, /*resize=*/true);
}

MemoryDisk::MemoryDisk(std::string path) : path_(std::move(path)) {
  fs::create_directories(path_);
  if (!tests::mount_memory(path_, kFileSystemBytes)) why_not_ = tests::why_not_mounted("mount a file system in memory");
}

MemoryDisk::~MemoryDisk() { ::umount2(path_.c_str(), MNT_DETACH); }

LoopDisk::LoopDisk(std::string directory)
    : directory_(std::move(directory)),
      store_(store()),
      why_not_(store_.why_not()) {
  if (!why_not_.empty()) return;
  fs::create_directories(path());
  const std::string image = store() + "/image";
  std::string said;
  if (run_program({"truncate", "-s", kDiskSize, image}, &said) != 0 ||
      run_program({"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image}, &said) != 0) {
    why_not_ = "cannot make an ext4 file system: " + first_line(said);
  } else if (!mount()) {
    why_not_ = "cannot mount an ext4 file system on a loop device; that needs root";
  }
}

LoopDisk::~LoopDisk() {
  if (mounted_ && !unmount()) ::umount2(path().c_str(), MNT_DETACH);
}

/// The journal is committed only when somebody syncs, not by the clock.
bool LoopDisk::mount() {
  mounted_ =
      run_program({"mount", "-n", "-t", "ext4", "-o", "loop,noatime,commit=600", store() + "/image", path()}) == 0;
  return mounted_;
}

/// Who was killed a moment ago may still hold it.
bool LoopDisk::unmount() {
  for (int attempt = 0; attempt < 1000 && mounted_; ++attempt) {
    if (::umount2(path().c_str(), 0) == 0) {
      mounted_ = false;
    } else {
      ::usleep(1000);
    }
  }
  return !mounted_;
}

/// The system may write in the middle of it, so it is copied until two copies are the same.
bool LoopDisk::take_image() {
  const std::string image = store() + "/image", copy = directory_ + "/copy";
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (run_program({"cp", "--sparse=always", image, copy}) != 0) return false;
    if (run_program({"cmp", "-s", image, copy}) == 0) return true;
  }
  return false;
}

bool LoopDisk::return_to_image() {
  return unmount() && run_program({"cp", "--sparse=always", directory_ + "/copy", store() + "/image"}) == 0 && mount();
}

bool LoopDisk::detach() const {
  const int descriptor = ::open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  std::uint32_t how = kWithoutFlushing;
  const bool done = ::ioctl(descriptor, kShutDown, &how) == 0;
  ::close(descriptor);
  return done;
}

}  // namespace granary::crash
