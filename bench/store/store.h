#pragma once
// The interface between stores and workloads with several operations a transaction. Transactions are written once, and
// run on the engine as well as on the stores that the paper compares it with (Silo 5.4).
//
// A store has tables of typed keys and plain-struct rows, in as many partitions as it was opened with. A session is one
// thread's access. Its run() hands a transaction to a body and runs it to its end; run_snapshot() does the same on a
// state a little in the past, where the store has one. Bodies are written against the operations of Reader and Writer.

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <granary/outcome.h>
#include <granary/status.h>

#include "bench/harness/workload.h"
#include "bench/store/footprint.h"

namespace granary::bench::store {

/// Says how a transaction's body wants it to end.
enum class Verdict : std::uint8_t {
  kCommit,
  kRollBack,  ///< ended by the application, as specified
  kRetry,  ///< an operation failed, or the rows that were read do not fit together: the transaction has lost a conflict
};

/// How a table finds its rows and where it keeps them, in stores that have a choice. Keys are of 64 bits.
struct TableLayout {
  bool hash = false;       ///< whether rows are found by key only: such a table is never scanned
  std::uint64_t rows = 0;  ///< if `hash`: how many rows this process will have
  /// Whether transactions overwrite rows often. A store that keeps old versions beside the row makes room for some.
  bool overwritten = false;
  /// Whether the rows do not change after loading. A store with a seal() is told when they are all there.
  bool loaded_once = false;
  /// Returns, in a store of several nodes, which node has the row of a key. None: every node has all rows, which do not
  /// change after loading.
  std::function<std::uint32_t(std::uint64_t key)> home = nullptr;
};

/// How many times a request is tried before it counts as given up.
inline constexpr std::uint32_t kMaxAttempts = 100'000;

/// One element of a multi_get: table and key go in, `found` and `*row` come out.
/// `write`: the transaction will overwrite the row, or remove it. A store may make use of that.
template <typename Table, typename Key, typename Row>
struct Lookup {
  Table table;
  Key key;
  Row* row;
  bool found;
  bool write = false;
};

template <typename T, typename Table, typename Key, typename Row>
concept Reader = requires(T& t, const Table& table, Key key, Row& row, std::span<Lookup<Table, Key, Row>> lookups,
                          bool (*visit)(Key, const Row&)) {
  { t.get(table, key, row) } -> std::same_as<Outcome>;
  /// Reads any number of spans, whose cache misses may overlap. Returns kOk also if some rows were not found; see
  /// Lookup::found. Stores that lock rows that are known beforehand do so here.
  { t.multi_get(lookups) } -> std::same_as<Outcome>;
  { t.multi_get(lookups, lookups) } -> std::same_as<Outcome>;
  /// Visits [from, to); `visit` returns false to stop.
  { t.scan(table, key, key, visit) } -> std::same_as<Outcome>;
  /// Reads the first, or last, row of [from, to): kNotFound if there is none.
  { t.first(table, key, key, key, row) } -> std::same_as<Outcome>;
  { t.last(table, key, key, key, row) } -> std::same_as<Outcome>;
};

template <typename T, typename Table, typename Key, typename Row>
concept Writer = Reader<T, Table, Key, Row> && requires(T& t, const Table& table, Key key, const Row& row) {
  { t.insert(table, key, row) } -> std::same_as<Outcome>;
  /// Writes a row that this transaction has read.
  { t.overwrite(table, key, row) } -> std::same_as<Outcome>;
  { t.remove(table, key) } -> std::same_as<Outcome>;
};

/// Reads a row that the transaction will overwrite or remove. A store may make use of that, by an operation of this
/// name.
template <typename T, typename Table, typename Key, typename Row>
Outcome get_to_write(T& t, const Table& table, const Key& key, Row& row) {
  if constexpr (requires { t.get_to_write(table, key, row); }) {
    return t.get_to_write(table, key, row);
  } else {
    return t.get(table, key, row);
  }
}

/// Reads the first row that a scan visits; kNotFound if it visits none. `scan(visit)` runs it and returns its outcome.
template <typename K, typename V, typename Scan>
Outcome first_visited(K& key, V& row, Scan&& scan) {
  bool any = false;
  const Outcome outcome = scan([&](const K& found_key, const V& found_row) {
    key = found_key;
    row = found_row;
    any = true;
    return false;
  });
  return outcome == Outcome::kOk && !any ? Outcome::kNotFound : outcome;
}

namespace concept_detail {
using Key = std::uint64_t;
struct Row {
  std::uint64_t word;
};
struct Body {
  template <typename T>
  Verdict operator()(T&) const;
};
}  // namespace concept_detail

template <typename S>
concept Store = requires(S& store, typename S::Session& session, const Footprint& footprint, AbortCounts& aborts) {
  typename S::template Table<concept_detail::Key, concept_detail::Row>;
  requires Writer<typename S::Transaction, typename S::template Table<concept_detail::Key, concept_detail::Row>,
                  concept_detail::Key, concept_detail::Row>;
  requires Reader<typename S::SnapshotReader, typename S::template Table<concept_detail::Key, concept_detail::Row>,
                  concept_detail::Key, concept_detail::Row>;
  /// Creates a table of all partitions (where the store does not split it), or of one.
  {
    store.template create_table<concept_detail::Key, concept_detail::Row>(std::string(), std::uint32_t{}, TableLayout{})
  } -> std::same_as<Result<typename S::template Table<concept_detail::Key, concept_detail::Row>>>;
  /// Whether create_table must be called for each partition.
  { store.splits_tables() } -> std::same_as<bool>;
  { store.session(std::uint64_t{}) } -> std::same_as<Result<std::unique_ptr<typename S::Session>>>;
  { store.figures() } -> std::same_as<StoreFigures>;
  { session.run(footprint, aborts, concept_detail::Body{}) } -> std::same_as<Ending>;
  { session.run_snapshot(footprint, aborts, concept_detail::Body{}) } -> std::same_as<Ending>;
  { session.collect() };
};

}  // namespace granary::bench::store
