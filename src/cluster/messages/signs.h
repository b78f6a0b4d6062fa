#pragma once
// Looks at the signs of many rings at once (rdma/mailbox/ring.h). A look loads one word for eight rings, and a cache
// line for 64 of them, so it costs about the same however many nodes ask.

#include <bit>
#include <cstdint>
#include <vector>

#include "src/base/shared_words.h"

namespace granary::cluster::messages {

/// One thread uses it.
class Signs {
 public:
  /// `bytes`: a sign for each of so many rings, in registered memory and padded to whole words.
  Signs(const char* bytes, std::size_t rings)
      : words_(reinterpret_cast<const std::uint64_t*>(bytes)),
        seen_(base::round_up_to_word(rings) / base::kWord) {}

  /// Calls `changed` with the number of each ring whose sign is another one than at the last look. Everything that the
  /// ring's sender had written before the sign can be seen then: senders write a sign behind what it is for, and the
  /// load acquires.
  template <typename Changed>
  void look(Changed&& changed) {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const std::uint64_t now = base::load_word(words_ + i);
      for (std::uint64_t differs = now ^ seen_[i]; differs != 0;) {
        const unsigned byte = static_cast<unsigned>(std::countr_zero(differs)) / 8;
        differs &= ~(std::uint64_t{0xff} << (8 * byte));
        changed(i * base::kWord + byte);
      }
      seen_[i] = now;
    }
  }

 private:
  const std::uint64_t* const words_;
  std::vector<std::uint64_t> seen_;  ///< the words as they were at the last look
};

}  // namespace granary::cluster::messages
