#pragma once
// How far a tool is that reads a database, or a checkpoint, on standard error. Only a terminal sees it: what is printed
// there is for a person who waits, and whoever reads it from a file has the report.

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
  /// The tool is going to read about so many bytes.
  explicit ReadingBar(std::uint64_t bytes);
  /// Ends full.
  ~ReadingBar();
  ReadingBar(const ReadingBar&) = delete;
  ReadingBar& operator=(const ReadingBar&) = delete;

  /// Returns what is to be told of bytes that were read, by any thread, as long as this lives.
  std::function<void(std::uint64_t bytes)> counter();

 private:
  std::mutex mutex_;  // guards all
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
