#pragma once
// Disks for databases that are to crash: all of them lie in a file system in memory which only this process and its
// children see, so that nothing of them is left however the process ends.

#include <cstdint>
#include <string>
#include <vector>

namespace granary::crash {

/// Runs a program, waits for its end, and returns its exit code; what it wrote goes to `output`.
int run_program(const std::vector<std::string>& command, std::string* output = nullptr);

/// The place for everything that a test program makes. One a process.
class Workshop {
 public:
  Workshop();
  /// Why there is none, so that the test is to be skipped; else "".
  const std::string& why_not() const { return why_not_; }
  /// An empty directory for one round; that of the round before is removed.
  std::string new_round();

 private:
  std::string why_not_;
  std::uint64_t rounds_ = 0;
};

/// Changes how much room the file system in memory at `path` has beyond what is in it.
[[nodiscard]] bool leave_room(const std::string& path, std::uint64_t bytes);

/// A file system in memory.
class MemoryDisk {
 public:
  /// At `path`, an empty directory.
  explicit MemoryDisk(std::string path);
  ~MemoryDisk();
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  const std::string& why_not() const { return why_not_; }

 private:
  const std::string path_;
  std::string why_not_;
};

/// An ext4 file system in a sparse file, by a loop device. What the device has at any moment is what that file holds.
class LoopDisk {
 public:
  /// Makes it below `directory`.
  explicit LoopDisk(std::string directory);
  ~LoopDisk();
  LoopDisk(const LoopDisk&) = delete;
  LoopDisk& operator=(const LoopDisk&) = delete;

  const std::string& why_not() const { return why_not_; }
  std::string path() const { return directory_ + "/disk"; }

  /// Keeps what the device has now. Nobody may write to the disk meanwhile.
  [[nodiscard]] bool take_image();
  /// Mounts the image that was taken last, at the same path: what was written to the disk and not synced is gone.
  /// Precondition: no process uses the disk.
  [[nodiscard]] bool return_to_image();
  /// The file system ends at once under whoever uses it, without another write to the device, as when a volume is taken
  /// away. Then take_image() tells what is on it.
  [[nodiscard]] bool detach() const;
  /// The file system in memory in which the sparse file lies. When that is full, writes and syncs of this disk fail,
  /// although by its own count it has room.
  std::string store() const { return directory_ + "/store"; }

 private:
  [[nodiscard]] bool mount();
  [[nodiscard]] bool unmount();

  const std::string directory_;
  const MemoryDisk store_;
  std::string why_not_;
  bool mounted_ = false;
};

}  // namespace granary::crash
