#pragma once
// The events of a run on disk, as they happen. Each is handed to the kernel before the client goes on. So a process
// that is killed leaves all requests of its clients and all answers, except perhaps the end of the last line.

#include <atomic>
#include <memory>
#include <string>

#include <granary/status.h>

#include "bench/append/history/history.h"

namespace granary::bench::append {

class Journal {
 public:
  /// Creates the file, or empties it.
  static Result<std::unique_ptr<Journal>> create(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Writes an event. Thread-safe. The lines of several clients are in an order that real time allows: an invocation is
  /// written before its transaction begins, a completion when it has ended. Does nothing after a failure.
  void write(const history::Event& event);
  /// Returns kIoError or kDiskFull if events are missing in the file. Any thread may call it.
  Status status() const;

 private:
  Journal(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;
  const int descriptor_;
  std::atomic<int> error_{
      0};  // an errno; written by whoever fails first, read by all: relaxed, as nothing else goes with it
};

}  // namespace granary::bench::append
