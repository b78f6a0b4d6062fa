#include "src/cluster/transaction/access.h"

#include <functional>

namespace granary::cluster {

std::uint64_t AccessTable::hash(const txn::RemoteKey& key) {
  const std::uint64_t place = reinterpret_cast<std::uintptr_t>(key.table) ^ std::uint64_t{key.home} << 48;
  return std::hash<std::string_view>()(key.key) ^ place * 0x9E3779B97F4A7C15ull;
}

Access* AccessTable::find(const txn::RemoteKey& key) {
  const std::uint64_t wanted = hash(key);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = wanted & mask; slots_[at] != 0; at = (at + 1) & mask) {
    Access& access = entries_[slots_[at] - 1];
    const txn::RemoteKey& there = access.key;
    if (access.hash == wanted && there.table == key.table && there.home == key.home && there.key == key.key)
      return &access;
  }
  return nullptr;
}

Access& AccessTable::add(const txn::RemoteKey& key, const KnownTable* table) {
  if (size_ == entries_.size()) entries_.emplace_back();
  Access& access = entries_[size_++] = Access{.key = key, .table = table, .hash = hash(key)};
  if (size_ * 2 > slots_.size()) {
    slots_.assign(slots_.size() * 2, 0);
    for (std::size_t i = 0; i < size_; ++i) place(i);
  } else {
    place(size_ - 1);
  }
  return access;
}

void AccessTable::place(std::size_t index) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = entries_[index].hash & mask;
  while (slots_[at] != 0) at = (at + 1) & mask;
  slots_[at] = static_cast<std::uint32_t>(index + 1);
}

void AccessTable::clear() {
  size_ = 0;
  if (entries_.size() > kMostKept) entries_.resize(kMostKept);
  slots_.assign(kFewSlots, 0);
}

}  // namespace granary::cluster
