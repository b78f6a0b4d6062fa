#pragma once
// Hekaton's transactions on tables of typed rows (bench/store/store.h), each in an index of the bare store. It is made
// for TicToc's evaluation, which runs new-orders and payments: a row that is removed stays in its index, and commits do
// not scan again, so that a row which comes into a range meanwhile is not noticed.

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <granary/key.h>
#include <granary/options.h>

#include "bench/harness/attempts.h"
#include "bench/hekaton/row.h"
#include "bench/hekaton/transaction.h"
#include "bench/kv/store.h"
#include "bench/store/places.h"
#include "bench/store/store.h"

namespace granary::bench::hekaton {

using kvstore::ordered::Direction;

template <typename K, typename V>
struct Table {
  static_assert(key_detail::Codec<K>::kMaxBytes <= sizeof(std::uint64_t), "keys here are short");

  cc::Index* index = nullptr;
  std::uint32_t versions = 1;  ///< how many versions a row keeps
  /// Whether the rows do not change any more, so that they are read without their latches and not checked.
  /// seal() sets it before the threads begin that only read, so both are relaxed.
  std::atomic<bool>* sealed = nullptr;

  bool is_sealed() const { return sealed->load(std::memory_order_relaxed); }
};

/// Runs the operations of the Store interface, with one transaction after the other.
class StoreTransaction {
 public:
  StoreTransaction(kv::Access& access, Shared& shared, std::uint32_t session)
      : access_(access),
        transaction_(shared, session, Isolation::kSerializable) {}

  template <typename K, typename V>
  Outcome get(const Table<K, V>& table, const K& key, V& row) {
    Row* const found = find(table, key);
    return found == nullptr ? Outcome::kNotFound : read(table, *found, row);
  }
  template <typename K, typename V>
  Outcome get_to_write(const Table<K, V>& table, const K& key, V& row) {
    Row* const found = find(table, key);
    return found == nullptr ? Outcome::kNotFound : claim(*found, row);
  }

  template <typename... Lookups>
  Outcome multi_get(std::span<Lookups>... lookups) {
    const auto get_all = [&](auto rest) {
      while (!rest.empty() && transaction_.reason() == AbortReason::kNone) rest = rest.subspan(get_run(rest));
    };
    (get_all(lookups), ...);
    return transaction_.reason() == AbortReason::kNone ? Outcome::kOk : Outcome::kAborted;
  }

  template <typename K, typename V, typename Visit>
  Outcome scan(const Table<K, V>& table, const K& from, const K& to, Visit&& visit) {
    return scan(table, from, to, Direction::kForward, visit);
  }
  template <typename K, typename V>
  Outcome first(const Table<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, Direction::kForward);
  }
  template <typename K, typename V>
  Outcome last(const Table<K, V>& table, const K& from, const K& to, K& key, V& row) {
    return end_of(table, from, to, key, row, Direction::kReverse);
  }

  template <typename K, typename V>
  Outcome insert(const Table<K, V>& table, const K& key, const V& row) {
    Row* const made = find_or_make(*table.index, EncodedKey<K>(key).view(), sizeof(V), table.versions);
    if (made == nullptr) return Outcome::kOutOfMemory;
    if (transaction_.insert(*made, view_of(row))) return Outcome::kOk;
    return transaction_.reason() == AbortReason::kNone ? Outcome::kAlreadyExists : Outcome::kAborted;
  }
  template <typename K, typename V>
  Outcome overwrite(const Table<K, V>& table, const K& key, const V& row) {
    Row* const found = find(table, key);
    if (found == nullptr) return Outcome::kNotFound;
    const Outcome claimed = done(transaction_.claim(*found, {}));
    if (claimed == Outcome::kOk) transaction_.write(*found, view_of(row));
    return claimed;
  }
  template <typename K, typename V>
  Outcome remove(const Table<K, V>& table, const K& key) {
    Row* const found = find(table, key);
    return found == nullptr ? Outcome::kNotFound : done(transaction_.remove(*found));
  }

  void begin() {
    places_.forget_all();
    transaction_.begin();
  }
  Transaction& transaction() { return transaction_; }

 private:
  template <typename V>
  static std::span<char> bytes_of(V& row) {
    return {reinterpret_cast<char*>(&row), sizeof row};
  }
  template <typename V>
  static std::string_view view_of(const V& row) {
    return {reinterpret_cast<const char*>(&row), sizeof row};
  }
  static Row& row_of(record::Record& record) { return *reinterpret_cast<Row*>(record.value_words()); }

  /// Returns the outcome of an operation of the transaction that has succeeded or not.
  Outcome done(bool succeeded) const {
    if (succeeded) return Outcome::kOk;
    return transaction_.reason() == AbortReason::kNone ? Outcome::kNotFound : Outcome::kAborted;
  }
  template <typename K, typename V>
  Outcome read(const Table<K, V>& table, Row& found, V& row) {
    if (!table.is_sealed()) return done(transaction_.read(found, bytes_of(row)));
    const char* const value = found.sealed_value();
    if (value == nullptr) return Outcome::kNotFound;
    std::memcpy(&row, value, sizeof row);
    return Outcome::kOk;
  }
  template <typename V>
  Outcome claim(Row& found, V& row) {
    const Outcome claimed = done(transaction_.claim(found, bytes_of(row)));
    if (claimed == Outcome::kOk) transaction_.write(found, view_of(row));
    return claimed;
  }

  template <typename K, typename V>
  Row* find(const Table<K, V>& table, const K& key) {
    return find(*table.index, EncodedKey<K>(key).view());
  }
  Row* find(const cc::Index& index, std::string_view key);
  /// Returns the key's row, which may say that it is not there; nullptr if there is no memory for one.
  Row* find_or_make(cc::Index& index, std::string_view key, std::size_t value_bytes, std::uint32_t versions);

  /// Gets the first lookups that are on one table, at most a batch, and returns how many these are.
  template <typename K, typename V>
  std::size_t get_run(std::span<store::Lookup<Table<K, V>, K, V>> lookups) {
    constexpr std::size_t kBatch = 16;
    std::array<std::optional<EncodedKey<K>>, kBatch> keys;
    std::array<std::string_view, kBatch> views;
    std::array<record::Record*, kBatch> found;
    const Table<K, V>& table = lookups.front().table;
    std::size_t count = 0;
    for (; count < std::min(kBatch, lookups.size()) && lookups[count].table.index == table.index; ++count)
      views[count] = keys[count].emplace(lookups[count].key).view();
    access_.locate_many(*table.index, {views.data(), count}, {found.data(), count},
                        Row::bytes_for(sizeof(V), table.versions));
    for (std::size_t i = 0; i < count; ++i) {
      auto& lookup = lookups[i];
      lookup.found = found[i] != nullptr;
      if (!lookup.found) continue;
      Row& row = row_of(*found[i]);
      places_.remember({table.index, views[i]}, &row);
      const Outcome outcome = lookup.write ? claim(row, *lookup.row) : read(table, row, *lookup.row);
      lookup.found = outcome == Outcome::kOk;
      if (outcome == Outcome::kAborted) break;
    }
    return count;
  }

  template <typename K, typename V, typename Visit>
  Outcome scan(const Table<K, V>& table, const K& from, const K& to, Direction direction, Visit&& visit) {
    const EncodedKey<K> low(from), high(to);
    const auto take = [&](std::string_view bytes, record::Record& record) {
      K key{};
      V row;
      if (!decode_key(bytes, key)) return true;
      const Outcome outcome = done(transaction_.read(row_of(record), bytes_of(row)));
      return outcome == Outcome::kOk ? visit(key, row) : outcome == Outcome::kNotFound;
    };
    access_.visit(*table.index, {.from = low.view(), .to = high.view(), .to_infinity = false}, direction, take);
    return transaction_.reason() == AbortReason::kNone ? Outcome::kOk : Outcome::kAborted;
  }

  template <typename K, typename V>
  Outcome end_of(const Table<K, V>& table, const K& from, const K& to, K& key, V& row, Direction direction) {
    return store::first_visited(key, row, [&](auto&& visit) { return scan(table, from, to, direction, visit); });
  }

  kv::Access& access_;
  Transaction transaction_;
  store::Places<Row> places_;
  std::vector<char> row_bytes_;  // of a row that is being made
};

class HekatonStore {
 public:
  template <typename K, typename V>
  using Table = hekaton::Table<K, V>;
  using Transaction = StoreTransaction;
  using SnapshotReader = StoreTransaction;

  class Session {
   public:
    Session(kv::Store& store, Shared& shared, std::uint32_t number, base::Random random)
        : store_(store),
          access_(*store.take_access()),
          transaction_(access_, shared, number),
          random_(random) {}
    ~Session() { store_.give_access(&access_); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    template <typename Body>
    Ending run(const store::Footprint&, AbortCounts& aborts, Body&& body) {
      return run_attempts(aborts, body, [this] { return transaction_.transaction().commit(); });
    }
    /// Reads what was there when the transaction began, which is one state, so commit has nothing to check.
    template <typename Body>
    Ending run_snapshot(const store::Footprint&, AbortCounts& aborts, Body&& body) {
      return run_attempts(aborts, body, [this] {
        transaction_.transaction().abort();
        return transaction_.transaction().reason();
      });
    }
    void collect() { access_.collect(); }

   private:
    /// Runs the body until it commits, or has been tried too often. It is tried again also where it says so although
    /// nothing has failed: then it has met rows that do not fit together.
    template <typename Body, typename Commit>
    Ending run_attempts(AbortCounts& aborts, Body&& body, Commit&& commit) {
      for (std::uint32_t attempt = 0; attempt < store::kMaxAttempts; ++attempt) {
        transaction_.begin();
        const store::Verdict verdict = body(transaction_);
        const bool failed = transaction_.transaction().reason() != AbortReason::kNone;
        if (verdict == store::Verdict::kRetry && !failed) transaction_.transaction().fail(AbortReason::kReadChanged);
        if (verdict == store::Verdict::kRollBack && !failed) {
          transaction_.transaction().abort();
          return Ending::kRolledBack;
        }
        const AbortReason reason = commit();
        if (reason == AbortReason::kNone) return Ending::kCommitted;
        ++aborts[static_cast<std::size_t>(reason)];
        if (reason == AbortReason::kOutOfMemory) break;
        back_off(random_, attempt);
      }
      return Ending::kGaveUp;
    }

    kv::Store& store_;
    kv::Access& access_;
    StoreTransaction transaction_;
    base::Random random_;
  };

  static Result<std::unique_ptr<HekatonStore>> open(const Options& options);
  explicit HekatonStore(std::unique_ptr<kv::Store> store) : store_(std::move(store)) {}

  template <typename K, typename V>
  Result<Table<K, V>> create_table(const std::string& /*name*/, std::uint32_t /*partition*/,
                                   const store::TableLayout& layout = {}) {
    const auto index = store_->add_index(layout.hash ? std::optional(layout.rows) : std::nullopt);
    if (!index.ok()) return index.status();
    const std::lock_guard lock(mutex_);
    return Table<K, V>{*index, layout.overwritten ? Row::kVersions : 1, &sealed_.emplace_back(false)};
  }
  template <typename K, typename V>
  Status seal(const Table<K, V>& table) {
    table.sealed->store(true, std::memory_order_relaxed);
    return {};
  }
  bool splits_tables() const { return false; }
  /// A session gets the number of a former one when kSessions others have come in between, by when that one is over.
  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    const std::uint32_t number = sessions_.fetch_add(1, std::memory_order_relaxed) % Shared::kSessions;
    return std::make_unique<Session>(*store_, shared_, number, base::Random(seed));
  }
  StoreFigures figures() const { return store_->figures(); }
  std::vector<ExtraFigure> extra_figures() const { return shared_.figures(); }

 private:
  const std::unique_ptr<kv::Store> store_;
  Shared shared_{TimestampSource::kFetchAdd};
  std::mutex mutex_;  // guards sealed_
  std::deque<std::atomic<bool>> sealed_;
  std::atomic<std::uint32_t> sessions_{0};  // only unique, so relaxed
};

static_assert(store::Store<HekatonStore>);

}  // namespace granary::bench::hekaton
