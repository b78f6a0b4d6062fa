#pragma once
// Handles to tables and secondary indexes, and how an index's keys are made from records.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <granary/export.h>
#include <granary/key.h>

namespace granary {

namespace txn {
class TableCore;
}

/// A handle to one table of byte-string keys and values; small, copyable, valid while its Database lives. Using it
/// afterwards, with another database included, is undefined. An empty handle makes every operation report
/// Outcome::kUnknownTable.
class GRANARY_EXPORT Table {
 public:
  Table() = default;
  explicit operator bool() const { return core_ != nullptr; }
  /// Its number in the database, the same in each life of a directory; ~0 of an empty handle.
  std::uint32_t id() const;
  /// Valid while the database lives; "" of an empty handle.
  std::string_view name() const;
  /// Whether this node has sealed the table (Database::seal); false of an empty handle. Thread-safe.
  bool sealed() const;

  explicit Table(txn::TableCore* core) : core_(core) {}
  txn::TableCore* core() const { return core_; }

 private:
  txn::TableCore* core_ = nullptr;
};

/// A type whose bytes are all that there is to a value, so that they can be stored, or travel to another node. Pointers
/// and views of text are not: a copy of their bytes tells nobody what they point to.
template <typename T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<std::remove_all_extents_t<T>> &&
                !std::is_same_v<std::remove_cv_t<T>, std::string_view>;

/// A table whose keys have an order-preserving encoding (key.h) and whose values are plain structs, stored byte for
/// byte.
template <typename Key, Plain Value>
class TypedTable : public Table {
 public:
  TypedTable() = default;
  explicit TypedTable(Table table) : Table(table) {}
};

/// How a table finds a key.
enum class IndexKind : std::uint8_t {
  kOrdered,  ///< a trie of B+-trees: point operations and scans
  kHash,     ///< a hash table: faster point operations, no scans
};

struct TableOptions {
  /// Largest value in bytes, 1 to 1 MiB (kMaxValueBytes); 0 = so much. A larger one is Outcome::kValueTooLarge.
  std::uint32_t max_value_bytes = 0;
  IndexKind index = IndexKind::kOrdered;
  /// For a hash index: how many keys it is made for, 1 to 68719476736 (kMaxExpectedKeys). It takes more, ever more
  /// slowly: see Database::resize. 32 bytes each, at once. Of a recovered table, what the directory says holds.
  std::uint64_t expected_keys = 65536;
  /// Other nodes may reach the records one-sided. Each then takes room for the greatest value, so max_value_bytes is
  /// needed (1 to kMaxSharedValueBytes), and 16 bytes and the key more. The same holds for its secondary indexes, for
  /// whose sake keys then have at most kMaxIndexedSharedKeyBytes.
  bool shared = false;
  /// The table is loaded once and sealed then (Database::seal), after which nothing in it changes, and to read it costs
  /// a transaction no validation. In a cluster each node loads its own keys: other nodes cannot write them, not even
  /// before (Outcome::kImmutable).
  bool immutable = false;
};

/// How the bytes of an index part are turned into order-preserving key bytes.
enum class IndexEncoding : std::uint8_t {
  kBytes,     ///< as they are, fixed length
  kUnsigned,  ///< little-endian unsigned integer of 1, 2, 4 or 8 bytes
  kSigned,    ///< little-endian two's complement of 1, 2, 4 or 8 bytes
  kText,      ///< text up to the first zero byte or the part's end, escaped like std::string
};

/// One component of a secondary key: a byte range of the record's key or value. Ranges that reach past the
/// end of a record read as zeros.
struct IndexPart {
  enum class Source : std::uint8_t { kKey, kValue };
  Source source = Source::kValue;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
  IndexEncoding encoding = IndexEncoding::kBytes;
};

/// The encoding of a type, by which encode_key() (include/granary/key.h) makes the same bytes of it. An enum is encoded
/// as its underlying type. What has no encoding of its own, such as an array, is ordered by its bytes as they are.
template <typename Member>
constexpr IndexEncoding encoding_of() {
  static_assert(!std::is_floating_point_v<Member>, "the bytes of a floating-point number are not in its order");
  if constexpr (std::is_enum_v<Member>) {
    return encoding_of<std::underlying_type_t<Member>>();
  } else if constexpr (std::is_integral_v<Member>) {
    return std::is_signed_v<Member> ? IndexEncoding::kSigned : IndexEncoding::kUnsigned;
  } else {
    return IndexEncoding::kBytes;
  }
}

/// The part that holds `member` of a plain struct, with the encoding of its type.
template <typename Struct, typename Member>
IndexPart value_part(Member Struct::*member) {
  static_assert(std::is_standard_layout_v<Struct> && std::is_default_constructible_v<Struct>);
  static const Struct sample{};
  const auto offset = reinterpret_cast<const char*>(&(sample.*member)) - reinterpret_cast<const char*>(&sample);
  return {IndexPart::Source::kValue, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(sizeof(Member)),
          encoding_of<Member>()};
}

struct IndexOptions {
  /// At least one; the secondary key is their encodings one after the other, at most kMaxKeyBytes / 2.
  std::vector<IndexPart> parts;
  /// One record a secondary key; a second one dooms the transaction (AbortReason::kUniqueViolation). Otherwise entries
  /// of equal secondary keys are told apart, and ordered, by the primary key.
  bool unique = false;
};

/// A handle to a secondary index (Silo 4.7): a table that maps secondary keys to primary keys and that
/// every put, insert, update and remove on its table keeps in step, within the same transaction. Valid as a Table is.
class GRANARY_EXPORT Index {
 public:
  Index() = default;
  explicit operator bool() const { return core_ != nullptr; }
  /// Valid while the database lives; "" of an empty handle.
  std::string_view name() const;

  explicit Index(txn::TableCore* core) : core_(core) {}
  txn::TableCore* core() const { return core_; }

 private:
  txn::TableCore* core_ = nullptr;
};

}  // namespace granary
