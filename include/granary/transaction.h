#pragma once
// Transactions: serializable reads and writes (Silo 4.4, 4.5), and snapshots (Silo 4.9).
//
// A transaction buffers its writes; others see all of them or none, from commit on. Operations report an
// Outcome and never throw. When one reports kAborted, the transaction is doomed: return and let
// Worker::run retry, or end it with abort(). What a doomed transaction read may be inconsistent; only a
// committed one is known to have seen a serializable state.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <granary/export.h>
#include <granary/key.h>
#include <granary/limits.h>
#include <granary/operations.h>
#include <granary/outcome.h>
#include <granary/table.h>

namespace granary {

class Database;
class Procedures;
class Worker;
namespace txn {
class Context;
}

namespace detail {

/// Visits the records of a range that are a K and a V, by `scan(range, visitor of bytes)`. If others were among as many
/// as the limit allows, it goes on behind the last one.
template <typename K, Plain V, typename Visit, typename Scan>
ScanResult scan_typed(ScanRange rest, Visit& visit, const Scan& scan) {
  std::size_t visited = 0;
  std::string behind, last;  // keys behind which the scan goes on, and of the last record since one was passed over
  for (;;) {
    std::size_t passed_over = 0;
    bool more = true;
    const auto raw = [&](std::string_view key_bytes, std::string_view value_bytes) {
      K key{};
      V value{};
      const bool typed = decode_key(key_bytes, key) && value_bytes.size() == sizeof(V);
      if (!typed) ++passed_over;
      if (passed_over != 0) last.assign(key_bytes);
      if (!typed) return true;
      std::memcpy(&value, value_bytes.data(), sizeof(V));
      more = static_cast<bool>(visit(key, value));
      return more;
    };
    const ScanResult part = scan(rest, raw);
    visited += part.count - passed_over;
    if (!part || !more || passed_over == 0 || part.count < rest.limit) return {part.outcome, visited};
    rest.limit = passed_over;
    behind.swap(last);
    if (rest.order == Order::kAscending) {
      rest.from = behind;
      rest.from_inclusive = false;
    } else {
      rest.to = behind;
      rest.to_inclusive = false;
    }
  }
}

template <typename V>
std::span<char> as_buffer(V& value) {
  return {reinterpret_cast<char*>(&value), sizeof(V)};
}
/// Returns where the member lies in a V.
template <typename V, typename Member>
std::size_t offset_of(Member V::*member) {
  alignas(V) char room[sizeof(V)];
  const V* const whole = reinterpret_cast<const V*>(room);
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&(whole->*member)) - room);
}

/// Reads one member of a value by `get_part(from, buffer)`. Returns nullopt if that fails, or the value ends before it.
template <typename V, typename Member, typename GetPart>
std::optional<Member> get_member(Member V::*member, const GetPart& get_part) {
  std::optional<Member> value(std::in_place);
  const GetResult got = get_part(offset_of(member), as_buffer(*value));
  if (!got || got.size != sizeof(Member)) value.reset();
  return value;
}

}  // namespace detail

/// Names a committed transaction: its TID and the epoch it belongs to.
struct Ticket {
  std::uint64_t tid = 0;    ///< 0 for a transaction that wrote nothing
  std::uint64_t epoch = 0;  ///< its result may be shown outside once Database::released_epoch() ≥ epoch
};

struct [[nodiscard]] CommitResult {
  AbortReason reason = AbortReason::kNone;
  Ticket ticket;
  bool committed() const { return reason == AbortReason::kNone; }
  explicit operator bool() const { return committed(); }
};

/// A read-write transaction. Move-only; used by its worker's thread only, and where bodies run in turns only by the
/// body that has begun it (Worker::run_together). Dropping an open one aborts it, and so does the end of its worker;
/// operations then report kFinished, or kWrongThread once another thread's worker has taken that worker's place. If
/// another thread drops it, it stays open, and holds back the epoch, until its worker's thread begins or ends another
/// transaction or snapshot, or calls Worker::collect_garbage(). An open one must not outlive its database, not even to
/// be dropped; one that has ended may.
class GRANARY_EXPORT Transaction {
 public:
  Transaction() = default;
  Transaction(Transaction&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)),
        serial_(other.serial_),
        aborted_(other.aborted_),
        is_piece_(other.is_piece_),
        committed_(other.committed_) {}
  Transaction& operator=(Transaction&& other) noexcept;
  ~Transaction() {
    if (context_ != nullptr) drop();
  }

  /// Copies the value into `buffer`. kBufferTooSmall tells the size.
  GetResult get(const Table& table, std::string_view key, std::span<char> buffer);
  /// The same into a string, which grows as needed.
  Outcome get(const Table& table, std::string_view key, std::string& value);
  /// As get(), with the hint MultiGet::will_write.
  GetResult get_to_write(const Table& table, std::string_view key, std::span<char> buffer);
  /// Copies a part of the value: as many bytes as there are from `from` on, and as the buffer holds. `size` tells how
  /// many these were; 0 if the value ends before. Like get(), it relies on the record as it was, whichever part
  /// changes. Under "silo" and "tictoc" it touches only that part of a record of this node, in a table that is neither
  /// shared nor sealed; else it reads the whole value.
  GetResult get_part(const Table& table, std::string_view key, std::size_t from, std::span<char> buffer);
  /// Many gets whose cache misses (or, in a cluster, round trips) overlap. Returns kOk, or why the transaction cannot
  /// go on, and then each get has that outcome, too. After kOk, what each get found is in its own result: one that is
  /// refused (kUnknownTable, kKeyTooLong, kBufferTooSmall) does not keep the others from their answers.
  Outcome multi_get(std::span<MultiGet> gets);
  /// In a cluster: what the transaction will do elsewhere, all at once and before it does it (`lease_2pl`; DrTM). The
  /// records of other nodes are fetched and held until it ends: those to be written are locked, those to be read
  /// leased, which many may at a time, so that it does not conflict later. Leases are short (`lease_us` of the cluster
  /// file); a transaction that takes longer aborts with kLeaseExpired. Where the clocks are not good enough for leases,
  /// or leases are not wanted (ClusterOptions::read_lock), locks take their place. Keys of this node, keys that have no
  /// record, keys under a lease that is about to end, and keys that were not declared are read and written as ever.
  /// What was declared to be read only may be written, but aborts (kRemotelyLocked), and a later attempt locks it from
  /// the start.
  Outcome declare(std::span<const Declared> keys);
  /// Hints that these keys will be read soon.
  void prefetch(const Table& table, std::string_view key);

  /// Inserts or overwrites.
  Outcome put(const Table& table, std::string_view key, std::string_view value);
  /// Many puts whose cache misses overlap, those of the search in a run of puts of one table. So do, in tables with
  /// secondary indexes, the round trips that read the rows of other nodes which are replaced. It does what the puts do
  /// one after the other: of several with one key the last one counts. Returns kOk, or why the transaction cannot go
  /// on, and then each put has that outcome, too. After kOk, what became of each put is in its own outcome: one that is
  /// refused (kUnknownTable, kKeyTooLong, kValueTooLarge, kImmutable, kTooManyAccesses) does not keep the others from
  /// being put.
  Outcome multi_put(std::span<MultiPut> puts);
  /// Overwrites; kNotFound if there is no such record.
  Outcome update(const Table& table, std::string_view key, std::string_view value);
  /// Overwrites the value's bytes from `from` on with as many others, and leaves its size and the rest as they are.
  /// kNotFound if there is no such record; kPartBeyondValue, and nothing is written, if the value is too short. It
  /// relies on the record as get() does. Where get_part() touches only the part, so does this, unless the table has
  /// secondary indexes, the database may use HTM, or the transaction is weaker than serializable. There the log has the
  /// part alone, too, or what lies between the first and the last byte if the transaction writes several; the whole
  /// value, if the transaction reads it afterwards.
  Outcome update_part(const Table& table, std::string_view key, std::size_t from, std::string_view bytes);
  /// Adds; kAlreadyExists if there is such a record.
  Outcome insert(const Table& table, std::string_view key, std::string_view value);
  /// Deletes; kNotFound if there is no such record.
  Outcome remove(const Table& table, std::string_view key);

  /// Visits the records of a range in order, own writes included; what `visit` inserts, or some of it, may be left out.
  /// Phantom-safe (Silo 4.6). `visit` may throw: that ends the scan, and the exception comes out of it. The transaction
  /// stays open as long as the exception does not leave its body.
  ScanResult scan(const Table& table, const ScanRange& range, ScanFn visit);
  /// Visits records in the order of a secondary index; `range` is over encoded secondary keys, `visit` gets the primary
  /// key and value.
  ScanResult scan(const Index& index, const ScanRange& range, ScanFn visit);
  /// The first record with this whole secondary key: copies its value, and its primary key if asked for.
  GetResult get(const Index& index, std::string_view secondary_key, std::span<char> buffer,
                std::string* primary_key = nullptr);

  // Typed forms: keys are encoded on the stack, values copied byte for byte.

  /// The value, or nullopt if there is none or the transaction is doomed. A stored value of another size is
  /// not a Value: nullopt as well.
  template <typename K, Plain V>
  std::optional<V> get(const TypedTable<K, V>& table, const std::type_identity_t<K>& key) {
    std::optional<V> value(std::in_place);
    const GetResult got = get(static_cast<const Table&>(table), encode_key<K>(key), detail::as_buffer(*value));
    if (!got || got.size != sizeof(V)) value.reset();
    return value;
  }
  /// One member of the value, without the others: `t.get_part(accounts, id, &Account::balance)`. nullopt as for get(),
  /// and if the stored value ends before it.
  template <typename K, Plain V, typename Member>
  std::optional<Member> get_part(const TypedTable<K, V>& table, const std::type_identity_t<K>& key, Member V::*member) {
    return detail::get_member(member, [&](std::size_t from, std::span<char> buffer) {
      return get_part(static_cast<const Table&>(table), encode_key<K>(key), from, buffer);
    });
  }
  /// Overwrites one member of the value.
  template <typename K, Plain V, typename Member>
  Outcome update_part(const TypedTable<K, V>& table, const std::type_identity_t<K>& key, Member V::*member,
                      const std::type_identity_t<Member>& value) {
    return update_part(static_cast<const Table&>(table), encode_key<K>(key), detail::offset_of(member),
                       as_bytes(value));
  }
  template <typename K, Plain V>
  Outcome put(const TypedTable<K, V>& table, const std::type_identity_t<K>& key, const std::type_identity_t<V>& value) {
    return put(static_cast<const Table&>(table), encode_key<K>(key), as_bytes(value));
  }
  template <typename K, Plain V>
  Outcome update(const TypedTable<K, V>& table, const std::type_identity_t<K>& key,
                 const std::type_identity_t<V>& value) {
    return update(static_cast<const Table&>(table), encode_key<K>(key), as_bytes(value));
  }
  template <typename K, Plain V>
  Outcome insert(const TypedTable<K, V>& table, const std::type_identity_t<K>& key,
                 const std::type_identity_t<V>& value) {
    return insert(static_cast<const Table&>(table), encode_key<K>(key), as_bytes(value));
  }
  template <typename K, Plain V>
  Outcome remove(const TypedTable<K, V>& table, const std::type_identity_t<K>& key) {
    return remove(static_cast<const Table&>(table), encode_key<K>(key));
  }
  /// Visits [from, to) with `visit(const K&, const V&)`, which returns false to stop. Records that are no K and V, as
  /// calls with bytes may have left, are passed over: they count neither as visited nor towards `limit`.
  template <typename K, Plain V, typename Visit>
  ScanResult scan(const TypedTable<K, V>& table, const std::type_identity_t<K>& from, const std::type_identity_t<K>& to,
                  Visit&& visit, Order order = Order::kAscending, std::size_t limit = ~std::size_t{0}) {
    const EncodedKey<K> low(from), high(to);
    return detail::scan_typed<K, V>(
        {.from = low.view(), .to = high.view(), .order = order, .limit = limit}, visit,
        [&](const ScanRange& range, ScanFn raw) { return scan(static_cast<const Table&>(table), range, raw); });
  }

  /// Ends the transaction: commits it, or tells why not. Does not wait for durability. The body of a chain's piece must
  /// not call it (procedure.h): the transaction is then aborted, and this call and the procedure's report kMisuse.
  CommitResult commit();
  /// Ends the transaction without effect. Does nothing if it has ended.
  void abort();

  /// True until commit or abort.
  bool open() const;
  /// Why an open transaction can no longer commit; kNone while it can.
  AbortReason doom() const;
  /// Why it ended, if abort() ended it: kUser, or what had doomed it before (then a retry may help, see is_retryable).
  AbortReason aborted() const { return aborted_; }

 private:
  friend class Procedures;
  friend class Worker;
  Transaction(txn::Context* context, std::uint64_t serial) : context_(context), serial_(serial) {}

  template <typename V>
  static std::string_view as_bytes(const V& value) {
    return {reinterpret_cast<const char*>(&value), sizeof(V)};
  }

  CommitResult refuse_commit();
  void drop();

  txn::Context* context_ = nullptr;
  std::uint64_t serial_ = 0;  // tells a finished transaction from the context's next one
  AbortReason aborted_ = AbortReason::kNone;
  bool is_piece_ = false;  ///< the body of a chain's piece has the transaction, so commit() is refused
  /// The result of the commit() that has ended the transaction; kMisuse: no commit() has.
  CommitResult committed_ = {.reason = AbortReason::kMisuse, .ticket = {}};
};

/// A read-only transaction on a consistent state one to two snapshot periods (about 1 to 2 s) in the past. Never aborts
/// and never disturbs writers, however long it runs; it only keeps old versions alive. Serializable, not strict: it
/// does not see what committed after its snapshot. Move-only; used by its worker's thread only, and by one body only,
/// as a Transaction is. One that another thread drops stays open as a Transaction does. An open one must not outlive
/// its database, not even to be dropped; a finished one may.
class GRANARY_EXPORT Snapshot {
 public:
  Snapshot() = default;
  Snapshot(Snapshot&& other) noexcept : context_(std::exchange(other.context_, nullptr)), serial_(other.serial_) {}
  Snapshot& operator=(Snapshot&& other) noexcept;
  ~Snapshot();

  /// Sees exactly the transactions of epochs before this one. 0 once it is finished.
  std::uint64_t epoch() const;

  /// As Transaction::get. Besides, of what other nodes hold: kBusy or kUnreachable, after which the snapshot is still
  /// good.
  GetResult get(const Table& table, std::string_view key, std::span<char> buffer);
  Outcome get(const Table& table, std::string_view key, std::string& value);
  /// Copies a part of a value, as Transaction::get_part does, and as get() does of what other nodes hold. Under every
  /// protocol it touches only that part of a record of this node, in a table that is not shared; else it reads the
  /// whole value.
  GetResult get_part(const Table& table, std::string_view key, std::size_t from, std::span<char> buffer);
  /// As Transaction::multi_get.
  Outcome multi_get(std::span<MultiGet> gets);
  /// As Transaction::scan; kBusy or kUnreachable in the middle, after `count` records were visited.
  ScanResult scan(const Table& table, const ScanRange& range, ScanFn visit);
  ScanResult scan(const Index& index, const ScanRange& range, ScanFn visit);
  /// As Transaction::get by an index.
  GetResult get(const Index& index, std::string_view secondary_key, std::span<char> buffer,
                std::string* primary_key = nullptr);

  /// The value, or nullopt if there is none, or get() on the table as bytes reports anything but kOk.
  template <typename K, Plain V>
  std::optional<V> get(const TypedTable<K, V>& table, const std::type_identity_t<K>& key) {
    std::optional<V> value(std::in_place);
    const GetResult got = get(static_cast<const Table&>(table), encode_key<K>(key), detail::as_buffer(*value));
    if (!got || got.size != sizeof(V)) value.reset();
    return value;
  }
  /// Returns a member, as Transaction::get_part does.
  template <typename K, Plain V, typename Member>
  std::optional<Member> get_part(const TypedTable<K, V>& table, const std::type_identity_t<K>& key, Member V::*member) {
    return detail::get_member(member, [&](std::size_t from, std::span<char> buffer) {
      return get_part(static_cast<const Table&>(table), encode_key<K>(key), from, buffer);
    });
  }
  /// As Transaction::scan on a typed table.
  template <typename K, Plain V, typename Visit>
  ScanResult scan(const TypedTable<K, V>& table, const std::type_identity_t<K>& from, const std::type_identity_t<K>& to,
                  Visit&& visit, Order order = Order::kAscending, std::size_t limit = ~std::size_t{0}) {
    const EncodedKey<K> low(from), high(to);
    return detail::scan_typed<K, V>(
        {.from = low.view(), .to = high.view(), .order = order, .limit = limit}, visit,
        [&](const ScanRange& range, ScanFn raw) { return scan(static_cast<const Table&>(table), range, raw); });
  }

  /// Ends the snapshot; dropping it does the same.
  void finish();

 private:
  friend class Worker;
  Snapshot(txn::Context* context, std::uint64_t serial) : context_(context), serial_(serial) {}

  void drop();

  txn::Context* context_ = nullptr;
  std::uint64_t serial_ = 0;
};

}  // namespace granary
