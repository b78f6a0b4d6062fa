#pragma once
// Hekaton's optimistic transactions (Larson et al., VLDB 2011, section 3): they read at the time of their beginning,
// the first writer of a row wins, and reads are checked again at the time of the end. It is a baseline for TicToc's
// evaluation: nothing is logged. That a row is not there is checked as any read is; but there are no ranges, so that a
// key which has no row yet may get one unnoticed.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <granary/isolation.h>
#include <granary/outcome.h>

#include "bench/harness/workload.h"
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
  /// Returns the word that says when a session's transaction ends: kActive while it is open, kTaking while it draws the
  /// time of its end. The session writes it; sessions that find its mark on a version read it. All is seq_cst, in one
  /// order with the draws of a counter: a session stores kTaking before it draws its end, and a reader has drawn its
  /// time before it loads. So if the reader finds kActive, the end will be drawn later than the reader's time. The
  /// mutex orders draws in the same way, and Timestamps::read_behind_stores() says why the hardware clock does.
  std::atomic<Timestamp>& end_of(std::uint32_t session) { return ends_[session].time; }

  static constexpr Timestamp kActive = 0, kTaking = ~Timestamp{0};

  /// Counts a commit of a session. Called by that session only, so no addition is lost.
  void count_commit(std::uint32_t session) {
    std::atomic<std::uint64_t>& commits = ends_[session].commits;
    commits.store(commits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Returns by how much the counter has grown for each commit; nothing if a clock gives the time.
  std::vector<ExtraFigure> figures() const;

 private:
  struct alignas(base::kCacheLine) End {
    std::atomic<Timestamp> time{kActive};
    std::atomic<std::uint64_t> commits{0};  // written by its session, read for figures, so relaxed
  };
  Timestamps timestamps_;
  std::array<End, kSessions> ends_;
};

/// Runs one session's transactions, one after the other.
class Transaction {
 public:
  Transaction(Shared& shared, std::uint32_t session, Isolation isolation)
      : shared_(shared),
        session_(session),
        isolation_(isolation) {}

  void begin();
  // These return false if the transaction must abort (reason() tells why), and also if the row is not there, or for
  // insert(), if it is: then reason() is kNone, and the commit checks that it still is so.

  /// Copies the value that was the latest when the transaction began.
  bool read(Row& row, std::span<char> buffer);
  /// Claims the row, so that this transaction writes it next. If there is a buffer, it copies the latest value first.
  bool claim(Row& row, std::span<char> buffer);
  /// Claims a row that is not there, and sets the value that it will have.
  bool insert(Row& row, std::string_view value);
  /// Claims the row, which will not be there any more.
  bool remove(Row& row);

  /// Sets the value that a claimed row will have.
  void write(Row& row, std::string_view value);
  /// Commits, or aborts and tells why.
  AbortReason commit();
  void abort();
  AbortReason reason() const { return reason_; }
  /// Makes the transaction abort. Returns false.
  bool fail(AbortReason reason);

 private:
  struct Read {
    Row* row;
    std::uint32_t slot;
    Timestamp begin;
  };
  /// Marks the latest version as one that this transaction ends, if it says what is wanted: that there is no row, or
  /// that there is one, whose value is copied to the buffer.
  bool mark(Row& row, bool absent, std::span<char> buffer);
  /// Returns whether the version with this end was the latest at `time`, or nothing if its end is being drawn now. To
  /// be called under the row's latch.
  std::optional<bool> holds_at(Timestamp end, Timestamp time);
  AbortReason check(const Read& read, Timestamp time);

  Shared& shared_;
  const std::uint32_t session_;
  const Isolation isolation_;
  Timestamp began_ = 0;
  AbortReason reason_ = AbortReason::kNone;
  std::vector<Read> reads_;
  kv::RowWrites<Row> writes_;
};

}  // namespace granary::bench::hekaton
