#pragma once
// Judges a list-append history as Elle does: from what was read it infers which transaction overwrote, read or missed
// which, and looks for cycles (Adya's phenomena) and for reads that no order of transactions explains.
//
// It is sound: what it reports is an anomaly. It is complete for what the history shows: every key that was read has
// a known order of versions, up to the longest list read.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/append/history/history.h"

namespace granary::bench::history {

enum class Anomaly : std::uint8_t {
  kMalformed,          ///< it is no history: a completion without an invocation, an element appended twice, ...
  kDuplicateElement,   ///< a list holds an element twice
  kUnknownElement,     ///< a list holds an element that nobody appended
  kMissingElement,     ///< strict: a committed element is in no list, though its key was read later
  kIncompatibleOrder,  ///< two reads of a key, neither of which is a prefix of the other
  kInternal,           ///< a transaction's read contradicts its own earlier operations
  kG1a,                ///< aborted read
  kG1b,                ///< intermediate read
  kLostUpdate,         ///< P4: two committed transactions read one version of a key and both append to it
  kG0,                 ///< a cycle of ww
  kG1c,                ///< a cycle of ww and wr
  kGSingle,            ///< a cycle with exactly one rw: read skew
  kG2Item,             ///< a cycle with several rw: write skew
  kG0RealTime,         ///< the same with real-time edges: serializable perhaps, not strictly so
  kG1cRealTime,
  kGSingleRealTime,
  kG2ItemRealTime,
};
std::string_view name(Anomaly anomaly);

struct Found {
  Anomaly anomaly;
  std::string detail;  ///< what was read, or one shortest cycle
};

struct Verdict {
  std::size_t committed = 0, aborted = 0, unknown = 0;
  std::size_t writers = 0;             ///< the committed transactions that appended something
  std::size_t keys = 0, elements = 0;  ///< keys with a known order of versions, and their elements
  std::vector<Found> found;            ///< at most a few of each kind
  /// Whether the history is valid. A history without writes shows nothing, so it is not, even if nothing is wrong with
  /// it.
  bool valid() const { return found.empty() && writers != 0; }
  /// Whether the only fault is that it is no history.
  bool malformed() const;
  bool has(Anomaly anomaly) const;
  /// Returns one line, or one for each anomaly.
  std::string text() const;
};

struct CheckOptions {
  bool strict = true;  ///< strict serializability: the order in real time counts
  /// Without `strict`: the order in which each process has run its own transactions counts (strong session
  /// serializability).
  bool sessions = false;
};

Verdict check(const History& history, const CheckOptions& options = {});

}  // namespace granary::bench::history
