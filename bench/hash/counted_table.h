#pragma once
// Hash tables that another node searches with one-sided READs; only the number of READs is modelled.

#include <cstdint>
#include <memory>

namespace granary::bench::hash {

class CountedTable {
 public:
  virtual ~CountedTable() = default;
  /// Inserts a key, which must not be present. Returns false if the table found no place.
  virtual bool insert(std::uint64_t key) = 0;
  /// Returns the READs of headers that it takes to find this present key. The READ of the record itself is not counted.
  virtual unsigned reads(std::uint64_t key) const = 0;
};

/// Makes DrTM's cluster chaining: the product's own table, with eight slots a bucket. `slots` are those of the main
/// header.
std::unique_ptr<CountedTable> make_cluster(std::uint64_t slots, std::uint64_t seed);
/// Makes Pilaf's cuckoo hashing: three hash functions, one slot a bucket, looked at in order.
std::unique_ptr<CountedTable> make_cuckoo(std::uint64_t slots, std::uint64_t seed);
/// Makes FaRM's hopscotch hashing: one READ brings the neighbourhood of eight slots; keys that fit nowhere in theirs
/// are chained.
std::unique_ptr<CountedTable> make_hopscotch(std::uint64_t slots, std::uint64_t seed);

}  // namespace granary::bench::hash
