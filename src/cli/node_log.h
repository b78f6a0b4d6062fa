#pragma once
// What `granary node` says of itself, one line each: as text for people, or as JSON objects for whatever collects logs.

#include <cstdint>
#include <string>
#include <string_view>

#include <granary/cluster.h>

#include "src/cli/printing/line_printer.h"

namespace granary::cli {

enum class LogFormat : std::uint8_t { kText, kJson };

/// "2026-11-24T10:42:07.123Z", of CLOCK_REALTIME.
std::string utc_time(std::uint64_t unix_ms);

/// The notice as a line, with a line end. `node`: that which tells it.
std::string notice_line(LogFormat format, NodeNumber node, const Notice& notice, std::uint64_t unix_ms);

/// Thread-safe. Nobody waits for who reads the lines (line_printer.h).
class NodeLog {
 public:
  NodeLog(LogFormat format, NodeNumber node) : format_(format), node_(node) {}

  /// A line on standard error.
  void tell(const Notice& notice) const;
  /// A step of the node's life, which scripts wait for: on standard output, in text without a time. `cluster`: nullptr
  /// if the node has none.
  void say(const std::string& text, const Cluster* cluster = nullptr) const;
  /// Why the node does not go on, or how it does: on standard error.
  void warn(const std::string& text) const;
  /// Waits a moment for what was told, before something else writes to standard error.
  void flush() const { printer_.flush(); }

 private:
  const LogFormat format_;
  const NodeNumber node_;
  const LinePrinter printer_;
};

}  // namespace granary::cli
