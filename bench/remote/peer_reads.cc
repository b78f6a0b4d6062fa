#include "bench/remote/peer_reads.h"

#include "bench/hash/cuckoo.h"
#include "kvstore/hash/bucket.h"

namespace granary::bench::remote {

using rdma::Operation;
using rdma::fiber::Next;

void PeerRead::append(std::vector<Operation>& chain) {
  ++reads_;
  if (read_) {
    read_->append(chain);
    return;
  }
  const Wanted slots = wanted();
  chain.emplace_back() = Operation::read(buffer_, slots.first, slots.bytes);
}

Next PeerRead::interpret() {
  if (!read_) return search();
  const Next next = read_->interpret();
  return next == Next::kEnded ? end(read_->outcome()) : next;
}

Next PeerRead::found(std::uint64_t entry) {
  const kvstore::hash::Entry place(entry);
  const std::string_view key(reinterpret_cast<const char*>(&key_), sizeof key_);
  read_.emplace(records_.at(place.offset()), key, place.incarnation(), records_.max_value_bytes, buffer_);
  return Next::kAtOnce;
}

PeerRead::Wanted CuckooRead::wanted() const {
  return {table_.slot(hash::Cuckoo::place(key_, function_, kPeerSeed, table_.slots)), sizeof(CuckooSlot)};
}

Next CuckooRead::search() {
  const auto& slot = *reinterpret_cast<const CuckooSlot*>(buffer_);
  if (slot.checksum != slot.right_checksum())
    return look_again() ? Next::kAfterPause : end(cluster::AccessOutcome::kBusy);
  if (slot.key == key_) return found(slot.entry);
  return ++function_ < hash::Cuckoo::kFunctions ? Next::kAtOnce : end(cluster::AccessOutcome::kMissing);
}

PeerRead::Wanted HopscotchRead::wanted() const {
  if (chained_ != 0) return {table_.at(chained_), table_.slot_bytes};
  return {table_.slot(hash::Hopscotch::home(key_, kPeerSeed, table_.slots)),
          static_cast<std::uint32_t>(buffer_bytes(table_))};
}

Next HopscotchRead::search() {
  const std::uint64_t count = chained_ != 0 ? 1 : hash::Hopscotch::kNeighbourhood;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto& slot = *reinterpret_cast<const HopscotchSlot*>(buffer_ + i * table_.slot_bytes);
    if (slot.key != key_) continue;
    return table_.inlined ? end(cluster::AccessOutcome::kDone) : found(slot.entry);
  }
  chained_ = reinterpret_cast<const HopscotchSlot*>(buffer_)->chain;
  return chained_ != 0 ? Next::kAtOnce : end(cluster::AccessOutcome::kMissing);
}

}  // namespace granary::bench::remote
