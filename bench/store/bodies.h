#pragma once
// Helpers for the bodies of transactions on a store: they read a few rows of different tables in one go, and return the
// verdict.

#include <span>

#include "bench/store/store.h"

namespace granary::bench::store {

template <template <typename, typename> class Table, typename Key, typename Row>
Lookup<Table<Key, Row>, Key, Row> lookup(const Table<Key, Row>& table, Key key, Row& row, bool write = false) {
  return {table, key, &row, false, write};
}

/// Reads in one go. Returns commit if all rows are there, and roll back if one is missing.
template <typename T, typename... Lookups>
Verdict fetch(T& t, Lookups... lookups) {
  if (t.multi_get(std::span(&lookups, 1)...) != Outcome::kOk) return Verdict::kRetry;
  return (lookups.found && ...) ? Verdict::kCommit : Verdict::kRollBack;
}

template <typename... Outcomes>
Verdict commit_if_ok(Outcomes... outcomes) {
  return ((outcomes == Outcome::kOk) && ...) ? Verdict::kCommit : Verdict::kRetry;
}

}  // namespace granary::bench::store
