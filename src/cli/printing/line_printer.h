#pragma once
// Prints lines without making their writers wait. A terminal that is held (Ctrl-S) or a log collector that hangs does
// not read, and a thread that keeps a membership alive must not wait for it.

#include <cstddef>
#include <memory>
#include <string>

namespace granary::cli {

/// Thread-safe. Lines appear in the order in which they were handed in. While nobody reads, up to kMost of them wait,
/// and later ones are dropped; a line says so once somebody reads again.
class LinePrinter {
 public:
  static constexpr std::size_t kMost = 1024;

  LinePrinter();
  /// Calls flush().
  ~LinePrinter();
  LinePrinter(const LinePrinter&) = delete;
  LinePrinter& operator=(const LinePrinter&) = delete;

  /// Prints `line`, which has its line end. `descriptor` stays open until the process ends, and no other buffer writes
  /// to it.
  void print(int descriptor, std::string line) const;
  /// Waits until all lines are written, but a second at most.
  void flush() const;

 private:
  struct Queue;
  const std::shared_ptr<Queue> queue_;  // shared with the printing thread, which may outlive this object in a write
};

}  // namespace granary::cli
