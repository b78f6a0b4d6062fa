#pragma once
// Hekaton's optimistic transactions (Larson et al., VLDB 2011, section 3): reads at the time of the beginning, first
// writer wins, reads checked at the time of the end. A baseline for TicToc's evaluation: nothing is logged, and there
// are no ranges and no inserts.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <granary/isolation.h>
#include <granary/outcome.h>

#include "bench/hekaton/row.h"
#include "bench/hekaton/timestamps.h"
#include "bench/kv/row_writes.h"
#include "src/base/cache_line.h"

namespace granary::bench::hekaton {

/// The timestamps and ends that all sessions of a store share.
class Shared {
 public:
  static constexpr std::uint32_t kSessions = std::uint32_t{1} << Timestamps::kSessionBits;

  explicit Shared(TimestampSource source) : timestamps_(source) {}

  Timestamps& timestamps() { return timestamps_; }
  /// Returns the word that says when a session's transaction ends: kActive while it is open, kTaking while the time is
  /// about to be known.
  std::atomic<Timestamp>& end_of(std::uint32_t session) { return ends_[session].time; }

  static constexpr Timestamp kActive = 0, kTaking = ~Timestamp{0};

 private:
  struct alignas(base::kCacheLine) End {
    std::atomic<Timestamp> time{kActive};
  };
  Timestamps timestamps_;
  std::array<End, kSessions> ends_;
};

/// Runs one session's transactions, one after the other.
class Transaction {
 public:
  Transaction(Shared& shared, std::uint32_t session, std::size_t value_bytes, Isolation isolation)
      : shared_(shared),
        session_(session),
        value_bytes_(value_bytes),
        isolation_(isolation) {}

  void begin();
  /// Copies the value that was the latest when the transaction began. Returns false if it must abort, see reason().
  bool read(Row& row, std::span<char> buffer);
  /// Claims the row, so that this transaction writes it next. If there is a buffer, it copies the latest value first.
  bool claim(Row& row, std::span<char> buffer);
  /// Sets the value that a claimed row will have.
  void write(Row& row, std::string_view value);
  /// Commits, or aborts and tells why.
  AbortReason commit();
  void abort();
  AbortReason reason() const { return reason_; }

 private:
  struct Read {
    Row* row;
    std::uint32_t slot;
    Timestamp begin;
  };
  bool fail(AbortReason reason);
  /// Whether the version with this end was the latest at `time`; nothing if its end is about to be known. Under the
  /// row's latch.
  std::optional<bool> holds_at(Timestamp end, Timestamp time);
  AbortReason check(const Read& read, Timestamp time);

  Shared& shared_;
  const std::uint32_t session_;
  const std::size_t value_bytes_;
  const Isolation isolation_;
  Timestamp began_ = 0;
  AbortReason reason_ = AbortReason::kNone;
  std::vector<Read> reads_;
  kv::RowWrites<Row> writes_;
};

}  // namespace granary::bench::hekaton
