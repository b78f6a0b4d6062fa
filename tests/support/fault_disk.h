#pragma once
// The state behind FaultFiles (tests/support/fault_files.h): the files that the kernel shows, those that the device
// has, and the planned faults.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fault_files.h"

namespace granary::tests {

inline constexpr std::size_t kSector = 512;

/// A file.
struct Inode {
  std::string cache;                        ///< the bytes that reads show
  std::string device;                       ///< the bytes that power loss leaves
  std::vector<bool> dirty;                  ///< the sectors that a sync will write
  std::set<std::uint64_t> unreadable = {};  ///< offsets of blocks that the device does not give back
  bool locked = false;

  bool readable(std::uint64_t begin, std::uint64_t end) const;
  void write(std::size_t at, std::string_view bytes);
  void sync();
  void lose_dirty_pages() { dirty.assign(dirty.size(), false); }
  /// Copies the sector from the cache to the device.
  void write_back(std::size_t sector);
  /// Makes `bytes` the durable contents.
  void become(std::string bytes);
};

using Names = std::map<std::string, std::shared_ptr<Inode>>;

/// A creation (`added`), a removal (`removed`) or a rename (both) that is not durable yet.
struct NameChange {
  std::string directory;
  std::string removed;
  std::string added;
  std::shared_ptr<Inode> inode;

  void apply(Names& names) const;
};

struct PlannedFault {
  Fault fault;
  std::uint64_t matches = 0;  // how many calls have matched so far
};

struct FaultFiles::Disk {
  mutable std::mutex mutex;  // guards the following members
  Names names;               // the names that the kernel shows
  Names durable_names;
  std::vector<NameChange> changes;  // in their order; with them durable_names become names
  std::set<std::string> directories;
  std::uint64_t used = 0;
  std::uint64_t capacity = ~std::uint64_t{0};
  std::vector<PlannedFault> faults;
  std::array<std::uint64_t, static_cast<std::size_t>(FileCall::kCount)> calls{};
  std::uint64_t faults_hit = 0;
  Observer observer;
  std::vector<std::string> passed_through;

  /// Begins a call: tells the observer, takes the lock, and finds the fault that is due.
  std::optional<Fault> begin(FileCall call, const std::string& path, std::unique_lock<std::mutex>& lock);
  bool passes_through(const std::string& path) const;
  void change_names(NameChange change);
  void become_durable();
  std::shared_ptr<Disk> deep_copy() const;
};

std::string parent_of(const std::string& path);

}  // namespace granary::tests
