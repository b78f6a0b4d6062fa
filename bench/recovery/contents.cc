#include "bench/recovery/contents.h"

#include <algorithm>
#include <cstring>

namespace granary::bench::recovery {

std::string key_of(std::uint64_t key) {
  const std::uint64_t word = __builtin_bswap64(key);
  return {reinterpret_cast<const char*>(&word), sizeof word};
}

void make_value(const Load& load, std::uint64_t key, std::uint64_t operation, std::string* value) {
  value->resize(load.value_bytes);
  std::uint64_t state = load.seed ^ (key << 32) ^ operation;
  for (std::size_t at = 0; at < value->size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = base::splitmix64(state);
    std::memcpy(value->data() + at, &word, std::min(sizeof word, value->size() - at));
  }
}

std::vector<std::uint64_t> last_operations(const Load& load) {
  std::vector<std::uint64_t> last(load.keys, 0);
  for (std::uint32_t worker = 0; worker < load.workers; ++worker) {
    KeyStream keys(load, worker);
    const std::uint64_t records = load.records_of(worker);
    for (std::uint64_t operation = 1; operation <= records; ++operation) last[keys.next()] = operation;
  }
  return last;
}

}  // namespace granary::bench::recovery
