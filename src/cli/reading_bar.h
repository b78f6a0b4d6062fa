#pragma once
// Shows on standard error how far a tool has come that reads a database or a checkpoint. It shows this only on a
// terminal, to a person who waits; in a file the report is enough.

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "src/cli/inspected_database.h"
#include "src/cli/printing/progress_bar.h"

namespace granary::cli {

class ReadingBar {
 public:
  /// Begins; the tool is going to read about so many bytes.
  explicit ReadingBar(std::uint64_t bytes);
  /// Shows the full bar.
  ~ReadingBar();
  ReadingBar(const ReadingBar&) = delete;
  ReadingBar& operator=(const ReadingBar&) = delete;

  /// Returns a function to call with the number of bytes after each read. Any thread may call it, as long as this
  /// lives.
  std::function<void(std::uint64_t bytes)> counter();

 private:
  std::mutex mutex_;  // guards all members
  std::optional<ProgressBar> bar_;
  RecoveryProgress read_;
};

/// Returns the bytes of all segments of the log; 0 if they cannot be listed.
std::uint64_t log_bytes(const InspectedDatabase& database);
/// Returns how much examine_logs() and examine_checkpoint() read: they read the log twice, to scan and to replay it.
std::uint64_t bytes_to_examine(const InspectedDatabase& database);
/// Returns the bytes of the files in this directory.
std::uint64_t file_bytes(const std::string& directory);

}  // namespace granary::cli
