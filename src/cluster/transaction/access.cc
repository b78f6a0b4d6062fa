#include "src/cluster/transaction/access.h"

#include <functional>

namespace granary::cluster {

std::uint64_t AccessTable::hash(const txn::RemoteKey& key) {
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(key.table) ^ std::uint64_t{key.home} << 48;
  return std::hash<std::string_view>()(key.key) ^ place * 0x9E3779B97F4A7C15ull;
}

Access* AccessTable::find(const txn::RemoteKey& key) {
  const auto [from, to] = by_key_.equal_range(hash(key));
  for (auto at = from; at != to; ++at) {
    const txn::RemoteKey& there = at->second->key;
    if (there.table == key.table && there.home == key.home && there.key == key.key) return at->second;
  }
  return nullptr;
}

Access& AccessTable::add(const txn::RemoteKey& key, const KnownTable* table) {
  Access& access = entries_.emplace_back();
  access.key = key;
  access.table = table;
  by_key_.emplace(hash(key), &access);
  return access;
}

void AccessTable::clear() {
  entries_.clear();
  by_key_.clear();
}

}  // namespace granary::cluster
