#include "bench/remote/peer_tables.h"

#include <cstring>
#include <string>
#include <vector>

#include "bench/hash/cuckoo.h"

namespace granary::bench::remote {
namespace {

using hash::Cuckoo;
using hash::Hopscotch;
using hash::kFree;

/// The table ends with copies of its first slots, so that every neighbourhood can be READ at once.
constexpr std::uint64_t kAgain = Hopscotch::kNeighbourhood - 1;
/// Chains have room for one key per so many slots of the table. Far fewer keys go to chains when three quarters of the
/// slots are taken.
constexpr std::uint64_t kChainedPart = 8;

std::uint32_t hopscotch_bytes(std::uint32_t value_bytes) {
  return static_cast<std::uint32_t>(sizeof(HopscotchSlot) + base::round_up_to_word(value_bytes));
}

std::uint64_t hopscotch_table_bytes(std::uint64_t slots, std::uint32_t slot_bytes) {
  return whole_extents((slots + kAgain + slots / kChainedPart + 1) * slot_bytes);
}

class Maker {
 public:
  Maker(memory::Region& region, const rdma::RemoteAddress& base, std::uint64_t slots, std::uint64_t keys,
        std::string_view value, FunctionRef<std::uint64_t(std::uint64_t)> entry_of)
      : region_(region),
        base_(base),
        slots_(slots),
        keys_(keys),
        value_(value),
        entry_of_(entry_of) {}

  Result<PeerTable> cuckoo() {
    Cuckoo table(slots_, kPeerSeed);
    for (std::uint64_t key = 0; key < keys_; ++key) {
      if (!table.insert(key)) return no_place("cuckoo", key);
    }
    char* const first = region_.take(whole_extents(slots_ * sizeof(CuckooSlot)));
    for (std::uint64_t number = 0; number < slots_; ++number) {
      const std::uint64_t key = table.slots()[number];
      CuckooSlot slot{.key = key, .entry = key == kFree ? 0 : entry_of_(key), .checksum = 0, .unused = 0};
      slot.checksum = slot.right_checksum();
      std::memcpy(first + number * sizeof slot, &slot, sizeof slot);
    }
    return PeerTable{address(first), slots_, sizeof(CuckooSlot), false};
  }

  Result<PeerTable> hopscotch(bool inlined) {
    Hopscotch table(slots_, kPeerSeed);
    std::vector<std::uint64_t> chained;
    for (std::uint64_t key = 0; key < keys_; ++key) {
      if (!table.insert(key)) chained.push_back(key);
    }
    if (chained.size() > slots_ / kChainedPart) return no_place("hopscotch", chained.back());
    const std::uint32_t bytes = hopscotch_bytes(inlined ? static_cast<std::uint32_t>(value_.size()) : 0);
    char* const first = region_.take(hopscotch_table_bytes(slots_, bytes));
    for (std::uint64_t number = 0; number < slots_; ++number)
      write(first + number * bytes, table.slots()[number], 0, inlined);
    char* next = first + (slots_ + kAgain) * bytes;
    for (const std::uint64_t key : chained) {
      auto& home = *reinterpret_cast<HopscotchSlot*>(first + Hopscotch::home(key, kPeerSeed, slots_) * bytes);
      write(next, key, home.chain, inlined);
      home.chain = offset(next);
      next += bytes;
    }
    std::memcpy(first + slots_ * bytes, first, kAgain * bytes);
    return PeerTable{address(first), slots_, bytes, inlined};
  }

 private:
  void write(char* at, std::uint64_t key, std::uint64_t chain, bool inlined) const {
    const HopscotchSlot slot{.key = key, .entry = key == kFree ? 0 : entry_of_(key), .chain = chain};
    std::memcpy(at, &slot, sizeof slot);
    if (inlined && key != kFree) std::memcpy(at + sizeof slot, value_.data(), value_.size());
  }
  std::uint64_t offset(const char* at) const { return static_cast<std::uint64_t>(at - region_.base()); }
  rdma::RemoteAddress address(const char* at) const { return base_.plus(offset(at)); }
  static Status no_place(const char* table, std::uint64_t key) {
    return Status(StatusCode::kUnavailable, std::string(table) + " hashing: no place for key " + std::to_string(key));
  }

  memory::Region& region_;
  const rdma::RemoteAddress base_;
  const std::uint64_t slots_;
  const std::uint64_t keys_;
  const std::string_view value_;
  const FunctionRef<std::uint64_t(std::uint64_t)> entry_of_;
};

}  // namespace

std::uint64_t peer_bytes(std::uint64_t slots, std::uint32_t value_bytes) {
  return whole_extents(slots * sizeof(CuckooSlot)) + hopscotch_table_bytes(slots, hopscotch_bytes(0)) +
         hopscotch_table_bytes(slots, hopscotch_bytes(value_bytes));
}

Result<PeerTables> make_peers(memory::Region& region, const rdma::RemoteAddress& base, std::uint64_t slots,
                              std::uint64_t keys, std::string_view value,
                              FunctionRef<std::uint64_t(std::uint64_t)> entry_of) {
  Maker maker(region, base, slots, keys, value, entry_of);
  const auto cuckoo = maker.cuckoo();
  if (!cuckoo.ok()) return cuckoo.status();
  const auto hopscotch = maker.hopscotch(/*inlined=*/false);
  if (!hopscotch.ok()) return hopscotch.status();
  const auto inlined = maker.hopscotch(/*inlined=*/true);
  if (!inlined.ok()) return inlined.status();
  return PeerTables{*cuckoo, *hopscotch, *inlined};
}

}  // namespace granary::bench::remote
