#pragma once
// Prints the messages of `granary node` about itself, one line each: as text for people, or as JSON objects for
// programs that collect logs.

#include <cstdint>
#include <string>
#include <string_view>

#include <granary/cluster.h>

#include "src/cli/printing/line_printer.h"

namespace granary::cli {

enum class LogFormat : std::uint8_t { kText, kJson };

/// Returns the time in UTC, such as "2026-11-24T10:42:07.123Z"; `unix_ms` is of CLOCK_REALTIME.
std::string utc_time(std::uint64_t unix_ms);

/// Returns the notice as a line, with its line end. `node` is the node that tells it.
std::string notice_line(LogFormat format, NodeNumber node, const Notice& notice, std::uint64_t unix_ms);

/// Thread-safe. No caller waits for the readers of the lines (line_printer.h).
class NodeLog {
 public:
  NodeLog(LogFormat format, NodeNumber node) : format_(format), node_(node) {}

  /// Prints a notice on standard error.
  void tell(const Notice& notice) const;
  /// Prints a step of the node's life, for which scripts wait, on standard output; in text it has no time. `cluster` is
  /// nullptr if the node has none.
  void say(const std::string& text, const Cluster* cluster = nullptr) const;
  /// Prints on standard error why the node does not go on, or how it does.
  void warn(const std::string& text) const;
  /// Waits a moment until earlier lines are written, before something else writes to standard error.
  void flush() const { printer_.flush(); }

 private:
  const LogFormat format_;
  const NodeNumber node_;
  const LinePrinter printer_;
};

}  // namespace granary::cli
