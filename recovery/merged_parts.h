#pragma once
// Merges the parts of one record's value that a recovery has met, in whatever order.
//
// Of each byte, the part with the greatest TID counts (I33). That is right because the TIDs of two transactions that
// write the same record stand in their serial order (I1). A part says nothing about the bytes beside it: these are as
// in the previous version, so the greatest smaller TID decides about them. The rule is that of whole values, byte by
// byte. A whole value, or a removal, is a write of all bytes: it makes the parts with smaller TIDs meaningless, and
// those with greater ones lie on top of it. So the result depends only on the set of the writes, and not on the order
// in which they are met, nor on how often.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/log/format.h"
#include "src/record/tid.h"

namespace granary::recovery {

class MergedParts {
 public:
  /// Adds a part: `bytes`, which the transaction with this TID has written.
  void add(record::TidWord tid, const log::PartHeader& part, std::string_view bytes);

  /// Returns the greatest TID of a part, or 0 if there is none. All bytes of that part are there.
  record::TidWord newest() const { return newest_; }
  /// Returns about how many bytes of memory the parts take. That is no more than a constant times the size of the
  /// largest value that they belong to.
  std::size_t memory_bytes() const { return memory_bytes_; }

  bool any_newer(record::TidWord base) const;
  /// Whether all parts that are newer than `base` belong to a value of so many bytes.
  bool fit(record::TidWord base, std::size_t value_bytes) const;
  /// Calls visit(from, bytes) for all bytes that are newer than `base`, from the first byte to the last.
  template <typename Visit>
  void each_newer(record::TidWord base, const Visit& visit) const {
    for (const Block& block : blocks_) {
      for (const Stretch& stretch : block.stretches) {
        if (is_newer(stretch, base)) visit(stretch.from, stretch.view());
      }
    }
  }

 private:
  /// Bytes of one part, or of a piece of it.
  struct Stretch {
    std::uint32_t from = 0;
    std::uint32_t size = 0;
    record::TidWord tid = 0;
    std::unique_ptr<char[]> bytes;
    std::uint32_t whole_bytes = 0;

    std::uint32_t end() const { return from + size; }
    std::string_view view() const { return {bytes.get(), size}; }
  };
  using Stretches = std::vector<Stretch>;  // ordered by their first byte; they do not overlap
  /// A block of the value. It is small enough that stretches can be moved aside when one comes between them.
  struct Block {
    std::uint32_t number = 0;
    Stretches stretches;
  };

  static bool is_newer(const Stretch& stretch, record::TidWord base);
  Stretches& stretches_of(std::uint32_t block);
  void add_within(Stretches& stretches, const Stretch& added, std::string_view bytes);
  Stretches::iterator insert(Stretches& stretches, Stretches::iterator before, const Stretch& of, std::uint32_t from,
                             std::string_view bytes);
  Stretches::iterator cut(Stretches& stretches, Stretches::iterator older, std::uint32_t from, std::uint32_t to);

  std::vector<Block> blocks_;  // ordered by number
  record::TidWord newest_ = 0;
  std::size_t memory_bytes_ = 0;
};

}  // namespace granary::recovery
