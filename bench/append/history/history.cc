#include "bench/append/history/history.h"

#include <algorithm>
#include <iterator>

namespace granary::bench::history {

void sort_by_time(History& history) {
  std::stable_sort(history.begin(), history.end(), [](const Event& a, const Event& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    return a.type == EventType::kInvoke && b.type != EventType::kInvoke;
  });
}

History without_snapshots(const History& history) {
  History kept;
  std::copy_if(history.begin(), history.end(), std::back_inserter(kept),
               [](const Event& one) { return !one.snapshot; });
  return kept;
}

}  // namespace granary::bench::history
