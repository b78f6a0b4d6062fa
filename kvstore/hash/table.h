#pragma once
// Implements the hash index: DrTM's cluster chaining (Wei et al., SOSP 2015). It has a main header of buckets, whose
// number is fixed when the table is made, and indirect headers for keys that do not fit there. The entries are outside
// of the headers. All are addressed by offset in one region. So another node finds a record mostly with one READ of a
// bucket, and one of the record.
//
// Keys are byte strings. Values are addresses in the region, and not 0. Lookups write nothing and hold nothing.
// Inserts, replacements and removals hold the lock of their chain. Every operation may run concurrently with every
// other, except for rebuild() and check(), which run alone. The caller holds an entered epoch slot during the call, and
// for as long as it uses the result.
//
// For transactions, a lookup that misses returns the bucket and its version. As long as unchanged() is true of them,
// the key is not there. Every change in a chain, also a removal, changes the version of its bucket (bucket.h says why).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <granary/function_ref.h>

#include "kvstore/common/node_memory.h"
#include "kvstore/hash/bucket.h"
#include "kvstore/hash/key.h"

namespace granary::kvstore::hash {

using Value = std::uint64_t;

/// The version of a chain, an even number. Compare for equality only.
using Version = std::uint64_t;

struct Lookup {
  Value value = 0;                 ///< 0: no such key
  std::uint64_t incarnation = 0;   ///< lossy, as given to insert_if_absent
  const Bucket* bucket = nullptr;  ///< the bucket of the main header where the key is or would be
  Version version = 0;             ///< the version of that bucket while it was read
};

struct InsertResult {
  enum class What : std::uint8_t { kInserted, kPresent, kOutOfMemory };
  What what = What::kPresent;
  Value present = 0;  ///< the value already there, if kPresent
  const Bucket* bucket = nullptr;
  Version before = 0, after = 0;  ///< the versions of the bucket, if kInserted
};

struct TableStatistics {
  std::uint64_t keys = 0, buckets = 0, indirect_headers = 0;
  std::uint64_t keys_in_main = 0;  ///< how many keys the first READ finds
};

/// The result of reads_to_find() for a key that is not there.
inline constexpr unsigned kNotFound = 0;

class Table {
 public:
  /// `main` is zeroed memory in the region that begins at `region_base`; it outlives the table.
  Table(std::span<Bucket> main, const void* region_base)
      : main_(main),
        base_(reinterpret_cast<std::uintptr_t>(region_base)) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Returns the number of buckets of a main header of which `keys` fill 3/4 of the slots: few chains, little waste.
  static constexpr std::uint64_t buckets_for(std::uint64_t keys) { return keys / (kSlots * 3 / 4) + 1; }

  Lookup find(std::string_view key) const;

  /// Makes one attempt of find(), which never waits. Returns false if the chain was being changed.
  bool try_find(std::string_view key, Lookup* result) const;

  /// Finds as find() does. It calls `turn` when it has begun to fetch the key's bucket, and again when it has begun to
  /// fetch the record.
  Lookup find_in_turns(std::string_view key, FunctionRef<void()> turn) const;
  /// Looks up many keys at once, so that their cache misses overlap. keys.size() == results.size().
  void find_many(std::span<const std::string_view> keys, std::span<Lookup> results) const;

  /// Adds key → value unless the key is there. `incarnation` is the record's; remote readers compare its low bits.
  InsertResult insert_if_absent(std::string_view key, Value value, NodeMemory& memory, std::uint64_t incarnation = 0);

  /// Points a present key at another value if it still holds `expected`.
  bool replace(std::string_view key, Value expected, Value desired, std::uint64_t incarnation = 0);

  /// Removes the key if it still holds `expected`. Indirect headers stay with their bucket and are used again.
  bool remove(std::string_view key, Value expected, NodeMemory& memory);

  /// Whether the bucket's chain has not changed since it had this version, and no thread is changing it. Never waits.
  static bool unchanged(const Bucket* bucket, Version version) {
    // The acquire load stays after the reads whose result it confirms.
    return base::load_word(version_word(bucket)) == version;
  }
  /// Returns the word that unchanged() compares: the first one that a change stores to.
  static const std::uint64_t* version_word(const Bucket* bucket) { return &bucket->lines[0].opened; }

  /// Visits all keys of buckets [first, last) of the main header, each chain as it was at one moment.
  void visit(std::uint64_t first, std::uint64_t last, FunctionRef<void(std::string_view key, Value value)> each) const;
  std::uint64_t buckets() const { return main_.size(); }
  /// Returns the main header, for callers that tell other nodes where it lies, or that have made it.
  const Bucket* main() const { return main_.data(); }
  std::span<Bucket> main_header() const { return main_; }

  /// Returns how many READs of buckets another node needs to find the key: 1 if the main header has it; kNotFound if it
  /// is missing.
  unsigned reads_to_find(std::string_view key) const;

  /// Moves all keys to another main header (zeroed, in the same region). The former indirect headers are freed at once,
  /// and the table does not use the former main header any more. Returns false if memory ran out; then the table is as
  /// before.
  bool rebuild(std::span<Bucket> main, NodeMemory& memory);

  /// Verifies the structure. Returns an empty string, or what is wrong where.
  std::string check() const;
  TableStatistics statistics() const;

 private:
  friend class Change;

  /// The result of a look for a key in one line of a bucket. It counts only if the line was not being changed
  /// (`stable`).
  struct Sight {
    bool stable = false;
    Version version = 0;
    Entry entry;  ///< kUnused if the key is not in this line
  };

  Home home_of(std::uint64_t word) const { return Home(word, main_.size()); }
  std::uint64_t offset_of(const void* at) const { return (reinterpret_cast<std::uintptr_t>(at) - base_) & kOffsetMask; }
  template <typename T>
  T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>((base_ + offset) & kOffsetMask);
  }
  Bucket* next(const Bucket& bucket) const {
    const Entry link(base::load_word(&bucket.link()));
    return link.type() == EntryType::kHeader ? at<Bucket>(link.offset()) : nullptr;
  }
  bool leads_to(Entry entry, const HashedKey& key) const {
    if (entry.type() != key.type()) return false;
    return entry.type() == EntryType::kRecord || at<Name>(entry.offset())->key() == key.bytes;
  }
  Value value_of(Entry entry) const {
    return entry.type() == EntryType::kRecord ? reinterpret_cast<Value>(at<void>(entry.offset()))
                                              : base::load_word(&at<Name>(entry.offset())->value);
  }

  Sight look(const Bucket& bucket, unsigned line, const HashedKey& key) const;
  bool look_through(const Bucket& main, unsigned home, const HashedKey& key, Lookup* result) const;
  Lookup find(const HashedKey& key, Home home) const;
  Name* make_name(const HashedKey& key, Value value, NodeMemory& memory) const;
  bool move_all(Table* to, NodeMemory& memory) const;
  void free_headers(NodeMemory& memory);
  std::string check_chain(std::uint64_t number) const;

  std::span<Bucket> main_;
  const std::uintptr_t base_;
};

}  // namespace granary::kvstore::hash
