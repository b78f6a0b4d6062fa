#pragma once
// Histories as text, one EDN map a line, in the form that Jepsen writes and Elle reads:
//
//   {:type :invoke, :process 0, :f :txn, :value [[:append 5 1] [:r 5 nil]], :time 1200, :index 0}
//   {:type :ok, :process 0, :f :txn, :value [[:append 5 1] [:r 5 [1]]], :time 3400, :index 1}
//
// An empty list that was read is written [], and a list that is not known, nil. As in Elle's own examples, `;` begins a
// comment up to the end of its line, and nil as the result of a read (:ok) is an empty list. Two forms are not Elle's:
// [:last 5 1] reads only the last element of list 5, and `:f :snapshot` is a transaction that read a snapshot.

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <granary/status.h>

#include "bench/append/history/history.h"

namespace granary::bench::history {

/// Returns one event's line, with its end. `index` is left out if it is not known yet.
std::string edn_line(const Event& event, std::optional<std::size_t> index);

/// Writes `history`, with the events' positions as their indexes.
void write_edn(std::ostream& out, const History& history);

/// Reads a history. Skips keys of the map that are not ours, and events whose process is no number. kInvalidArgument
/// names the first bad line. If `torn` is given, a last line that is not whole is no error, because the process that
/// wrote the history was killed in the middle of it. The line is left out, and `torn` is set.
Result<History> read_edn(std::istream& in, bool* torn = nullptr);

}  // namespace granary::bench::history
