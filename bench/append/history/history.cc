#include "bench/append/history/history.h"

#include <algorithm>

namespace granary::bench::history {

void sort_by_time(History& history) {
  std::stable_sort(history.begin(), history.end(), [](const Event& a, const Event& b) {
    if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
    return a.type == EventType::kInvoke && b.type != EventType::kInvoke;
  });
}

}  // namespace granary::bench::history
