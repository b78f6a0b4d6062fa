#include "src/cluster/messages/owner.h"

#include <algorithm>

#include <granary/limits.h>

#include "kvstore/hash/key.h"
#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/cc/holder_liveness.h"
#include "src/cc/protocols.h"
#include "src/cc/records.h"
#include "src/epoch/entered.h"

namespace granary::cluster::messages {

using cc::Record;
using record::ReadState;

namespace {

bool is_held(const Record& record, std::span<const std::uint64_t> held) {
  return !held.empty() && record::is_shared(&record) &&
         std::binary_search(held.begin(), held.end(), record::shared_of(record).state());
}

}  // namespace

ReplyStatus Owner::find_table(TableId id, std::string_view key, txn::TableCore*& table) const {
  if (id >= tables_.size()) return ReplyStatus::kUnknownTable;
  table = tables_[id];
  if (!table->is_shared()) return ReplyStatus::kNotShared;
  return key.size() > kMaxKeyBytes ? ReplyStatus::kKeyTooLong : ReplyStatus::kDone;
}

ReplyStatus Owner::find_table_to_write(TableId id, std::string_view key, txn::TableCore*& table) const {
  const ReplyStatus found = find_table(id, key, table);
  return found == ReplyStatus::kDone && table->is_immutable() ? ReplyStatus::kImmutable : found;
}

SeenNode Owner::node(cc::IndexNode place, cc::Version version) const {
  return {place.is_bucket() ? NodeKind::kBucket : NodeKind::kLeaf, offset_of(place.address()), version};
}

void Owner::tell(const cc::Leaf* leaf, std::vector<SeenLeaf>& leaves) const {
  const auto range = cc::Tree::range_of(leaf);
  if (!range) return;
  leaves.push_back({.offset = offset_of(leaf),
                    .birth = range->birth,
                    .low_slice = range->low.slice,
                    .low_code = range->low.code,
                    .high_slice = range->high.slice,
                    .high_code = range->high.code});
}

ChangedNode Owner::change(const cc::PlaceChange<cc::IndexNode>& change) const {
  const SeenNode after = node(change.place, change.after);
  return {.kind = after.kind,
          .offset = after.offset,
          .before = change.before,
          .after = after.version,
          .split_from = change.made ? offset_of(change.split_from.address()) : 0};
}

ReplyStatus Owner::answer(const Describe& request, DescribeAnswer& answer) {
  answer = describe(request.from, most_body_bytes_);
  return ReplyStatus::kDone;
}

/// Describes the shared tables from this one on, as many as fit into so many bytes.
DescribeAnswer Owner::describe(TableId from, std::size_t most_bytes) const {
  DescribeAnswer answer{.region_base = reinterpret_cast<std::uint64_t>(region_.base()),
                        .protocol = std::string(cc::Protocols::kNames[worker_.shared().settings.protocol])};
  std::size_t bytes = sizeof answer + answer.protocol.size();
  for (const txn::TableCore* const table : tables_.subspan(std::min<std::size_t>(from, tables_.size()))) {
    if (!table->is_shared()) continue;
    TableDescription about = description(*table);
    bytes += sizeof about + about.name.size();
    answer.more = bytes > most_bytes;
    if (answer.more) break;
    answer.tables.push_back(std::move(about));
  }
  return answer;
}

TableDescription Owner::description(const txn::TableCore& table) const {
  TableDescription about{.id = table.id(), .name = table.name(), .max_value_bytes = table.max_value_bytes()};
  auto& index = const_cast<txn::TableCore&>(table).index();
  if (table.base() != nullptr) {
    about.kind = TableKind::kSecondaryIndex;
    about.base = table.base()->id();
  } else if (!index.ordered()) {
    about.kind = TableKind::kHash;
  }
  std::string bytes;
  Writer alike(bytes);
  alike.put(about);
  alike.put(table.is_immutable());
  alike.put(table.index_options().unique);
  for (const IndexPart& part : table.index_options().parts) {
    for (const std::uint32_t figure : {static_cast<std::uint32_t>(part.source), part.offset, part.length,
                                       static_cast<std::uint32_t>(part.encoding)}) {
      alike.put(figure);
    }
  }
  about.fingerprint = kvstore::hash::fingerprint(bytes);
  about.sealed_from = table.sealed_from();
  if (about.kind == TableKind::kHash) {
    about.main_offset = offset_of(index.hash().main());
    about.buckets = index.hash().buckets();
  }
  return about;
}

/// The incarnation comes first: it is raised only after `latest` was cleared, which the read behind it would see.
Owner::RecordLook Owner::look(Record& record, std::string_view key, bool with_value, SeenRecord& seen,
                              std::span<const std::uint64_t> held) {
  const std::uint64_t incarnation = record::incarnation_of(base::load_word(&record.size_word));
  if (is_held(record, held)) {
    // Nobody else changes the record while the asker waits: a lock bit is that of an owner which is about to back off
    // (I2).
    const record::TidWord tid = record::unlocked(record.tid());
    seen = {.offset = offset_of(&record), .incarnation = incarnation, .tid = tid};
    return record::is_latest(tid) ? RecordLook::kSeen : RecordLook::kReplaced;
  }
  record::TidWord rts = 0;
  const record::StableRead read = with_value ? cc::read(record, key.size(), buffer_, worker_.state(), access_, rts)
                                             : cc::look(record, worker_.state(), access_, rts);
  if (read.state == ReadState::kReplaced) return RecordLook::kReplaced;
  if (read.state == ReadState::kBusy)
    return cc::held_by_dead(&record, worker_.shared()) ? RecordLook::kHeldByDead : RecordLook::kBusy;
  seen = {.offset = offset_of(&record), .incarnation = incarnation, .tid = read.tid};
  seen.has_value = with_value && read.state == ReadState::kValue;
  if (seen.has_value) seen.value = memory_.copy({buffer_.data(), read.size});
  return RecordLook::kSeen;
}

ReplyStatus Owner::status_after(RecordLook look) {
  if (look == RecordLook::kSeen) return ReplyStatus::kDone;
  return look == RecordLook::kHeldByDead ? ReplyStatus::kHeldByDead : ReplyStatus::kBusy;
}

/// Garbage collection may take it away as soon as all transactions that are open now have ended, on any node, so not
/// before this answer has been made, nor while the transaction that asks is open.
Record* Owner::make_placeholder(txn::TableCore& table, std::string_view key, FindRecordAnswer& answer) {
  cc::WorkerState& state = worker_.state();
  const auto note_change = [&](const auto& changed) { answer.changes.push_back(change(changed)); };
  for (bool made_room = false;; made_room = true) {
    if (Record* const record = table.make_record(state, key, 0); record != nullptr) {
      const cc::Inserted result =
          table.index().insert_if_absent(key, record::value_of(record), state.nodes, nullptr, note_change);
      if (result.what == cc::InsertedWhat::kInserted) {
        cc::register_unborn(state, record, &table.index(), key);
        answer.made = true;
        base::sync_point("owner.placeholder_made");  // from here on others may find it, and commit to it
        return record;
      }
      cc::free_record(state, record);
      if (result.what == cc::InsertedWhat::kPresent) return record::record_of(result.present);
    }
    // Either the record or a node of the index has found no memory.
    if (made_room || !worker_.make_room()) return nullptr;
  }
}

ReplyStatus Owner::answer(const FindRecord& request, FindRecordAnswer& answer) {
  memory_.clear();
  txn::TableCore* table = nullptr;
  const ReplyStatus found = request.make ? find_table_to_write(request.table, request.key, table)
                                         : find_table(request.table, request.key, table);
  if (found != ReplyStatus::kDone) return found;
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const cc::Lookup at = table->index().find(request.key);
    Record* record = record::record_of(at.value);
    if (!request.make && !at.place.is_bucket()) {
      answer.leaves.clear();
      tell(at.place.leaf(), answer.leaves);
    }
    if (record == nullptr && !request.make) {
      answer.missed = node(at.place, at.version);
      return ReplyStatus::kDone;
    }
    if (record == nullptr) record = make_placeholder(*table, request.key, answer);
    if (record == nullptr) return ReplyStatus::kOutOfMemory;
    const RecordLook seen = look(*record, request.key, request.with_value, answer.record);
    if (seen != RecordLook::kReplaced) return status_after(seen);
    worker_.state().waiter->pause(turn);
  }
  return ReplyStatus::kBusy;
}

ReplyStatus Owner::look_up(txn::TableCore& table, std::string_view key, SeenRecord& seen, SeenNode& missed,
                           std::span<const std::uint64_t> held) {
  for (std::uint32_t turn = 0; turn < base::kBoundedPauses; ++turn) {
    const cc::Lookup at = table.index().find(key);
    if (at.value == 0) {
      missed = node(at.place, at.version);
      return ReplyStatus::kDone;
    }
    const RecordLook looked = look(*record::record_of(at.value), key, /*with_value=*/true, seen, held);
    if (looked != RecordLook::kReplaced) return status_after(looked);
    worker_.state().waiter->pause(turn);
  }
  return ReplyStatus::kBusy;
}

ReplyStatus Owner::answer(const LendBlocks& request, LendBlocksAnswer& answer, Borrower borrower) {
  txn::TableCore* table = nullptr;
  if (const ReplyStatus found = find_table_to_write(request.table, {}, table); found != ReplyStatus::kDone)
    return found;
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  const auto lend = [&](std::size_t count, memory::Urgency urgency) {
    return lent_.lend(borrower, request.table, table->max_value_bytes(), count, urgency);
  };
  std::span<Record* const> blocks = lend(request.count, memory::Urgency::kNormal);
  if (blocks.empty() && worker_.make_room()) blocks = lend(request.count, memory::Urgency::kNormal);
  // Only what the removal itself needs, so that nothing of the reserve is left over for updates.
  if (blocks.empty() && request.removes) blocks = lend(1, memory::Urgency::kUrgent);
  if (blocks.empty()) return ReplyStatus::kOutOfMemory;
  for (const Record* const block : blocks) answer.blocks.push_back(offset_of(block));
  return ReplyStatus::kDone;
}

void Owner::forget(std::uint32_t node) {
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  lent_.take_back(node);
}

ReplyStatus Owner::answer(const NoteRemoved& request, NoteRemovedAnswer&) {
  txn::TableCore* table = nullptr;
  if (const ReplyStatus found = find_table_to_write(request.table, request.key, table); found != ReplyStatus::kDone)
    return found;
  const epoch::Entered entered(worker_.shared().epochs, slot_);
  cc::register_removed_by_holder(worker_.state(), table->index(), request.key, request.tid);
  return ReplyStatus::kDone;
}

}  // namespace granary::cluster::messages
