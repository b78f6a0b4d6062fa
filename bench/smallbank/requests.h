#pragma once
// Draws the next transaction and its customers.

#include <array>

#include "bench/smallbank/parameters.h"
#include "bench/smallbank/schema.h"
#include "src/base/random.h"

namespace granary::bench::smallbank {

struct BankRequest {
  Type type = Type::kBalance;
  Customer first{}, second{};  ///< the second is used only if has_two(type)
  Cents amount = 0;
};

struct BankReply {
  Cents balance = 0;    ///< what a balance transaction has found: savings and checking
  Cents deposited = 0;  ///< by how much the bank's money has grown; negative if it has shrunk
};

/// Draws one worker's requests, which come from customers of its home partition.
class RequestSource {
 public:
  RequestSource(const Parameters& parameters, std::uint32_t worker);

  BankRequest next();
  std::uint32_t home() const { return home_; }

 private:
  Cents next_amount(Type type);
  /// Draws a customer of the partition. Hot ones, which are the first of each partition, come more often.
  Customer any_customer(std::uint32_t partition);
  Customer other_customer(const Customer& first);

  const Parameters parameters_;
  const KeyRanges ranges_;
  const std::uint32_t home_;
  base::Random random_;
};

}  // namespace granary::bench::smallbank
