#pragma once
// The Store back-end that is the engine: transactions and snapshots of one Database. With `split`, each partition has
// tables of its own (MemSilo+Split of Silo 5.4); else the footprint of a transaction means nothing here.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <granary/granary.h>

#include "bench/harness/fresh_database.h"
#include "bench/harness/attempts.h"
#include "bench/harness/database_figures.h"
#include "bench/store/store.h"

namespace granary::bench::store {

/// Reading, the same for Transaction and Snapshot.
template <typename Handle>
class GranaryReader {
 public:
  explicit GranaryReader(Handle& handle) : handle_(handle) {}

  template <typename K, typename V>
  Outcome get(const TypedTable<K, V>& table, const K& key, V& row) {
    return handle_.get(static_cast<const granary::Table&>(table), encode_key(key), buffer_of(row)).outcome;
  }

  template <typename... Lookups>
  Outcome multi_get(std::span<Lookups>... lookups) {
    if ((std::size_t{0} + ... + lookups.size()) > kBatch) return get_in_batches(lookups...);
    std::array<KeyBytes, kBatch> keys;
    std::array<MultiGet, kBatch> gets;
    std::size_t count = 0;
    const auto prepare = [&](auto& lookup) {
      const EncodedKey key(lookup.key);
      static_assert(sizeof key <= sizeof(KeyBytes) + sizeof(std::size_t), "keys here are short");
      std::memcpy(keys[count].data(), key.view().data(), key.view().size());
      gets[count] = {lookup.table, {keys[count].data(), key.view().size()}, buffer_of(*lookup.row), {}};
      ++count;
    };
    (std::for_each(lookups.begin(), lookups.end(), prepare), ...);
    const Outcome outcome = handle_.multi_get(std::span(gets.data(), count));
    if (outcome != Outcome::kOk) return outcome;
    const MultiGet* get = gets.data();
    const auto take = [&](auto& lookup) { lookup.found = (get++)->result.outcome == Outcome::kOk; };
    (std::for_each(lookups.begin(), lookups.end(), take), ...);
    return Outcome::kOk;
  }

  template <typename K, typename V, typename Visit>
  Outcome scan(const TypedTable<K, V>& table, const K& from, const K& to, Visit&& visit) {
    return handle_.scan(table, from, to, std::forward<Visit>(visit)).outcome;
  }

  template <typename K, typename V>
  Outcome first(const TypedTable<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, Order::kAscending);
  }
  template <typename K, typename V>
  Outcome last(const TypedTable<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, Order::kDescending);
  }

 protected:
  template <typename V>
  static std::span<char> buffer_of(V& row) {
    return {reinterpret_cast<char*>(&row), sizeof row};
  }

  template <typename K, typename V>
  Outcome end_of(const TypedTable<K, V>& table, const K& from, const K& to, K& key, V& row, Order order) {
    const auto take = [&](const K& found_key, const V& found_row) {
      key = found_key;
      row = found_row;
      return false;
    };
    const ScanResult result = handle_.scan(table, from, to, take, order, 1);
    if (result.outcome != Outcome::kOk) return result.outcome;
    return result.count == 0 ? Outcome::kNotFound : Outcome::kOk;
  }

  static constexpr std::size_t kBatch = 64;
  using KeyBytes = std::array<char, 16>;

  template <typename... Lookups>
  Outcome get_in_batches(std::span<Lookups>... lookups) {
    Outcome outcome = Outcome::kOk;
    const auto get_all = [&](auto rest) {
      while (outcome == Outcome::kOk && !rest.empty()) {
        const std::size_t count = std::min(kBatch, rest.size());
        outcome = multi_get(rest.first(count));
        rest = rest.subspan(count);
      }
    };
    (get_all(lookups), ...);
    return outcome;
  }

  Handle& handle_;
};

class GranaryTransaction : public GranaryReader<granary::Transaction> {
 public:
  using GranaryReader::GranaryReader;

  template <typename K, typename V>
  Outcome insert(const TypedTable<K, V>& table, const K& key, const V& row) {
    return handle_.insert(table, key, row);
  }
  /// The row is in the read set, so its presence is validated: a put need not look again.
  template <typename K, typename V>
  Outcome overwrite(const TypedTable<K, V>& table, const K& key, const V& row) {
    return handle_.put(table, key, row);
  }
  template <typename K, typename V>
  Outcome remove(const TypedTable<K, V>& table, const K& key) {
    return handle_.remove(table, key);
  }
};

class GranaryStore {
 public:
  template <typename K, typename V>
  using Table = TypedTable<K, V>;
  using Transaction = GranaryTransaction;
  using SnapshotReader = GranaryReader<granary::Snapshot>;

  class Session {
   public:
    Session(Worker worker, base::Random random) : worker_(std::move(worker)), random_(random) {}

    template <typename Body>
    Ending run(const Footprint&, AbortCounts& aborts, Body&& body) {
      for (std::uint32_t attempt = 0; attempt < kMaxAttempts; ++attempt) {
        granary::Transaction handle = worker_.begin();
        GranaryTransaction transaction(handle);
        const Verdict verdict = body(transaction);
        if (verdict == Verdict::kRollBack) {
          handle.abort();
          return Ending::kRolledBack;
        }
        const AbortReason reason = end(handle, verdict);
        if (reason == AbortReason::kNone) [[likely]]
          return Ending::kCommitted;
        ++aborts[static_cast<std::size_t>(reason)];
        if (!is_retryable(reason)) return Ending::kGaveUp;
        back_off(random_, attempt);
      }
      return Ending::kGaveUp;
    }

    template <typename Body>
    Ending run_snapshot(const Footprint&, AbortCounts&, Body&& body) {
      granary::Snapshot handle = worker_.snapshot();
      SnapshotReader reader(handle);
      return body(reader) == Verdict::kCommit ? Ending::kCommitted : Ending::kGaveUp;
    }

    void collect() { worker_.collect_garbage(); }

   private:
    /// Commits unless the body met something that does not fit together; then the reads cannot have been one state.
    static AbortReason end(granary::Transaction& handle, Verdict verdict) {
      if (verdict == Verdict::kCommit || handle.doom() != AbortReason::kNone) return handle.commit().reason;
      handle.abort();
      return AbortReason::kReadChanged;
    }

    Worker worker_;
    base::Random random_;
  };

  static Result<std::unique_ptr<GranaryStore>> open(const Options& options, bool split) {
    Result<std::unique_ptr<Database>> database = bench::open_fresh(options);
    if (!database.ok()) return database.status();
    return std::make_unique<GranaryStore>(std::move(*database), split);
  }

  GranaryStore(std::unique_ptr<Database> database, bool split) : database_(std::move(database)), split_(split) {}

  template <typename K, typename V>
  Result<TypedTable<K, V>> create_table(const std::string& name, std::uint32_t partition,
                                        const TableLayout& layout = {}) {
    TableOptions options;
    if (layout.hash) options = {.index = IndexKind::kHash, .expected_keys = layout.rows};
    return database_->create_table<K, V>(split_ ? name + "." + std::to_string(partition) : name, options);
  }
  bool splits_tables() const { return split_; }

  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    Result<Worker> worker = database_->register_worker();
    if (!worker.ok()) return worker.status();
    return std::make_unique<Session>(std::move(*worker), base::Random(seed, 0x73746f7265));
  }
  StoreFigures figures() const { return figures_of(*database_); }
  const Database* logged_database() const { return database_->options().directory.empty() ? nullptr : database_.get(); }
  Database& database() { return *database_; }

 private:
  std::unique_ptr<Database> database_;
  const bool split_;
};

static_assert(Store<GranaryStore>);

}  // namespace granary::bench::store
