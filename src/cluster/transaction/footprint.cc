#include "src/cluster/transaction/footprint.h"

#include "src/base/test_hooks.h"
#include "src/cc/holder_liveness.h"
#include "src/cluster/transaction/abort_reasons.h"
#include "src/txn/context.h"

namespace granary::cluster {

namespace {

/// Returns why a transaction finds no table at the node. If the node lives and nothing is known of it, it has come back
/// and will be learnt soon. If it is known, but without the table, it belongs to another cluster.
AbortReason abort_reason_of_missing_table(rdma::NodeId node, const Reach& reach) {
  if (!reach.is_in_cluster(node)) return AbortReason::kMisuse;
  return reach.directory.knows(node) || !reach.is_member(node) ? cc::abort_reason_of_node(node, reach.worker)
                                                               : abort_reason_of_former_life(node, reach);
}

}  // namespace

AbortReason Footprint::enter(rdma::NodeId node, const txn::TableCore& table, const KnownTable*& known, bool& sealed) {
  known = reach().directory.find(node, table.id());
  if (known == nullptr) return abort_reason_of_missing_table(node, reach());
  if (touched.empty()) fiber = reach().scheduler.current_number();
  sealed = is_sealed(table, *known);
  return touched.touch(node, sealed);
}

AbortReason Footprint::open(const txn::RemoteKey& key, Access*& access) {
  access = accesses.find(key);
  if (access != nullptr) return AbortReason::kNone;
  const KnownTable* table = nullptr;
  bool sealed = false;
  if (const AbortReason reason = enter(key.home, *key.table, table, sealed); failed(reason)) return reason;
  access = &accesses.add({key.table, key.home, trips.arena().copy(key.key)}, table);
  access->sealed = sealed;
  return AbortReason::kNone;
}

bool Footprint::goes_on(std::uint64_t begun_in) const {
  return context.is_dropped() || reach().scheduler.goes_on(begun_in);
}

/// Whether the table is sealed for this transaction: it is if E has reached the epoch from which the table is sealed. E
/// does not go back, so the transaction will not commit in an earlier epoch.
bool Footprint::is_sealed(const txn::TableCore& table, const KnownTable& known) {
  if (!table.is_immutable()) return false;
  const epoch::Epoch from =
      base::injected("declared-is-sealed") ? 0 : known.sealed_from.load(std::memory_order_acquire);
  if (from > reach().worker.shared.epochs.current()) return false;
  sealed_from = std::max(sealed_from, from);
  return true;
}

void Footprint::clear() {
  sealed_from = 0;
  accesses.clear();
  touched.clear();
  nodes.clear();
  missed_tables = 0;
  trips.clear();
}

}  // namespace granary::cluster
