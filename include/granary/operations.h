#pragma once
// The arguments and results of the operations of transactions and snapshots: ranges of scans, elements of operations on
// many keys, and what became of them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <granary/function_ref.h>
#include <granary/outcome.h>
#include <granary/table.h>

namespace granary {

/// The result of a get. `size` is the value's whole size, also when the buffer was too small.
struct [[nodiscard]] GetResult {
  Outcome outcome = Outcome::kNotFound;
  std::size_t size = 0;
  explicit operator bool() const { return outcome == Outcome::kOk; }
};

enum class Order : std::uint8_t { kAscending, kDescending };

/// A range of encoded keys and how much of it to visit. Both orders cover the same keys, `from` being the smaller end.
struct ScanRange {
  std::string_view from = {};
  bool from_inclusive = true;
  std::optional<std::string_view> to = std::nullopt;  ///< nullopt: no upper end
  bool to_inclusive = false;
  Order order = Order::kAscending;
  std::size_t limit = ~std::size_t{0};  ///< records to visit at most
};

/// Called for each record of a scan with key and value, valid during the call; return false to stop.
using ScanFn = FunctionRef<bool(std::string_view key, std::string_view value)>;

/// How a scan ended.
struct [[nodiscard]] ScanResult {
  Outcome outcome = Outcome::kOk;
  std::size_t count = 0;  ///< records visited
  explicit operator bool() const { return outcome == Outcome::kOk; }
};

/// One element of a multi_get: `key` and `buffer` go in, `result` comes out.
struct MultiGet {
  Table table;
  std::string_view key;
  std::span<char> buffer;
  GetResult result;
  /// A hint that the transaction will overwrite or remove what it finds. The record is then locked by the read, so that
  /// the commit need not, and others meet the lock until the transaction ends: at another node, if the place of the
  /// record is known, or in an ordered table the place of the key's leaf; at this node, under "no_wait" and
  /// "dl_detect". Anywhere else it changes nothing.
  bool will_write = false;
  /// Where the part begins that is wanted, as in get_part(); kWhole: the whole value, as in get().
  std::uint32_t part_from = kWhole;
  static constexpr std::uint32_t kWhole = ~std::uint32_t{0};

  bool is_part() const { return part_from != kWhole; }
};

/// One element of a multi_put: `table`, `key` and `value` go in, `outcome` comes out.
struct MultiPut {
  Table table;
  std::string_view key;
  std::string_view value;
  Outcome outcome = Outcome::kOk;
};

/// One element of declare().
struct Declared {
  Table table;
  std::string_view key;
  bool write = false;  ///< or only read
};

}  // namespace granary
