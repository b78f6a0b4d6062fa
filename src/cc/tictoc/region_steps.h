#pragma once
// Has the steps of TicToc's commits in an HTM region (CommitsInRegion, StampsInRegion; region/region.h).
//
// The commit's time is in its log entry, so it is chosen before the region, from words that nobody has frozen. Inside
// the region everything is of one moment. There the rts of each record to write must still be before the time, the
// reads must hold, and their rts are raised to the time. Then the new versions are stored, each with its rts.
//
// Beside commits with locks. A reader with locks loads the size word, then the TID word, and raises the rts by a
// compare-and-swap of the size word. If a region commits after that look at the TID word, the compare-and-swap must
// fail, as it would if the writer had frozen the word. It does, because the region stores its own rts into the size
// word, which is after the old one (tests/models/tictoc_region.pml, REGION_LEAVES_RTS).

#include <algorithm>

#include "htm/attempt.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/install.h"
#include "src/cc/protocol.h"
#include "src/cc/region/record_in.h"
#include "src/cc/region/region_code.h"
#include "src/cc/tictoc/shared_record.h"
#include "src/cc/tictoc/ties.h"
#include "src/cc/worker_state.h"
#include "src/record/rts.h"

namespace granary::cc::tictoc {

struct RegionSteps {
  static bool plan(const WriteEntry& write, const WorkerState& worker, TidWord& planned, TidWord& bound);
  static bool prepare_in_place(WriteEntry& write, WorkerState& worker, epoch::Epoch period, TidWord planned) {
    return cc::prepare_in_place(write, worker, period, planned);
  }
  static void installed_in_region(const WriteEntry& write, WorkerState& worker, TidWord planned, TidWord tid);

  /// A read whose rts reaches the stamp holds, whatever has become of the record. Where it is remembered when versions
  /// ended, a read of a version that is gone may hold, too; the commit with locks looks that up.
  template <typename Memory>
  static htm::Verdict check_read_in(Memory& memory, const ReadEntry& read, const Moment& moment,
                                    const WorkerState& worker) {
    if (read.rts >= moment.stamp) return htm::Verdict::done();
    const htm::Verdict seen = check_version_in(memory, read);
    const bool changed = !seen.is_done() && code_of(seen) == RegionCode::kReadChanged;
    return changed && worker.shared.version_ends != nullptr ? give_up(RegionCode::kPlanOutdated) : seen;
  }
  /// Since the stamp was chosen, readers may have raised the rts. The commit then goes on with locks, which freeze the
  /// rts.
  template <typename Memory>
  static htm::Verdict check_planned_in(Memory& memory, const WriteEntry& write, TidWord planned, const Moment& moment,
                                       const WorkerState& /*worker*/) {
    const htm::Verdict found = check_plan_in(memory, write, planned, record::OwnerRule::without_leases());
    if (!found.is_done() || base::injected("region-trusts-planned-rts")) return found;
    return rts_in(memory, *write.record, moment.epoch) < moment.stamp ? found : give_up(RegionCode::kPlanOutdated);
  }
  /// Raises the rts of what was read to the stamp. Nobody has claimed the record, so its rts is not frozen. Of a record
  /// that the transaction writes, too, install_in() stores the same rts.
  template <typename Memory>
  static void make_valid_in(Memory& memory, const ReadEntry& read, const Moment& moment) {
    if (read.rts >= moment.stamp || base::injected("region-raises-no-rts")) return;
    if (record::is_shared(read.record)) [[unlikely]] {
      std::uint64_t* const by_owner = &record::shared_of(*read.record).owner_rts_word;
      if (memory.load(by_owner) < moment.stamp) memory.store(by_owner, moment.stamp);
      return;
    }
    if (holds_without_rts(moment)) return;
    std::uint64_t* const size_word = &read.record->size_word;
    const std::uint64_t word = memory.load(size_word);
    base::debug_invariant("I28", [&] { return !record::is_frozen(word); });
    if (record::rts_of(word, moment.epoch) < moment.stamp)
      memory.store(size_word, record::with_rts(word, moment.stamp));
  }
  template <typename Memory>
  static void install_in(Memory& memory, const WriteEntry& write, TidWord planned, TidWord tid) {
    std::uint64_t* const size_word = &write.record->size_word;
    if (!record::is_shared(write.record) && !base::injected("region-leaves-rts"))
      memory.store(size_word, record::with_rts(memory.load(size_word), tid));
    store_version_in(memory, write, planned, tid);
  }

 private:
  /// Returns the record's rts, of a shared record the greater of both.
  template <typename Memory>
  static TidWord rts_in(Memory& memory, Record& record, epoch::Epoch epoch) {
    if (!record::is_shared(&record)) return record::rts_of(memory.load(&record.size_word), epoch);
    const record::SharedRecord& shared = record::shared_of(record);
    return std::max(rts_of_state(memory.load(&shared.state_word)), memory.load(&shared.owner_rts_word));
  }
};

}  // namespace granary::cc::tictoc
