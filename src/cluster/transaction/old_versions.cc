#include "src/cluster/transaction/old_versions.h"

#include <algorithm>

#include "src/base/set_while.h"
#include "src/base/test_hooks.h"
#include "src/cc/holder_liveness.h"
#include "src/cc/versions.h"
#include "src/cluster/transaction/abort_reasons.h"
#include "src/cluster/transaction/borrowed_blocks.h"
#include "src/cluster/transaction/record_reads.h"

namespace granary::cluster {

AbortReason OldVersions::make_copies(epoch::Epoch epoch, std::span<Access* const> overwritten, Copies& copies) {
  const cc::WorkerState& worker = footprint_.reach().worker;
  copies.period = worker.shared.epochs.snap(epoch);
  for (Access* const access : overwritten) {
    if (access->lock.kept_in == copies.period || !cc::snapshots_may_need(worker, access->lock.tid, copies.period))
      continue;
    copies.accesses.push_back(access);
  }
  if (copies.accesses.empty()) return AbortReason::kNone;
  if (const AbortReason reason = borrow(copies); failed(reason)) return reason;
  base::sync_point("old_versions.borrowed");
  if (const AbortReason reason = read_again({copies.accesses.data(), copies.accesses.size()}); failed(reason))
    return reason;
  for (std::size_t i = 0; i < copies.accesses.size(); ++i) {
    const Access& access = *copies.accesses[i];
    const HeldVersion& version = *access.lock.version;
    void* const room = footprint_.trips.buffer(VersionCopy::buffer_bytes(version.value.size()));
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    const std::uint64_t block = copies.blocks[i];
    copies.steps.push_back(&copies.writes.emplace_back(access.record, version,
                                                       footprint_.touched.at(access.key.home, block),
                                                       access.table->remote.owner_base + block, room));
  }
  return AbortReason::kNone;
}

/// Takes a borrowed block for each copy. A block that was taken never goes back to the stock. So a commit that fails
/// later loses blocks, but no two transactions ever use the same one.
AbortReason OldVersions::borrow(Copies& copies) {
  Reach& reach = footprint_.reach();
  for (const Access* const access : copies.accesses) {
    const rdma::Generation life = access->record.at.generation;
    BorrowedBlocks::Stock& stock = reach.borrowed.of(access->key.home, life, access->key.table->id());
    for (std::uint32_t turn = 0; stock.life == life && stock.blocks.empty(); ++turn) {
      if (stock.asked) {
        reach.waiter.pause(turn);
        continue;
      }
      if (const AbortReason reason = borrow_more(*access, stock); failed(reason)) return reason;
    }
    // While this fiber waited, another one may have met the node's next life, whose blocks are not this record's.
    if (stock.life != life) return abort_reason_of_former_life(access->key.home, reach);
    copies.blocks.push_back(stock.blocks.back());
    stock.blocks.pop_back();
  }
  return AbortReason::kNone;
}

/// Asks the owner for more blocks, and checks the answer (I26). The caller takes the first one for this access before
/// another fiber runs, since it may be meant for a removal alone.
AbortReason OldVersions::borrow_more(const Access& access, BorrowedBlocks::Stock& stock) {
  messages::Questions<messages::LendBlocks>& questions = footprint_.trips.questions<messages::LendBlocks>();
  questions.add(
      access.key.home,
      {.table = access.key.table->id(), .count = BorrowedBlocks::kAskedAtOnce, .removes = access.write.removes});
  {
    const base::SetWhile asks(stock.asked);
    footprint_.trips.ask(questions.all());
  }
  if (const AbortReason reason = abort_reason_of(questions[0], footprint_.reach()); failed(reason)) return reason;
  if (stock.life != access.record.at.generation)
    return abort_reason_of_former_life(access.key.home, footprint_.reach());
  const std::vector<std::uint64_t>& lent = questions[0].answer().blocks;
  const bool sound =
      !lent.empty() && std::ranges::all_of(lent, [](std::uint64_t at) { return at != 0 && at % base::kWord == 0; });
  if (!sound) return cc::abort_reason_of_node(access.key.home, footprint_.reach().worker);
  stock.blocks.assign(lent.begin(), lent.end());
  return AbortReason::kNone;
}

/// READs the versions of which not all is known: they were locked without a READ before, or have changed since that
/// READ. They stay unchanged from now on, as the transaction holds their x-locks.
AbortReason OldVersions::read_again(std::span<Access* const> accesses) {
  Batch<Access*> unknown = footprint_.trips.batch<Access*>(accesses.size());
  for (Access* const access : accesses) {
    if (!access->lock.version) unknown.push_back(access);
  }
  Batch<CheckedRead> reads = footprint_.trips.batch<CheckedRead>(unknown.size());
  const AbortReason reason = read_records(footprint_, TripPhase::kValidate, unknown, reads);
  if (failed(reason)) return reason;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const CheckedRead& read = reads[i];
    const record::TidWord tid = record::unlocked(read.tid());
    if (tid != unknown[i]->lock.tid) return AbortReason::kRecordReplaced;
    unknown[i]->lock.version = {
        .tid = tid, .previous = read.previous(), .value = record::is_absent(tid) ? std::string_view() : read.value()};
  }
  return AbortReason::kNone;
}

AbortReason OldVersions::confirm_copies(const Copies& copies) const {
  for (const VersionCopy& write : copies.writes) {
    if (const AbortReason reason = abort_reason_of(write, footprint_.reach()); failed(reason)) return reason;
  }
  for (Access* const access : copies.accesses) access->lock.kept_in = copies.period;
  return AbortReason::kNone;
}

AbortReason OldVersions::keep(epoch::Epoch epoch, std::span<Access* const> overwritten) {
  Copies copies(footprint_.trips, overwritten.size());
  const AbortReason reason = make_copies(epoch, overwritten, copies);
  if (failed(reason) || copies.writes.empty()) return reason;
  footprint_.trips.run(TripPhase::kValidate, std::span<AccessStep* const>(copies.steps));
  return confirm_copies(copies);
}

}  // namespace granary::cluster
