#include "bench/tpcc/payment.h"

#include <charconv>

namespace granary::bench::tpcc {

void prepend_payment(const PaymentRequest& request, std::uint32_t customer, Text<500>& data) {
  constexpr std::size_t kRoom = 80;
  char note[kRoom];
  char* end = note;
  for (const std::uint64_t number :
       {std::uint64_t{customer}, std::uint64_t{request.customer.district}, std::uint64_t{request.customer.warehouse},
        std::uint64_t{request.district}, std::uint64_t{request.warehouse}, static_cast<std::uint64_t>(request.amount),
        std::uint64_t{request.date}}) {
    end = std::to_chars(end, note + kRoom, number).ptr;
    *end++ = ' ';
  }
  const auto length = static_cast<std::size_t>(end - note);
  std::memmove(data.bytes + length, data.bytes, sizeof data.bytes - length);
  std::memcpy(data.bytes, note, length);
}

}  // namespace granary::bench::tpcc
