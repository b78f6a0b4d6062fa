#include "kvstore/remote/remote_table.h"

#include <array>

#include "kvstore/hash/bucket.h"
#include "src/base/random.h"

namespace granary::kvstore::remote {

std::uint64_t layout_fingerprint(const RemoteTable& table) {
  std::uint64_t mixed = 0;
  for (const std::uint64_t part : std::initializer_list<std::uint64_t>{
           sizeof(hash::Bucket), hash::kSlots, hash::kOffsetBits, hash::kIncarnationBits, sizeof(hash::Name),
           hash::HashedKey("a key that is not 8 bytes long").word, table.max_key_bytes, table.max_value_bytes}) {
    mixed ^= part;
    mixed = base::splitmix64(mixed);
  }
  return mixed;
}

}  // namespace granary::kvstore::remote
