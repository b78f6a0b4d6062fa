#pragma once
// Hash tables that another node searches with one-sided READs, as far as the number of READs goes.

#include <cstdint>
#include <memory>

namespace granary::bench::hash {

class CountedTable {
 public:
  virtual ~CountedTable() = default;
  /// Keys differ. False if the table found no place.
  virtual bool insert(std::uint64_t key) = 0;
  /// READs of headers that finding this present key takes; the READ of the record itself is not among them.
  virtual unsigned reads(std::uint64_t key) const = 0;
};

/// DrTM's cluster chaining: the product's own table, with eight slots a bucket. `slots` are those of the main header.
std::unique_ptr<CountedTable> make_cluster(std::uint64_t slots, std::uint64_t seed);
/// Pilaf's cuckoo hashing: three hash functions, one slot a bucket, looked at in order.
std::unique_ptr<CountedTable> make_cuckoo(std::uint64_t slots, std::uint64_t seed);
/// FaRM's hopscotch hashing: one READ brings the neighbourhood of eight slots; keys that fit nowhere in theirs are
/// chained.
std::unique_ptr<CountedTable> make_hopscotch(std::uint64_t slots, std::uint64_t seed);

}  // namespace granary::bench::hash
