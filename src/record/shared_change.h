#pragma once
// Changes shared records at their owner, which holds the lock bit (shared_lock.h) or has a record that nobody knows
// yet. The owner never stores the state (I2, I3). Size, incarnation and checksum always agree with the TID word.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/base/test_hooks.h"
#include "src/record/checksum.h"
#include "src/record/shared_record.h"

namespace granary::record {

/// Words 3 and 4 of a shared record.
struct TailWords {
  std::uint64_t size_word;
  std::uint64_t check_word;
};

/// Returns words 3 and 4 for a value of this size under this TID word; `content` is checksum_of_content() of key and
/// value. The incarnation and the key's fingerprint stay as they are in `before`.
inline TailWords tail_of(const TailWords& before, TidWord tid, std::size_t size, std::uint32_t content) {
  const std::uint64_t size_word = make_size_word(incarnation_of(before.size_word), size);
  return {size_word, make_check_word(fingerprint_of(before.check_word), checksum_with_header(content, tid, size_word))};
}

/// Stores words 3 and 4 for such a value. The caller stores the TID word afterwards.
inline void store_tail(SharedRecord& record, TidWord tid, std::size_t size, std::uint32_t content) {
  const TailWords before{base::load_word(&record.head.size_word), base::load_word(&record.check_word)};
  const TailWords after = tail_of(before, tid, size, content);
  base::store_word(&record.head.size_word, after.size_word);
  base::store_word(&record.check_word, after.check_word);
}

/// Makes a new or reused block an unborn record with this key. The block keeps its incarnation, which the end of its
/// last life has raised. It keeps its state, too: another node may have x-locked the block by an old address, and has
/// yet to find out that its record is gone (I3).
inline Record& make_unborn(SharedRecord& record, std::string_view key) {
  if (base::injected("reuse-stores-state")) base::store_word(&record.state_word, kFree);
  record.head.set_previous(nullptr);
  base::copy_to_shared(record.key_words(), key.data(), key.size());
  base::store_word(&record.check_word, make_check_word(key_fingerprint(key), 0));
  store_tail(record, kUnborn, 0, checksum_of_content(key, {}));
  record.head.store_tid(kUnborn);
  return record.head;
}

/// Ends the life of an absent record that the caller has locked, before the index lets go of it (I3): raises the
/// incarnation and clears `latest`. A reader that comes by an old address finds another incarnation. The lock bit
/// stays.
inline void end_life(SharedRecord& record, std::string_view key) {
  const std::uint64_t raised = base::injected("unhook-keeps-incarnation") ? 0 : 1;
  const std::uint64_t incarnation =
      (incarnation_of(base::load_word(&record.head.size_word)) + raised) & kIncarnationMax;
  base::debug_invariant("I3", [&] { return incarnation != incarnation_of(base::load_word(&record.head.size_word)); });
  const TidWord word = record.head.tid(std::memory_order_relaxed) & ~kLatest;
  base::store_word(&record.head.size_word, make_size_word(incarnation, 0));
  store_tail(record, word, 0, checksum_of_content(key, {}));
  record.head.store_tid(word);
}

/// Ends the life of an absent record of either kind. A local record only loses its `latest`.
inline void end_life(Record& record, std::string_view key) {
  if (is_shared(&record)) {
    end_life(shared_of(record), key);
  } else {
    record.store_tid(record.tid(std::memory_order_relaxed) & ~kLatest);
  }
}

/// Stores size and value of a record of either kind. `tid` is the TID word that the caller stores afterwards.
inline void store_value(Record& record, std::string_view key, std::string_view value, TidWord tid,
                        std::uint32_t content) {
  if (is_shared(&record)) [[unlikely]] {
    store_tail(shared_of(record), tid, value.size(), content);
    base::copy_to_shared(value_words(shared_of(record), key.size()), value.data(), value.size());
  } else {
    record.set_size(value.size());
    base::copy_to_shared(record.value_words(), value.data(), value.size());
  }
}

}  // namespace granary::record
