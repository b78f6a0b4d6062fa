#pragma once
// A shared record as its owner's CPU handles it, by the owner's part of I2 to I4; word by word, so that others get in between.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <granary/function_ref.h>

#include "src/dist/record_access/remote_record.h"
#include "src/record/shared_record.h"

namespace granary::dist {

inline constexpr std::uint32_t kMaxValue = 256;

class OwnedRecord {
 public:
  using Pause = FunctionRef<void()>;

  OwnedRecord(char* region, std::uint64_t offset, std::string key)
      : shared_(*reinterpret_cast<record::SharedRecord*>(region + offset)),
        offset_(offset),
        key_(std::move(key)) {}

  record::SharedRecord& shared() const { return shared_; }
  const std::string& key() const { return key_; }
  std::uint64_t incarnation() const { return record::incarnation_of(base::load_word(&shared_.head.size_word)); }
  record::TidWord tid() const { return shared_.head.tid(); }
  record::StateWord state() const { return shared_.state(); }

  RemoteRecord remote(rdma::NodeId node) const {
    return {.at = {.node = node, .region = 1, .generation = 1, .offset = offset_},
            .key = key_,
            .incarnation = incarnation(),
            .incarnation_mask = record::kIncarnationMax,
            .max_value_bytes = kMaxValue};
  }

  /// A new record in a place that nobody uses; the TID word last, the state not at all (I3).
  void make(
      std::uint64_t incarnation, record::TidWord tid, std::string_view value, Pause pause = [] {}) {
    store_content(incarnation, tid, value, pause);
    base::copy_to_shared(shared_.key_words(), key_.data(), key_.size());
    pause();
    shared_.head.store_tid(tid);
  }

  /// The owner's rule of I2. True: the lock bit is ours, and `*before` what was under it.
  bool lock(
      record::TidWord* before, Pause pause = [] {}) {
    *before = tid();
    if (record::is_locked(*before)) return false;
    pause();
    if (!shared_.head.try_lock(*before)) return false;
    pause();
    const bool taken = shared_.state() != record::kFree;
    pause();
    if (taken || tid() != (*before | record::kLocked)) {
      // After a write-back this fails, as it should.
      (void)base::compare_exchange_word(&shared_.head.tid_word, *before | record::kLocked, *before);
      return false;
    }
    return true;
  }
  void unlock() { shared_.head.unlock_unchanged(); }
  /// Under the lock bit, which goes with it.
  void install(
      record::TidWord tid, std::string_view value, Pause pause = [] {}) {
    store_content(incarnation(), tid, value, pause);
    shared_.head.store_tid(tid);
  }
  /// Under the lock bit: from now on nobody finds this incarnation any more (I3).
  void unhook(
      record::TidWord before, Pause pause = [] {}) {
    base::store_word(&shared_.head.size_word, record::make_size_word(incarnation() + 1, 0));
    pause();
    shared_.head.store_tid(before & ~record::kLatest);
  }

  /// A local read (I4); nothing if somebody was in the way or the record is absent.
  std::optional<std::string> read() const {
    const record::TidWord before = tid();
    if (record::is_locked(before) || record::is_absent(before) || record::is_x_locked(state())) return {};
    std::string value(shared_.head.size(), '\0');
    base::copy_from_shared(value.data(), record::value_words(shared_, key_.size()), value.size());
    if (record::is_x_locked(state()) || tid() != before) return {};
    return value;
  }

 private:
  /// All but the TID word and the key.
  void store_content(std::uint64_t incarnation, record::TidWord tid, std::string_view value, Pause pause) {
    const std::uint64_t size_word = record::make_size_word(incarnation, value.size());
    const std::uint32_t sum = record::checksum_with_header(record::checksum_of_content(key_, value), tid, size_word);
    base::store_word(&shared_.head.size_word, size_word);
    pause();
    base::store_word(&shared_.check_word, record::make_check_word(record::key_fingerprint(key_), sum));
    std::uint64_t* const words = record::value_words(shared_, key_.size());
    for (std::size_t at = 0; at < value.size(); at += base::kWord) {
      if (at % base::kCacheLine == 0) pause();
      base::copy_to_shared(words + at / base::kWord, value.data() + at, std::min(base::kWord, value.size() - at));
    }
  }

  record::SharedRecord& shared_;
  std::uint64_t offset_;
  std::string key_;
};

}  // namespace granary::dist
