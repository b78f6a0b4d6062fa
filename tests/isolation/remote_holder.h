#pragma once
// Another node that reaches a record of a shared table, played by this process with the same loads and stores: it takes
// the state, looks at the header, writes back as I5 says, word by word in any order, and lets go.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <granary/granary.h>
#include <gtest/gtest.h>

#include "src/record/checksum.h"
#include "src/record/shared_change.h"
#include "src/record/shared_lock.h"
#include "src/txn/table_core.h"

namespace granary::tests {

/// The key's record. Nobody else runs, or the caller's epoch slot is entered.
inline record::SharedRecord& shared_record(const Table& table, std::string_view key) {
  const auto value = table.core()->index().find(key).value;
  EXPECT_NE(value, 0u) << "no record of " << key;
  return record::shared_of(*reinterpret_cast<record::Record*>(value));
}

inline bool in_index(const Table& table, std::string_view key) { return table.core()->index().find(key).value != 0; }

inline std::uint64_t incarnation(const record::SharedRecord& record) {
  return record::incarnation_of(base::load_word(&record.head.size_word));
}

/// What a one-sided reader would check of a record at rest: its key, and the checksum over all of it.
inline bool is_whole(const record::SharedRecord& record, std::string_view key) {
  const std::uint64_t size_word = base::load_word(&record.head.size_word);
  const std::uint64_t check_word = base::load_word(&record.check_word);
  std::string value(record::size_of(size_word), '\0');
  base::copy_from_shared(value.data(), record::value_words(record, key.size()), value.size());
  const std::uint32_t checksum =
      record::checksum_with_header(record::checksum_of_content(key, value), record.head.tid(), size_word);
  return check_word == record::make_check_word(record::key_fingerprint(key), checksum);
}

/// A WRITE from the TID word on, all its words in any order. Without a value it removes.
class WriteBack {
 public:
  WriteBack(record::SharedRecord& record, std::string_view key, std::optional<std::string_view> value,
            record::TidWord tid)
      : tid_(tid | record::kLatest | (value ? 0 : record::kAbsent)) {
    const std::string_view bytes = value.value_or(std::string_view());
    const record::TailWords before{base::load_word(&record.head.size_word), base::load_word(&record.check_word)};
    const auto after = record::tail_of(before, tid_, bytes.size(), record::checksum_of_content(key, bytes));
    std::vector<std::uint64_t> words(base::round_up_to_word(bytes.size()) / base::kWord);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(words.data()));
    for (std::size_t i = 0; i < words.size(); ++i) stores_.push_back({value_words(record, key.size()) + i, words[i]});
    stores_.push_back({&record.check_word, after.check_word});
    stores_.push_back({&record.head.size_word, after.size_word});
    stores_.push_back({&record.head.tid_word, tid_});  // last, unless shuffled
  }

  template <typename Random>
  void shuffle(Random& random) {
    std::shuffle(stores_.begin(), stores_.end(), random);
  }
  bool done() const { return next_ == stores_.size(); }
  void step() {
    base::store_word(stores_[next_].to, stores_[next_].word);
    ++next_;
  }
  void half() {
    while (next_ < stores_.size() / 2) step();
  }
  void rest() {
    while (!done()) step();
  }
  record::TidWord tid() const { return tid_; }

 private:
  struct Store {
    std::uint64_t* to;
    std::uint64_t word;
  };
  record::TidWord tid_;
  std::vector<Store> stores_;
  std::size_t next_ = 0;
};

/// One other node's worker and the record that it holds or wants.
class RemoteHolder {
 public:
  explicit RemoteHolder(record::SharedRecord& record, std::uint32_t node = 7, std::uint32_t sequence = 1)
      : record_(record),
        word_(record::x_lock_word({.node = node, .generation = 1, .worker = 0, .sequence = sequence})) {}

  record::StateWord word() const { return word_; }
  /// The CAS of the state.
  bool take() { return base::compare_exchange_word(&record_.state_word, record::kFree, word_); }
  /// The header, as it is read after that: may the holder go on? If not it lets go.
  bool is_clear() const { return !record::is_locked(record_.head.tid()); }
  bool lock() {
    if (!take()) return false;
    if (is_clear()) return true;
    release();
    return false;
  }
  void release() { base::store_word(&record_.state_word, record::kFree); }

  /// A TID that may follow the record's present one, in an epoch that is at least `epoch`.
  record::TidWord next_tid(std::uint64_t epoch) const {
    return std::max(record::tid_of(record_.head.tid()) + record::make_tid(0, 1), record::make_tid(epoch, 1));
  }

 private:
  record::SharedRecord& record_;
  const record::StateWord word_;
};

}  // namespace granary::tests
