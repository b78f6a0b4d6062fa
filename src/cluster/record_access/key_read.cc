#include "src/cluster/record_access/key_read.h"

#include <algorithm>

#include "src/base/counter.h"

namespace granary::cluster {

using kvstore::remote::Location;
using kvstore::remote::Lookup;
using kvstore::remote::LookupOutcome;
using rdma::Operation;
using rdma::fiber::Next;

std::size_t KeyRead::buffer_bytes(const kvstore::remote::RemoteTable& table, std::size_t key_bytes) {
  return std::max(Lookup::buffer_bytes(key_bytes), record::shared_record_bytes(key_bytes, table.max_value_bytes));
}

KeyRead::KeyRead(const kvstore::remote::RemoteTable& table, std::string_view key, void* buffer,
                 kvstore::remote::LocationCache* cache, kvstore::remote::LocationCacheCounters& counters,
                 Unknown unknown)
    : AccessStep(table.main),
      table_(&table),
      key_(key),
      buffer_(buffer),
      cache_(cache),
      counters_(&counters) {
  if (const std::optional<Location> known = known_place(unknown)) {
    read_at(*known);
  } else {
    lookup_.emplace(*table_, key_.bytes, buffer_);
  }
}

std::optional<Location> KeyRead::known_place(Unknown unknown) const {
  if (cache_ == nullptr) return std::nullopt;
  if (unknown == Unknown::kIsMiss) return cache_->find(key_.word, *counters_);
  kvstore::remote::LocationCacheCounters uncounted;
  const std::optional<Location> known = cache_->find(key_.word, uncounted);
  if (known) base::bump(counters_->hits);
  return known;
}

void KeyRead::read_at(Location place) {
  place_ = place;
  read_.emplace(table_->at(place.offset()), key_.bytes, place.incarnation(), table_->max_value_bytes, buffer_);
}

RemoteRecord KeyRead::record() const {
  RemoteRecord exact = read_->record();
  exact.set_whole_incarnation(read_->incarnation());
  return exact;
}

void KeyRead::append(std::vector<Operation>& chain) {
  piece_.append(chain);
  if (read_) {
    read_->append(chain);
  } else {
    lookup_->append(chain);
  }
}

Next KeyRead::interpret() {
  piece_.take();
  const Next next = read_ ? read_->interpret() : lookup_->interpret();
  if (next != Next::kEnded) return next;
  if (!read_) return looked_up();
  return read_->outcome() == AccessOutcome::kMoved ? moved() : end(read_->outcome());
}

Next KeyRead::looked_up() {
  lookup_reads_ += lookup_->reads();
  switch (lookup_->outcome()) {
    case LookupOutcome::kHit: break;
    case LookupOutcome::kMiss: return end(AccessOutcome::kMissing);
    default: return end(AccessOutcome::kBusy);
  }
  read_at(Location(lookup_->offset(), lookup_->incarnation()));
  if (cache_ != nullptr) cache_->remember(key_.word, place_, *counters_);
  return Next::kAtOnce;
}

/// The location came from the cache, or from a lookup just before the record moved. It is forgotten in either case.
Next KeyRead::moved() {
  read_.reset();
  if (cache_ != nullptr) cache_->forget(key_.word, place_, *counters_);
  if (!look_again()) return end(AccessOutcome::kBusy);
  lookup_.emplace(*table_, key_.bytes, buffer_);
  return Next::kAtOnce;
}

}  // namespace granary::cluster
