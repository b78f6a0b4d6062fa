#include "src/cluster/transaction/reading.h"

#include <optional>

#include "src/cluster/transaction/abort_reasons.h"

namespace granary::cluster {

using kvstore::remote::HeaderSweep;
using messages::FindRecord;

namespace {

/// Returns the key's position in layer 0 of its tree, whose leaves are remembered. Keys of hash tables and long keys
/// have none.
std::optional<Position> position_of(const Access& access) {
  const std::string_view key = access.key.key;
  if (access.table->hashed() || key.size() > kvstore::ordered::kSliceBytes) return std::nullopt;
  return kvstore::ordered::LayerKey(key).at;
}

/// Notes the record that was READ, which has a value unless it is absent.
void note_read(SeenKey& seen, const CheckedRead& read) {
  std::optional<std::string_view> value;
  if (!record::is_absent(read.tid())) value = read.value();
  seen.note_version(read.tid(), read.state(), value);
}

}  // namespace

AbortReason Reading::read(Access& access) {
  if (!access.note_read()) return AbortReason::kNone;
  Access* const one = &access;
  return find({&one, 1});
}

AbortReason Reading::find(std::span<Access* const> accesses) {
  Batch<Access*> hashed = footprint_.trips.batch<Access*>(accesses.size());
  Batch<Access*> others = footprint_.trips.batch<Access*>(accesses.size());
  for (Access* const access : accesses) (access->table->hashed() ? hashed : others).push_back(access);
  AbortReason reason = look_up(hashed);
  if (failed(reason) || others.empty()) return reason;
  reason = look_in_leaves(others);
  if (failed(reason)) return reason;
  Batch<Access*> unknown = footprint_.trips.batch<Access*>(others.size());
  for (Access* const access : others) {
    if (access->unseen()) unknown.push_back(access);
  }
  reason = ask_owners(unknown);
  return failed(reason) ? reason : fetch_values(others);
}

AbortReason Reading::look_in_leaves(std::span<Access* const> accesses) {
  LeafReads leaves(footprint_, accesses.size());
  add_leaves(accesses, leaves, LeafReads::Unknown::kIsMiss);
  AbortReason reason = leaves.run();
  Batch<Access*> placed = footprint_.trips.batch<Access*>(accesses.size());
  if (!failed(reason)) reason = find_in_leaves(accesses, leaves, placed);
  for (Access* const access : placed) access->seen.note_record();
  return reason;
}

void Reading::add_leaves(std::span<Access* const> accesses, LeafReads& leaves, LeafReads::Unknown unknown) {
  for (const Access* const access : accesses) {
    const std::optional<Position> at = position_of(*access);
    if (at && access->unseen()) leaves.add(*access->table, *at, unknown);
  }
}

AbortReason Reading::find_in_leaves(std::span<Access* const> accesses, LeafReads& leaves, Batch<Access*>& placed) {
  for (Access* const access : accesses) {
    const std::optional<Position> at = position_of(*access);
    const LeafRead* const leaf = at && access->unseen() ? leaves.covering(*access->table, *at) : nullptr;
    if (leaf == nullptr) continue;
    const kvstore::ordered::LeafCopy::Found found = leaf->copy().find(*at);
    if (found.value != 0) {
      set_place(*access, found.value);
      placed.push_back(access);
      continue;
    }
    access->seen.note_no_record();
    if (access->sealed) continue;
    if (const AbortReason reason = leaves.note(*access->key.table, *leaf); failed(reason)) return reason;
  }
  return AbortReason::kNone;
}

AbortReason Reading::look_up(std::span<Access* const> accesses, Behind behind) {
  Batch<KeyRead> reads = footprint_.trips.batch<KeyRead>(accesses.size());
  Batch<AccessStep*> steps = footprint_.trips.batch<AccessStep*>(accesses.size());
  if (const AbortReason unmade = add_look_ups(accesses, reads, steps); failed(unmade)) return unmade;
  if (behind == Behind::kEpochs) {
    if (const AbortReason unreached = footprint_.touched.run_before_epochs(TripPhase::kExecute, steps);
        failed(unreached))
      return unreached;
  } else {
    footprint_.trips.run(TripPhase::kExecute, std::span<AccessStep* const>(steps));
  }
  return adopt_look_ups(accesses, reads);
}

/// The first key that has to be looked up in the index also READs a piece of its table's main header (HeaderSweep).
AbortReason Reading::add_look_ups(std::span<Access* const> accesses, Batch<KeyRead>& reads, Batch<AccessStep*>& steps) {
  bool sweeps = false;
  for (const Access* const access : accesses) {
    const KnownTable& table = *access->table;
    const std::string_view key = access->key.key;
    void* const room = footprint_.trips.buffer(KeyRead::buffer_bytes(table.remote, key.size()));
    if (room == nullptr) return AbortReason::kBuffersUsedUp;
    const auto unknown = access->place_was_stale ? KeyRead::Unknown::kIsNoMiss : KeyRead::Unknown::kIsMiss;
    KeyRead& read =
        reads.emplace_back(table.remote, key, room, table.cache.get(), footprint_.reach().counters.locations, unknown);
    steps.push_back(&read);
    if (!sweeps && !read.knows_place() && HeaderSweep::finds(key)) sweeps = add_header_piece(table, read);
  }
  return AbortReason::kNone;
}

bool Reading::add_header_piece(const KnownTable& table, KeyRead& read) {
  const std::optional<std::uint64_t> piece = table.sweep->next();
  if (!piece) return false;
  void* const room = footprint_.trips.buffer(HeaderSweep::kPieceBytes);
  if (room == nullptr) return false;
  read.bring_along({*table.sweep, *piece, room});
  return true;
}

AbortReason Reading::adopt_look_ups(std::span<Access* const> accesses, const Batch<KeyRead>& reads) {
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (const AbortReason reason = adopt_look_up(*accesses[i], reads[i]); failed(reason)) return reason;
  }
  return AbortReason::kNone;
}

AbortReason Reading::adopt_look_up(Access& access, const KeyRead& read) {
  if (const AbortReason reason = abort_reason_of(read, read.state(), footprint_.reach()); failed(reason)) return reason;
  if (read.read() == nullptr) {
    access.seen.note_no_record();
    if (access.sealed) return AbortReason::kNone;
    const kvstore::remote::Lookup& missed = read.missed();
    return footprint_.note(
        *access.key.table, access.key.home,
        {.kind = messages::NodeKind::kBucket, .offset = missed.bucket().offset, .version = missed.version()});
  }
  if (read.lookup_reads() != 0 && HeaderSweep::finds(access.key.key)) access.table->sweep->found_unknown();
  access.record = read.record();
  note_read(access.seen, *read.read());
  return AbortReason::kNone;
}

AbortReason Reading::ask_owners(std::span<Access* const> accesses) {
  messages::Questions<FindRecord>& questions = footprint_.trips.questions<FindRecord>();
  for (const Access* const access : accesses) {
    questions.add(access->key.home, {.table = access->key.table->id(), .key = access->key.key, .with_value = true});
  }
  footprint_.trips.ask(questions.all());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Access& access = *accesses[i];
    AbortReason reason = abort_reason_of(questions[i], footprint_.reach());
    if (failed(reason)) return reason;
    const messages::FindRecordAnswer& answer = questions[i].answer();
    learn_leaves(*access.table, answer.leaves);
    if (answer.record.offset == 0) {
      access.seen.note_no_record();
      if (!access.sealed) reason = footprint_.note(*access.key.table, access.key.home, answer.missed);
    } else {
      adopt_answer(access, answer.record);
    }
    if (failed(reason)) return reason;
  }
  return AbortReason::kNone;
}

void Reading::adopt_answer(Access& access, const messages::SeenRecord& told) {
  access.record = RemoteRecord::at_entry(footprint_.touched.at(access.key.home, told.offset), access.key.key,
                                         told.incarnation, access.table->remote.max_value_bytes);
  access.record.set_whole_incarnation(told.incarnation);
  std::optional<std::string_view> value;
  if (told.has_value) value = footprint_.trips.arena().copy(told.value);
  access.seen.note_version(told.tid, record::kFree, value);
}

AbortReason Reading::fetch_values(std::span<Access* const> accesses) {
  Batch<Access*> wanted = footprint_.trips.batch<Access*>(accesses.size());
  for (Access* const access : accesses) {
    if (access->lacks_value()) wanted.push_back(access);
  }
  Batch<CheckedRead> reads = footprint_.trips.batch<CheckedRead>(wanted.size());
  Batch<AccessStep*> steps = footprint_.trips.batch<AccessStep*>(wanted.size());
  if (const AbortReason unmade = add_fetches(wanted, reads, steps); failed(unmade)) return unmade;
  footprint_.trips.run(TripPhase::kExecute, std::span<AccessStep* const>(steps));
  return adopt_fetches(wanted, reads);
}

AbortReason Reading::adopt_fetches(std::span<Access* const> accesses, const Batch<CheckedRead>& reads) {
  if (const AbortReason reason = abort_reason_of_reads(footprint_, reads); failed(reason)) return reason;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    accesses[i]->record.set_whole_incarnation(reads[i].incarnation());
    note_read(accesses[i]->seen, reads[i]);
  }
  return AbortReason::kNone;
}

}  // namespace granary::cluster
