#include "src/cluster/transaction/remote_transaction.h"

#include <algorithm>

#include "src/cluster/transaction/gets.h"
#include "src/cluster/transaction/lease_wait.h"
#include "src/cluster/transaction/scan.h"

namespace granary::cluster {
namespace {

/// How many transactions a fiber ends before it lets the others go on.
constexpr std::uint32_t kTransactionsATurn = 8;

}  // namespace

RemoteTransaction::RemoteTransaction(Reach& reach, const txn::Context& context)
    : footprint_(reach, context),
      reading_(footprint_),
      locks_(footprint_),
      locked_reads_(footprint_, reading_, locks_),
      declared_(footprint_, reading_, locks_, locked_reads_),
      commit_(footprint_, reading_, locks_, declared_),
      snapshots_(reach) {}

AbortReason RemoteTransaction::get(std::span<txn::RemoteGet> gets) {
  return cluster::get(footprint_, reading_, locked_reads_, gets);
}

AbortReason RemoteTransaction::write(const txn::RemoteKey& key, std::string_view value, const txn::WriteRule& rule,
                                     Outcome& outcome) {
  Access* access = nullptr;
  AbortReason reason = footprint_.open(key, access);
  if (!failed(reason) && rule.looks()) reason = reading_.read(*access);
  if (failed(reason)) return reason;
  outcome = rule.looks() ? rule.outcome(access->is_visible()) : Outcome::kOk;
  if (outcome != Outcome::kOk) return reason;
  if (rule.removes && access->written()) {
    // The removal takes back a write of the transaction itself. If the key has no value without that write, nothing is
    // left to write, and the log must not have a removal.
    if (access->unseen()) reason = reading_.find({&access, 1});
    if (failed(reason)) return reason;
    access->read = true;
    access->write.is_set = access->had_value();
  } else {
    access->write.is_set = true;
  }
  access->write.removes = rule.removes;
  access->write.value = rule.removes ? std::string_view() : footprint_.trips.arena().copy(value);
  return AbortReason::kNone;
}

AbortReason RemoteTransaction::scan(const txn::TableCore& table, const txn::TableCore* index, std::uint16_t home,
                                    const ScanRange& range, ScanFn visit, ScanResult& result) {
  return cluster::scan(footprint_, reading_, {table, index, home, range}, visit, result);
}

bool RemoteTransaction::end(txn::Ending ending) noexcept {
  if (ending == txn::Ending::kMayRunAgain)
    footprint_.reach().ended_in_turn = kTransactionsATurn;  // another fiber may hold what this one could not get
  if (!used()) {
    // The transaction has noted keys that it was refused. If it is tried again and again, they would fill the memory.
    if (!footprint_.trips.arena().empty()) [[unlikely]] {
      declared_.end(ending);
      footprint_.clear();
    }
    return untidy();
  }
  const AccessTable& accesses = footprint_.accesses;
  if (std::any_of(accesses.begin(), accesses.end(), [](const Access& access) { return access.x_locked(); }))
    commit_.release();  // records that were declared, and not given back by a commit
  declared_.end(ending);
  locks_.end();
  commit_.end();
  cc::bump(footprint_.reach().counters.transactions, std::uint64_t{1});
  footprint_.clear();
  return untidy();
}

/// A fiber whose transactions touch this node only never waits, so it would keep the other fibers from going on. It
/// lets them go on here: their completions are polled for, and their transactions do not stay open for long (I30).
void RemoteTransaction::tidy() {
  Reach& reach = footprint_.reach();
  if (reach.scheduler.current() != nullptr && ++reach.ended_in_turn >= kTransactionsATurn) {
    reach.ended_in_turn = 0;
    reach.scheduler.yield();
  }
  footprint_.lease_wait.wait(footprint_.reach());
  footprint_.reach().undelivered.try_again(footprint_.reach());
}

}  // namespace granary::cluster
