#pragma once
// Computes READs per lookup of hash tables filled to some occupancy: exact expectations, without timing and without
// drawing keys.

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <granary/status.h>

#include "bench/harness/early_end.h"
#include "bench/hash/counted_table.h"

namespace granary::bench::hash {

/// Keys per slot (of the main header) for which the DrTM slides give figures.
inline constexpr std::array<double, 3> kOccupancies{0.50, 0.75, 0.90};

/// A kind of table, with its figures on slide 42 at kOccupancies.
struct TableKind {
  std::string_view name;
  std::unique_ptr<CountedTable> (*make)(std::uint64_t slots, std::uint64_t seed);
  std::array<double, 3> slide_uniform;
  std::array<double, 3> slide_zipf;
};

inline constexpr std::array<TableKind, 3> kTableKinds{{
    {"cluster chaining", make_cluster, {1.008, 1.052, 1.100}, {1.004, 1.039, 1.091}},
    {"hopscotch, 8 (FaRM)", make_hopscotch, {1.000, 1.011, 1.044}, {1.000, 1.020, 1.040}},
    {"cuckoo, 3 (Pilaf)", make_cuckoo, {1.348, 1.652, 1.956}, {1.304, 1.712, 1.924}},
}};

struct Filling {
  std::uint64_t slots = 1 << 20;
  double occupancy = 0.5;
  double theta = 0;
  std::uint64_t tables = 8;  ///< the mean is that of so many tables, each with keys and popularities of its own
  std::uint64_t seed = 1;
  StopSignals* signals = nullptr;  ///< ends it early
};

/// Returns the mean number of READs of a lookup when keys are asked for with zipfian popularity. It is the mean of
/// several tables, because in one table the luck of a popular key weighs much. Returns an error if a table did not take
/// the keys. If a signal has ended it early, the number means nothing.
Result<double> reads_per_lookup(const TableKind& kind, const Filling& filling);

}  // namespace granary::bench::hash
