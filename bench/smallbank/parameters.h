#pragma once
// The parameters of `granary bench smallbank`, from its flags.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <granary/status.h>

#include "bench/harness/command.h"

namespace granary::bench::smallbank {

enum class Type : std::uint8_t {
  kSendPayment,
  kAmalgamate,
  kBalance,
  kDepositChecking,
  kWriteCheck,
  kTransactSavings,
};
inline constexpr std::size_t kTypes = 6;
inline constexpr std::array<std::string_view, kTypes> kTypeNames{"send_payment",     "amalgamate",  "balance",
                                                                 "deposit_checking", "write_check", "transact_savings"};
/// The share of each type in per cent, as DrTM measures it.
inline constexpr std::array<std::uint32_t, kTypes> kMix{25, 15, 15, 15, 15, 15};

/// Whether two customers take part.
constexpr bool has_two(Type type) { return type == Type::kSendPayment || type == Type::kAmalgamate; }

struct Parameters {
  std::uint64_t customers = 100'000;  ///< customers of all partitions together
  std::uint32_t partitions = 1;
  double hot_customers = 0.04;  ///< share of a partition's customers that are hot
  double hot_requests = 0.9;    ///< share of choices that fall on them
  double distributed = 0.01;    ///< share of transactions with two customers whose second one is in another partition
  bool hash = true;
  NodeShare share = {};
  std::uint64_t seed = 1;

  KeyRanges ranges() const { return {customers, partitions}; }
  /// Returns how many of so many customers are hot.
  std::uint64_t hot_of(std::uint64_t count) const {
    return static_cast<std::uint64_t>(static_cast<double>(count) * hot_customers + 0.5);
  }
};

std::vector<Flag> parameter_flags();
/// Takes the parameters. An error is a usage error.
Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags);

std::uint64_t estimated_bytes(const Parameters& parameters);

}  // namespace granary::bench::smallbank
