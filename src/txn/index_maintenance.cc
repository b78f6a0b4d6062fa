// Keeps secondary indexes in step with their tables (Silo 4.7). An index is a table that maps secondary keys to primary
// keys. A write to the base table also writes its index entries, in the same transaction and at the same node.

#include "src/base/test_hooks.h"
#include "src/txn/execution.h"
#include "src/txn/index_key.h"

namespace granary::txn {

Outcome Execution::move_index_entry(Home home, TableCore& index, std::string_view key, const std::string* old_value,
                                    const std::string_view* new_value) {
  std::string old_key;
  std::string new_key;
  if (old_value != nullptr) append_index_key(index.index_options(), key, *old_value, old_key);
  if (new_value != nullptr) append_index_key(index.index_options(), key, *new_value, new_key);
  if (old_value != nullptr && new_value != nullptr && old_key == new_key) return Outcome::kOk;
  if (old_value != nullptr) {
    const Outcome removed = write_at(home, index, old_key, {}, kRemove);
    // The record was there without its index entry. Most often the transaction's reads are not of one state then.
    // Otherwise a salvage has left two records for one entry of a unique index, and this one had none.
    if (removed == Outcome::kNotFound && !seen_consistently(home))
      return transaction_.doom_with(AbortReason::kReadChanged);
    if (removed != Outcome::kOk && removed != Outcome::kNotFound) return removed;
  }
  if (new_value == nullptr) return Outcome::kOk;
  const Outcome added = write_at(home, index, new_key, key, kInsert);
  if (added != Outcome::kAlreadyExists) return added;
  // If the reads are of one state, the application has broken the index's uniqueness. Otherwise it is a conflict, to be
  // retried.
  const bool certain = index.index_options().unique && seen_consistently(home);
  return transaction_.doom_with(certain ? AbortReason::kUniqueViolation : AbortReason::kReadChanged);
}

bool Execution::seen_consistently(Home home) {
  if (!home) return local_.reads_hold();
  cc::RemoteCommit& elsewhere = remote_->remote_commit();
  const record::TidWord stamp = std::max(local_.stamp_of_reads(), elsewhere.least_time());
  return local_.reads_hold(stamp) && elsewhere.validate(stamp) == AbortReason::kNone;
}

Outcome Execution::write_indexed(Home home, TableCore& table, std::string_view key, std::string_view value,
                                 const WriteRule& rule) {
  if (!home) {
    if (const Outcome locked = local_.lock_to_write(table, key); locked != Outcome::kOk) return locked;
  }
  std::string old_value;
  const Outcome found = get(home, table, key, old_value);
  if (found != Outcome::kOk && found != Outcome::kNotFound) return found;
  const bool there = found == Outcome::kOk;
  base::sync_point("index.row_read");
  if (const Outcome outcome = rule.outcome(there); outcome != Outcome::kOk) return outcome;
  // A put that has found no record inserts one. If somebody else's has come meanwhile, its index entries would stay,
  // and nobody else notices: below serializable a commit does not validate what was missing.
  const bool inserts = !there && !rule.looks() && !base::injected("put-over-unseen-record");
  const Outcome written = write_at(home, table, key, value, inserts ? kInsert : rule);
  if (inserts && written == Outcome::kAlreadyExists) return transaction_.doom_with(AbortReason::kReadChanged);
  if (written != Outcome::kOk) return written;
  for (TableCore* index : table.indexes()) {
    const Outcome moved =
        move_index_entry(home, *index, key, there ? &old_value : nullptr, rule.removes ? nullptr : &value);
    if (moved != Outcome::kOk) return moved;
  }
  return Outcome::kOk;
}

}  // namespace granary::txn
