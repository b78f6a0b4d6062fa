#pragma once
// A record of a shared table, which other nodes reach one-sided, is a 48-byte header in one cache line, the key, and
// the value with room for the table's greatest.
//
//   word 0  state              other nodes: CAS and WRITE; the owner only loads it (src/record/state_word.h)
//   word 1  previous version   owner's CPU; the WRITE of an x-lock holder (I12)
//   word 2  TID word           owner's CPU; the WRITE of an x-lock holder
//   word 3  size, incarnation  as the TID word
//   word 4  fingerprint 32 of the key | checksum 32   as the TID word
//   word 5  the owner's rts    owner's CPU; a write-back leaves 0 there (src/cc/tictoc/shared_record.cc)
//   word 6… key, padded with zeros to whole words
//        …  value, padded
//
// Words 1 to 3 are a Record, and it is the Record's address that indexes and access sets hold; as blocks are multiples
// of 64 bytes, bit 3 of that address tells a shared record from a local one. The words that an x-lock holder writes
// back (I5) are contiguous: they begin with the TID word, behind the state and the previous version. An ascending copy
// loads the state before the TID word (I4).
//
// The key's length is not stored: a reader wants a certain key, whose length says where the value begins. A block that
// was reused for a key of another length has another fingerprint and another checksum.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/cache_line.h"
#include "src/base/crc32c.h"
#include "src/base/shared_words.h"
#include "src/record/record.h"
#include "src/record/state_word.h"

namespace granary::record {

inline constexpr std::size_t kSharedGrain = base::kCacheLine;

struct SharedRecord {
  std::uint64_t state_word;
  Record head;
  std::uint64_t check_word;
  std::uint64_t owner_rts_word;  ///< a TID without status bits; 0 unless the protocol has such times

  std::uint64_t* key_words() { return reinterpret_cast<std::uint64_t*>(this + 1); }
  const std::uint64_t* key_words() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }

  /// Returns the state. The load acquires: later loads of this thread are not done before it, and they see at least
  /// what had been stored when the state became the returned one (I4).
  StateWord state() const { return base::load_word(&state_word); }
};
static_assert(sizeof(SharedRecord) == 48, "state, previous version, TID word, size and incarnation, check word, rts");

inline constexpr unsigned kIncarnationShift = kSizeBits;
inline constexpr std::uint64_t kIncarnationMax = ~std::uint64_t{0} >> kIncarnationShift;

constexpr std::uint64_t incarnation_of(std::uint64_t size_word) { return size_word >> kIncarnationShift; }
constexpr std::size_t size_of(std::uint64_t size_word) { return static_cast<std::size_t>(size_word & kSizeMask); }
constexpr std::uint64_t make_size_word(std::uint64_t incarnation, std::size_t size) {
  return incarnation << kIncarnationShift | size;
}

inline bool is_shared(const Record* record) {
  return (reinterpret_cast<std::uintptr_t>(record) & offsetof(SharedRecord, head)) != 0;
}
inline SharedRecord& shared_of(Record& record) {
  return *reinterpret_cast<SharedRecord*>(reinterpret_cast<char*>(&record) - offsetof(SharedRecord, head));
}
inline const SharedRecord& shared_of(const Record& record) { return shared_of(const_cast<Record&>(record)); }

/// Returns where the value of a shared record with a key of this length begins, in bytes from the state word.
constexpr std::size_t shared_value_offset(std::size_t key_bytes) {
  return sizeof(SharedRecord) + base::round_up_to_word(key_bytes);
}
/// Returns the bytes of a shared record. It has all of them whatever the size of its present value is.
constexpr std::size_t shared_record_bytes(std::size_t key_bytes, std::size_t max_value_bytes) {
  return shared_value_offset(key_bytes) + base::round_up_to_word(max_value_bytes);
}

/// Returns the bytes to allocate for a shared record: whole cache lines, so that each block begins with one.
constexpr std::size_t shared_block_bytes(std::size_t key_bytes, std::size_t max_value_bytes) {
  return (shared_record_bytes(key_bytes, max_value_bytes) + kSharedGrain - 1) / kSharedGrain * kSharedGrain;
}

inline std::uint64_t* value_words(SharedRecord& record, std::size_t key_bytes) {
  return record.key_words() + base::round_up_to_word(key_bytes) / base::kWord;
}
inline const std::uint64_t* value_words(const SharedRecord& record, std::size_t key_bytes) {
  return record.key_words() + base::round_up_to_word(key_bytes) / base::kWord;
}

/// Returns the words of the value of a record of either kind.
inline std::uint64_t* value_words(Record& record, std::size_t key_bytes) {
  return is_shared(&record) ? value_words(shared_of(record), key_bytes) : record.value_words();
}
inline const std::uint64_t* value_words(const Record& record, std::size_t key_bytes) {
  return is_shared(&record) ? value_words(shared_of(record), key_bytes) : record.value_words();
}

/// Returns the key's fingerprint for the check word. It depends on the key's length, too.
inline std::uint32_t key_fingerprint(std::string_view key) {
  const std::uint64_t length = key.size();
  return base::crc32c(base::crc32c(0, &length, sizeof length), key.data(), key.size());
}

constexpr std::uint64_t make_check_word(std::uint32_t fingerprint, std::uint32_t checksum) {
  return std::uint64_t{fingerprint} << 32 | checksum;
}
constexpr std::uint32_t fingerprint_of(std::uint64_t check_word) {
  return static_cast<std::uint32_t>(check_word >> 32);
}
constexpr std::uint32_t checksum_of(std::uint64_t check_word) { return static_cast<std::uint32_t>(check_word); }

}  // namespace granary::record
