#include "kvstore/hash/key.h"

#define XXH_INLINE_ALL  // nothing to link
#include <xxhash.h>

namespace granary::kvstore::hash {

std::uint64_t fingerprint(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace granary::kvstore::hash
