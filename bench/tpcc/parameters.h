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
  /// How many partitions there are, in stores that have partitions: ranges of warehouses, each with one lock or with
  /// tables of its own. 0: one for each warehouse.
  std::uint32_t partitions = 0;
  std::uint32_t workers = 1;
  std::uint64_t seed = 1;
  /// Shares of the types, adding up to 100.
  std::array<double, kTypes> mix{45, 43, 4, 4, 4};
  /// The probabilities that an order line is supplied by another warehouse, and that a payment's customer belongs to
  /// one.
  double remote_line = 0.01;
  double remote_payment = 0.15;
  /// Whether new orders get their numbers from a counter outside the transaction (Silo 5.4).
  bool fast_ids = false;
  bool snapshot_stock_level = true;
  /// The factor by which long texts compress (Random).
  double text_ratio = 1;
  /// Whether Payment is a chain of pieces (payment.h).
  bool chopping = false;
  /// Whether tables that are never scanned are hash tables (Tables::create).
  bool mixed_index = false;
  /// Whether rows have room for old versions beside them, as Hekaton's have.
  bool versions_in_place = false;
  /// The node's share. Warehouses count through all nodes, and a node loads and drives only its own range of them.
  NodeShare share = {};
  /// How long the data will grow. The estimate of memory uses it.
  double run_seconds = 0;

  KeyRanges partition_ranges() const { return {warehouses, partitions == 0 ? warehouses : partitions}; }
  KeyRanges warehouse_ranges() const { return {warehouses, share.nodes}; }
  /// Return the first of this process's own warehouses, and how many it has.
  std::uint32_t first_warehouse() const { return static_cast<std::uint32_t>(warehouse_ranges()[share.node].from) + 1; }
  std::uint32_t own_warehouses() const { return static_cast<std::uint32_t>(warehouse_ranges()[share.node].size()); }
  bool owns(std::uint32_t warehouse) const {
    return warehouse >= first_warehouse() && warehouse < first_warehouse() + own_warehouses();
  }
  /// Return how many origins a node has for its rows of history, and the first of them, which is that of loaded rows.
  std::uint32_t history_origins() const { return kHistoryOrigins / share.nodes; }
  std::uint32_t first_history_origin() const { return share.node * history_origins(); }
};

std::vector<Flag> parameter_flags();
/// Sets flags that were not given to the values that hold. These include the shares of order lines and of payments that
/// cross warehouses, as each of several flags determines both.
void set_defaults(FlagValues& flags);
/// Takes the parameters. An error is a usage error.
Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags);

/// Parses "45,43,4,4,4" into shares. The error names the fault.
Result<std::array<double, kTypes>> parse_mix(std::string_view text);

/// Returns the probability of a remote line with which a new-order touches another warehouse with probability `cross`
/// (Silo, Figure 8). It has 5 to 15 lines, each number equally often.
double remote_line_share(double cross);

std::uint64_t loaded_rows(const Parameters& parameters);
/// Returns how much memory the data need: the loaded rows and what a usual machine adds to them in the run, with the
/// cores that this process may use.
std::uint64_t estimated_bytes(const Parameters& parameters);
/// Returns how much memory a fast machine comes to use in the run. What of it is not touched before, a thread has to
/// touch while the clients run, and that takes a core from one of them.
std::uint64_t bytes_to_touch(const Parameters& parameters);

}  // namespace granary::bench::tpcc
