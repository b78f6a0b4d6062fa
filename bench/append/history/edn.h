#pragma once
// Histories as text, one EDN map a line, in the form that Jepsen writes and Elle reads:
//
//   {:type :invoke, :process 0, :f :txn, :value [[:append 5 1] [:r 5 nil]], :time 1200, :index 0}
//   {:type :ok, :process 0, :f :txn, :value [[:append 5 1] [:r 5 [1]]], :time 3400, :index 1}
//
// An empty list that was read is written [], one that is not known nil.

#include <iosfwd>
#include <string_view>

#include <granary/status.h>

#include "bench/append/history/history.h"

namespace granary::bench::history {

/// Writes `history`, numbered by position.
void write_edn(std::ostream& out, const History& history);

/// Reads a history back. Keys of the map that are not ours are skipped, and so are events whose process is no
/// number. kInvalidArgument names the first bad line.
Result<History> read_edn(std::istream& in);

}  // namespace granary::bench::history
