#pragma once
// The hash tables of other systems, in the form in which our nodes READ them: Pilaf's cuckoo table, and FaRM's
// hopscotch table twice, with the places of the records in its slots and with the values themselves. The first two lead
// to the records of our table, so that lookups differ by the search only. No table changes while others read it;
// readers nevertheless check all that they would have to check if it did.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <granary/function_ref.h>
#include <granary/status.h>

#include "bench/hash/hopscotch.h"
#include "rdma/fabric.h"
#include "src/base/crc32c.h"
#include "src/base/shared_words.h"
#include "src/memory/slab.h"

namespace granary::bench::remote {

/// The seed of the hash functions by which the tables choose places.
inline constexpr std::uint64_t kPeerSeed = 1;

/// A slot of Pilaf's table, which is READ by itself. The checksum shows a copy that is torn.
struct CuckooSlot {
  std::uint64_t key;
  std::uint64_t entry;  ///< kvstore::hash::Entry of the record
  std::uint64_t checksum;
  std::uint64_t unused;

  std::uint64_t right_checksum() const { return base::crc32c(0, this, offsetof(CuckooSlot, checksum)); }
};

/// Each slot of FaRM's table begins with this. In a table that is `inlined` the value follows.
struct HopscotchSlot {
  std::uint64_t key;
  std::uint64_t entry;  ///< kvstore::hash::Entry of the record
  std::uint64_t chain;  ///< offset of the first slot of the keys that have their home here and got no slot; 0: none
};

inline constexpr std::uint64_t kExtent = memory::SlabPool::kExtentBytes;
/// Regions are cut into whole extents.
constexpr std::uint64_t whole_extents(std::uint64_t bytes) { return (bytes + kExtent - 1) / kExtent * kExtent; }

/// A reader has to know this of a table to search it.
struct PeerTable {
  rdma::RemoteAddress first;  ///< its first slot
  std::uint64_t slots = 0;
  std::uint32_t slot_bytes = 0;
  bool inlined = false;

  rdma::RemoteAddress at(std::uint64_t offset) const { return {first.node, first.region, first.generation, offset}; }
  rdma::RemoteAddress slot(std::uint64_t number) const { return first.plus(number * slot_bytes); }
};

struct PeerTables {
  PeerTable cuckoo, hopscotch, inlined;
};

/// Returns how much of a region all three tables take, with so many slots each.
std::uint64_t peer_bytes(std::uint64_t slots, std::uint32_t value_bytes);

/// Makes the three tables of the keys 0, 1, 2, ... in the region. `entry_of` returns the entry of a key's record.
/// Returns an error if one of them has no place for a key.
Result<PeerTables> make_peers(memory::Region& region, const rdma::RemoteAddress& base, std::uint64_t slots,
                              std::uint64_t keys, std::string_view value,
                              FunctionRef<std::uint64_t(std::uint64_t)> entry_of);

}  // namespace granary::bench::remote
