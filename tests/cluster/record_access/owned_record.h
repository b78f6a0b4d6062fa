#pragma once
// A shared record as its owner's CPU handles it, by the owner's part of I2 to I4; with pauses, in which others get in
// between.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <granary/function_ref.h>

#include "src/cluster/record_access/remote_record.h"
#include "src/record/checksum.h"
#include "src/record/shared_change.h"
#include "src/record/shared_lock.h"
#include "src/record/shared_read.h"

namespace granary::cluster {

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

  /// A new record in a place that nobody uses.
  void make(std::uint64_t incarnation, record::TidWord tid, std::string_view value) {
    base::store_word(&shared_.head.size_word, record::make_size_word(incarnation, 0));
    record::make_unborn(shared_, key_);
    install(tid, value);
  }
  /// The same with the incarnation that the place has, and no value yet.
  void make_unborn() { record::make_unborn(shared_, key_); }

  /// True: the lock bit is ours, and `*before` what was under it. Pauses at sync points "owner.*". `time`: the owner's.
  bool lock(record::TidWord* before, const base::SoftTime* time = nullptr) {
    *before = tid();
    return !record::is_locked(*before) &&
           record::lock_as_owner(shared_, *before, record::OwnerRule::with_leases(time)) == record::OwnerLock::kTaken;
  }
  void unlock() { shared_.head.unlock_unchanged(); }
  /// Under the lock bit, which goes with it.
  void install(
      record::TidWord tid, std::string_view value, Pause pause = [] {}) {
    std::uint64_t* const words = record::value_words(shared_, key_.size());
    for (std::size_t at = 0; at < value.size(); at += base::kWord) {
      if (at % base::kCacheLine == 0) pause();
      base::copy_to_shared(words + at / base::kWord, value.data() + at, std::min(base::kWord, value.size() - at));
    }
    record::store_tail(shared_, tid, value.size(), record::checksum_of_content(key_, value));
    pause();
    shared_.head.store_tid(tid);
  }
  /// Under the lock bit, which goes with it: from now on nobody finds this incarnation any more (I3).
  void unhook(Pause pause = [] {}) {
    record::end_life(shared_, key_);
    pause();
    unlock();
  }

  /// A local read (I4); nothing if somebody was in the way or the record is absent.
  std::optional<std::string> read() const {
    base::ThreadWaiter waiter;
    std::string value(kMaxValue, '\0');
    const record::StableRead seen = record::read_shared(shared_, key_.size(), value.data(), value.size(), waiter);
    if (seen.state != record::ReadState::kValue) return {};
    value.resize(seen.size);
    return value;
  }

 private:
  record::SharedRecord& shared_;
  std::uint64_t offset_;
  std::string key_;
};

}  // namespace granary::cluster
