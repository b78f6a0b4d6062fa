#include "src/cli/doctor/node_checks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "src/base/file.h"
#include "src/base/file_sync.h"
#include "src/base/tsc_clock.h"
#include "src/cli/cluster_check/directory_checks.h"

namespace granary::doctor {
namespace {

using cluster_check::Finding;
using cluster_check::Findings;
using cluster_check::Verdict;
using cluster_config::NodeConfig;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::size_t kWrites = 50;
constexpr std::uint64_t kLongest_ns = 2 * base::kSecondNs;
constexpr double kSlowSync_us = 20'000;

/// A file without a name in a directory, open for direct writes if the file system allows them.
class Scratch {
 public:
  explicit Scratch(const std::string& directory) {
    fd_ = open_in(directory, O_DIRECT);
    direct_ = fd_ >= 0;
    if (!direct_ && errno == EINVAL) fd_ = open_in(directory, 0);
    error_ = errno;
  }
  ~Scratch() {
    if (fd_ >= 0) ::close(fd_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int get() const { return fd_; }
  bool is_direct() const { return direct_; }
  int error() const { return error_; }  ///< why it could not be made

 private:
  /// Opens the file. If the file system knows no files without a name, the file gets one and loses it at once.
  static int open_in(const std::string& directory, int flags) {
    const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, base::kNewFileMode);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
    std::string name = directory + "/granary-doctor-XXXXXX";
    const int named = ::mkostemp(name.data(), O_CLOEXEC | flags);
    if (named >= 0) ::unlink(name.c_str());
    return named;
  }

  int fd_ = -1;
  bool direct_ = false;
  int error_ = 0;
};

struct Aligned {
  void operator()(char* memory) const { std::free(memory); }  // NOLINT: aligned_alloc() made it
};

/// Returns the sorted times of writes of a block, each of which is made durable. They are fewer than asked for if they
/// take too long. If there are none, `error` says why.
std::vector<double> time_syncs(int fd, int& error) {
  const std::unique_ptr<char, Aligned> block(
      static_cast<char*>(std::aligned_alloc(base::kDirectBlock, base::kDirectBlock)));
  std::memset(block.get(), 'g', base::kDirectBlock);
  std::vector<double> times_us;
  const std::uint64_t begin = base::monotonic_ns();
  for (std::uint64_t last = begin; times_us.size() < kWrites && last - begin < kLongest_ns;) {
    const auto at = static_cast<off_t>(times_us.size() * base::kDirectBlock);
    const ssize_t written = ::pwrite(fd, block.get(), base::kDirectBlock, at);
    error = written == static_cast<ssize_t>(base::kDirectBlock) ? base::sync_data(fd) : (written < 0 ? errno : ENOSPC);
    if (error != 0) return {};
    const std::uint64_t now = base::monotonic_ns();
    times_us.push_back(static_cast<double>(now - last) / 1000);
    last = now;
  }
  std::sort(times_us.begin(), times_us.end());
  return times_us;
}

Finding judge_syncs(const std::string& subject, const std::string& path, int fd) {
  int error = 0;
  const std::vector<double> times_us = time_syncs(fd, error);
  if (times_us.empty()) {
    return {.subject = subject,
            .verdict = Verdict::kBad,
            .found = fmt::format("'{}': a write or its sync failed: {}", path, std::strerror(error)),
            .mend = "dmesg tells what the disk or the file system had; see that there is room: df -h " + path};
  }
  const auto percentile = [&](std::size_t percent) { return times_us[(times_us.size() - 1) * percent / 100]; };
  Finding finding{.subject = subject,
                  .found = fmt::format("{} writes of 4 KiB with fdatasync: p50 {:.0f} us, p99 {:.0f} us",
                                       times_us.size(), percentile(50), percentile(99))};
  if (times_us.size() < kWrites || percentile(50) > kSlowSync_us) {
    finding.verdict = Verdict::kWarning;
    if (times_us.size() < kWrites) finding.found += fmt::format("; {} did not fit into 2 s", kWrites);
    finding.mend = "commits wait for this: put data and logs on a faster disk, or raise 'epoch_ms'";
  }
  return finding;
}

void check_disk(std::uint16_t node, const std::string& configured, Findings& findings) {
  const std::string path = cluster_check::existing_directory(configured);
  findings.push_back(judge_file_system(fmt::format("disk of {}", node), configured, file_system_of(path)));
  const Scratch scratch(path);
  const std::string direct = fmt::format("direct I/O of {}", node);
  if (scratch.get() < 0) {
    findings.push_back({.subject = direct,
                        .verdict = Verdict::kBad,
                        .found = fmt::format("no file can be made in '{}': {}", path, std::strerror(scratch.error())),
                        .mend = "let this user write there, or correct the file"});
    return;
  }
  findings.push_back({.subject = direct,
                      .verdict = scratch.is_direct() ? Verdict::kGood : Verdict::kNote,
                      .found = scratch.is_direct() ? "works" : "does not work there: logs go through the page cache"});
  findings.push_back(judge_syncs(fmt::format("syncs of {}", node), path, scratch.get()));
}

}  // namespace

Finding judge_file_system(const std::string& subject, const std::string& path, const FileSystem& disk) {
  Finding finding{.subject = subject,
                  .found = fmt::format("'{}' is on {}, {:.1f} GiB free", path, disk.type,
                                       static_cast<double>(disk.free_bytes) / static_cast<double>(kGiB))};
  const auto judge = [&](Verdict verdict, const char* what, const char* mend) {
    finding.verdict = verdict;
    finding.found += what;
    finding.mend = mend;
  };
  if (disk.type.empty()) {
    judge(Verdict::kBad, "; its file system could not be asked", "make the directory, or correct the file");
  } else if (disk.type == "tmpfs" || disk.type == "ramfs") {
    judge(Verdict::kWarning, ", which is memory: data are gone when the host restarts", "name a directory on a disk");
  } else if (disk.type == "overlay") {
    judge(Verdict::kWarning, ", a container's own: data are gone with the container", "mount a volume there");
  } else if (disk.type == "nfs" || disk.type == "cifs" || disk.type == "smb2" || disk.type == "fuse" ||
             disk.type == "9p") {
    judge(Verdict::kWarning, ", where syncs and locks depend on a server", "name a directory on a local disk");
  } else if (disk.free_bytes < kGiB) {
    judge(Verdict::kWarning, "", "a full disk stops commits: make room, or name another directory");
  } else if (disk.type != "ext4" && disk.type != "xfs") {
    judge(Verdict::kNote, ", on which Granary is not tested", "ext4 is the one that it is tested on");
  }
  return finding;
}

Findings check_disks(std::span<const NodeConfig> here) {
  Findings findings;
  for (const NodeConfig& node : here) {
    std::vector<std::string> directories = node.log_directories;
    directories.insert(directories.begin(), node.data_directory);
    for (const std::string& directory : directories) {
      if (!directory.empty()) check_disk(node.id, directory, findings);
    }
  }
  return findings;
}

}  // namespace granary::doctor
