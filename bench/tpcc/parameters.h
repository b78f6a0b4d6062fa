#pragma once
// The parameters of `granary bench tpcc`, from its flags.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/tpcc/keys.h"
#include "bench/tpcc/random.h"

namespace granary::bench::tpcc {

enum class Type : std::uint8_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
inline constexpr std::size_t kTypes = 5;
inline constexpr std::array<std::string_view, kTypes> kTypeNames{"new_order", "payment", "order_status", "delivery",
                                                                 "stock_level"};

struct Parameters {
  Scale scale;
  std::uint32_t warehouses = 1;
  /// Ranges of warehouses, each with one lock or with tables of its own, in stores that have partitions; 0: one for
  /// each warehouse.
  std::uint32_t partitions = 0;
  std::uint32_t workers = 1;
  std::uint64_t seed = 1;
  /// Shares of the types, adding up to 100.
  std::array<double, kTypes> mix{45, 43, 4, 4, 4};
  /// Probability that an order line is supplied by another warehouse, and that a payment's customer belongs to one.
  double remote_line = 0.01;
  double remote_payment = 0.15;
  /// New-order numbers from a counter outside the transaction (Silo 5.4).
  bool fast_ids = false;
  bool snapshot_stock_level = true;
  /// By how much long texts compress (Random).
  double text_ratio = 1;
  /// Payment as a chain of pieces (payment.h).
  bool chopping = false;
  /// Hash tables where nothing is scanned (Tables::create).
  bool mixed_index = false;
  /// A node of a cluster has a range of the warehouses, which count through all nodes, and loads and drives only that.
  NodeShare share = {};
  /// How long the data will grow, for the estimate of memory.
  double run_seconds = 0;

  KeyRanges partition_ranges() const { return {warehouses, partitions == 0 ? warehouses : partitions}; }
  KeyRanges warehouse_ranges() const { return {warehouses, share.nodes}; }
  /// First of this process's own warehouses, and how many they are.
  std::uint32_t first_warehouse() const { return static_cast<std::uint32_t>(warehouse_ranges()[share.node].from) + 1; }
  std::uint32_t own_warehouses() const { return static_cast<std::uint32_t>(warehouse_ranges()[share.node].size()); }
  bool owns(std::uint32_t warehouse) const {
    return warehouse >= first_warehouse() && warehouse < first_warehouse() + own_warehouses();
  }
  /// The origins of a node's rows of history: so many from this one on. The first is that of what was loaded.
  std::uint32_t history_origins() const { return kHistoryOrigins / share.nodes; }
  std::uint32_t first_history_origin() const { return share.node * history_origins(); }
};

std::vector<Flag> parameter_flags();
/// Gives flags that were not given the values that hold, and adds the shares of order lines and of payments that cross
/// warehouses, of which each of several flags says both.
void set_defaults(FlagValues& flags);
/// Takes the parameters. An error is a usage error.
Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags);

/// Parses "45,43,4,4,4" into shares. The error names the fault.
Result<std::array<double, kTypes>> parse_mix(std::string_view text);

/// The probability of a remote line with which a new-order of 5 to 15 lines, all numbers alike, touches another
/// warehouse with probability `cross` (Silo, Figure 8).
double remote_line_share(double cross);

std::uint64_t loaded_rows(const Parameters& parameters);
std::uint64_t estimated_bytes(const Parameters& parameters);

}  // namespace granary::bench::tpcc
