// Execution at other nodes: what is read there, and what will be written.

#include <algorithm>

#include "src/cluster/record_access/checked_read.h"
#include "src/cluster/record_access/key_read.h"
#include "src/cluster/transaction/remote_transaction.h"

namespace granary::cluster {

using messages::Ask;
using messages::Place;
using txn::WriteMode;

/// The key's entry, made if it has none. kNodeUnreachable also if the node has no such table: it is of another cluster.
AbortReason RemoteTransaction::open(const txn::RemoteKey& key, Access*& access) {
  access = accesses_.find(key);
  if (access != nullptr) return AbortReason::kNone;
  const AbortReason reason = touch(key.home);
  if (reason != AbortReason::kNone) return reason;
  const KnownTable* const table = reach_.directory.find(key.home, key.table->id());
  if (table == nullptr) return AbortReason::kNodeUnreachable;
  access = &accesses_.add({key.table, key.home, arena_.copy(key.key)}, table);
  return AbortReason::kNone;
}

AbortReason RemoteTransaction::get(std::span<txn::RemoteGet> gets) {
  std::vector<Access*> wanted;
  std::vector<Access*> unseen;
  for (const txn::RemoteGet& get : gets) {
    Access* access = nullptr;
    const AbortReason reason = open(get.key, access);
    if (reason != AbortReason::kNone) return reason;
    wanted.push_back(access);
    if (access->written || access->read) continue;
    access->read = true;
    if (access->seen == Access::Seen::kNothing) unseen.push_back(access);
  }
  const AbortReason reason = look(unseen);
  if (reason != AbortReason::kNone) return reason;
  for (std::size_t i = 0; i < gets.size(); ++i) {
    const Access& access = *wanted[i];
    gets[i].found = access.written ? !access.remove : access.found();
    gets[i].value = access.written ? access.new_value : access.value;
  }
  return AbortReason::kNone;
}

AbortReason RemoteTransaction::write(const txn::RemoteKey& key, std::string_view value, WriteMode mode,
                                     granary::Outcome& outcome) {
  Access* access = nullptr;
  AbortReason reason = open(key, access);
  if (reason != AbortReason::kNone) return reason;
  if (mode != WriteMode::kPut) {
    if (!access->written && !access->read) {
      access->read = true;
      if (access->seen == Access::Seen::kNothing) reason = look({&access, 1});
      if (reason != AbortReason::kNone) return reason;
    }
    const bool there = access->written ? !access->remove : access->found();
    outcome = there ? granary::Outcome::kAlreadyExists : granary::Outcome::kNotFound;
    if (there == (mode == WriteMode::kInsert)) return AbortReason::kNone;
  }
  if (mode == WriteMode::kRemove && access->written) {
    // A write of its own is taken back. If that was all there is of the key, nothing is written, and the log must not say so.
    if (access->seen == Access::Seen::kNothing) reason = look({&access, 1});
    if (reason != AbortReason::kNone) return reason;
    access->read = true;
    access->written = access->found();
  } else {
    access->written = true;
  }
  access->remove = mode == WriteMode::kRemove;
  access->new_value = access->remove ? std::string_view() : arena_.copy(value);
  outcome = granary::Outcome::kOk;
  return AbortReason::kNone;
}

AbortReason RemoteTransaction::look(std::span<Access* const> accesses) {
  std::vector<Access*> hashed;
  std::vector<Access*> others;
  for (Access* const access : accesses) (access->table->hashed() ? hashed : others).push_back(access);
  AbortReason reason = look_up(hashed);
  if (reason == AbortReason::kNone) reason = ask(others);
  return reason;
}

AbortReason RemoteTransaction::look_up(std::span<Access* const> accesses, Behind behind) {
  std::deque<KeyRead> reads;
  std::vector<AccessStep*> steps;
  for (const Access* const access : accesses) {
    const KnownTable& table = *access->table;
    const std::string_view key = access->key.key;
    void* const room = buffer(KeyRead::buffer_bytes(table.remote, key.size()));
    if (room == nullptr) return AbortReason::kOutOfMemory;
    steps.push_back(&reads.emplace_back(table.remote, key, room, table.cache.get(), reach_.counters.locations));
  }
  if (behind == Behind::kEpochs) {
    const AbortReason unreached = run_before_epochs(Phase::kExecute, steps);
    if (unreached != AbortReason::kNone) return unreached;
  } else {
    run(Phase::kExecute, std::vector<Step*>(steps.begin(), steps.end()));
  }
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const KeyRead& read = reads[i];
    Access& access = *accesses[i];
    AbortReason reason = why(read.outcome(), read.state());
    if (reason == AbortReason::kNone && read.read() == nullptr) {
      access.seen = Access::Seen::kNoRecord;
      const kvstore::remote::Lookup& missed = read.missed();
      reason =
          note(access.key.home,
               {.kind = messages::NodeKind::kBucket, .offset = missed.bucket().offset, .version = missed.version()});
    } else if (reason == AbortReason::kNone) {
      access.seen = Access::Seen::kRecord;
      access.record = read.record();
      access.tid = read.read()->tid();
      access.state = read.read()->state();
      access.has_value = true;
      if (access.found()) access.value = read.read()->value();
    }
    if (reason != AbortReason::kNone) return reason;
  }
  return AbortReason::kNone;
}

AbortReason RemoteTransaction::ask(std::span<Access* const> accesses) {
  std::deque<Ask<Place>> questions;
  std::vector<messages::Question*> all;
  for (const Access* const access : accesses) {
    all.push_back(&questions.emplace_back(
        access->key.home, Place{.table = access->key.table->id(), .key = access->key.key, .with_value = true}));
  }
  ask_all(all);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Access& access = *accesses[i];
    AbortReason reason = why(questions[i]);
    if (reason != AbortReason::kNone) return reason;
    const messages::PlaceAnswer& answer = questions[i].answer();
    if (answer.record.offset == 0) {
      access.seen = Access::Seen::kNoRecord;
      reason = note(access.key.home, answer.missed);
    } else {
      take(access, answer.record);
    }
    if (reason != AbortReason::kNone) return reason;
  }
  return fetch(accesses);
}

/// What an owner says of a key's record.
void RemoteTransaction::take(Access& access, const messages::SeenRecord& seen) {
  access.seen = Access::Seen::kRecord;
  access.record = RemoteRecord::at_entry(at(access.key.home, seen.offset), access.key.key, seen.incarnation,
                                         access.table->remote.max_value_bytes);
  access.record.incarnation_mask = record::kIncarnationMax;
  access.tid = seen.tid;
  access.has_value = seen.has_value || record::is_absent(seen.tid);
  if (seen.has_value) access.value = arena_.copy(seen.value);
}

AbortReason RemoteTransaction::fetch(std::span<Access* const> accesses) {
  std::deque<CheckedRead> reads;
  std::vector<Step*> steps;
  std::vector<Access*> wanted;
  for (Access* const access : accesses) {
    if (access->seen != Access::Seen::kRecord || access->has_value) continue;
    void* const room = buffer(access->record.bytes());
    if (room == nullptr) return AbortReason::kOutOfMemory;
    steps.push_back(&reads.emplace_back(access->record, room, access->lock));
    wanted.push_back(access);
  }
  run(Phase::kExecute, steps);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const AbortReason reason = why(reads[i].outcome(), reads[i].state());
    if (reason != AbortReason::kNone) return reason;
    wanted[i]->has_value = true;
    wanted[i]->tid = reads[i].tid();
    wanted[i]->state = reads[i].state();
    if (wanted[i]->found()) wanted[i]->value = reads[i].value();
  }
  return AbortReason::kNone;
}

AbortReason RemoteTransaction::note(rdma::NodeId node, const messages::SeenNode& seen) {
  for (const SeenAt& known : nodes_) {
    if (known.node != node || known.seen.offset != seen.offset) continue;
    return known.seen.version == seen.version ? AbortReason::kNone : AbortReason::kNodeChanged;
  }
  nodes_.push_back({node, seen});
  return AbortReason::kNone;
}

}  // namespace granary::cluster
