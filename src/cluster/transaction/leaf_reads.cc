#include "src/cluster/transaction/leaf_reads.h"

#include <algorithm>

#include "src/cc/drtm/drtm.h"
#include "src/cluster/transaction/abort_reasons.h"

namespace granary::cluster {

using kvstore::remote::KnownLeaf;
using kvstore::remote::LeafCache;
using Ended = LeafRead::Outcome;

/// The leaf caches take locks, which is not allowed in an HTM region, so the worker's region ends here.
LeafReads::LeafReads(Footprint& footprint, std::size_t most)
    : footprint_(footprint),
      steps_(footprint.trips.batch<LeafRead>(most)),
      tables_(footprint.trips.batch<const KnownTable*>(most)) {
  cc::drtm::leave_region(footprint.reach().worker);
}

const LeafRead* LeafReads::add(const KnownTable& table, Position at, Unknown unknown) {
  if (table.leaves == nullptr) return nullptr;
  const auto known = table.leaves->find(at, footprint_.reach().counters.leaves, unknown);
  if (!known) return nullptr;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (tables_[i] == &table && steps_[i].leaf().offset == known->offset) return &steps_[i];
  }
  void* const room = footprint_.trips.buffer(LeafRead::kBufferBytes);
  if (room == nullptr) return nullptr;  // the owner is asked instead
  tables_.push_back(&table);
  return &steps_.emplace_back(table.remote.at(known->offset), *known, room);
}

AbortReason LeafReads::run() {
  Batch<Step*> steps = footprint_.trips.batch<Step*>(steps_.size());
  for (LeafRead& step : steps_) steps.push_back(&step);
  footprint_.trips.run(TripPhase::kExecute, std::span<Step* const>(steps));
  kvstore::remote::LeafCacheCounters& counters = footprint_.reach().counters.leaves;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const LeafRead& read = steps_[i];
    LeafCache& cache = *tables_[i]->leaves;
    cc::bump(counters.reads, std::uint64_t{read.reads()});
    if (read.outcome() == Ended::kBroken) return abort_reason_of_failure(read, footprint_.reach());
    if (read.outcome() == Ended::kStale) return abort_reason_of_former_life(read.node(), footprint_.reach());
    if (read.outcome() == Ended::kGone || read.outcome() == Ended::kRefused) cache.forget(read.leaf(), counters);
    if (read.outcome() != Ended::kRead) continue;
    const kvstore::ordered::LeafRange now = read.copy().range();
    if (now.high == read.leaf().range.high) continue;
    if (now.high < read.leaf().range.high) cc::bump(counters.stale, std::uint64_t{1});
    cache.learn({.range = now, .offset = read.leaf().offset});
  }
  return AbortReason::kNone;
}

const LeafRead* LeafReads::covering(const KnownTable& table, Position at) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (tables_[i] != &table || steps_[i].outcome() != Ended::kRead) continue;
    if (steps_[i].copy().covers(at)) return &steps_[i];
  }
  return nullptr;
}

AbortReason LeafReads::note(const txn::TableCore& table, const LeafRead& leaf) {
  return footprint_.note(
      table, leaf.node(),
      {.kind = messages::NodeKind::kLeaf, .offset = leaf.leaf().offset, .version = leaf.copy().version()});
}

void learn_leaves(const KnownTable& table, std::span<const messages::SeenLeaf> leaves) {
  if (table.leaves == nullptr) return;
  for (const messages::SeenLeaf& leaf : leaves) {
    table.leaves->learn({.range = {.low = {leaf.low_slice, leaf.low_code},
                                   .high = {leaf.high_slice, leaf.high_code},
                                   .birth = leaf.birth},
                         .offset = leaf.offset});
  }
}

/// `value` is another node's word and is not checked here: the fabric refuses an address that leads nowhere (I26).
void set_place(Access& access, kvstore::ordered::Value value) {
  const kvstore::remote::RemoteTable& table = access.table->remote;
  access.record = RemoteRecord::at_entry(table.at(value - table.owner_base), access.key.key, /*incarnation=*/0,
                                         table.max_value_bytes);
  access.record.incarnation_mask = 0;
}

}  // namespace granary::cluster
