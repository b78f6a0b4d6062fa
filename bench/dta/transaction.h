#pragma once
// Optimistic transactions with dynamic timestamp allocation (DTA), a baseline for TicToc's evaluation: Boksenbaum et
// al., IEEE TSE 1987, and as OCC-TI Lee and Son, RTSS 1993. Each has an interval of timestamps. Whoever is certified
// gets one of them for good, and shrinks the intervals of open transactions that it conflicts with; one whose interval
// is empty aborts. Nothing is logged, and there are no ranges and no inserts.
//
// Keeps true: of two committed transactions that conflict, the one that comes first in the conflict has the smaller
// timestamp. So the history is serializable in the order of timestamps.
// - Who reads a version, or overwrites it, is behind its writer: the wts.
// - Who overwrites a row is behind everyone who has read it and is certified: the rts.
// - Who has read a version that is overwritten, and is still open, is before the overwriter, which finds it among the
//   row's readers. It can have ended only after it was certified, so that the rts is there, or by an abort.
// Unlike TicToc's, an open transaction knows the exact end of what it has read, as it is told; but all are certified
// one at a time.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <granary/outcome.h>

#include "bench/dta/certifier.h"
#include "bench/dta/interval.h"
#include "bench/dta/row.h"
#include "bench/kv/row_writes.h"
#include "src/base/waiter.h"

namespace granary::bench::dta {

/// Runs one session's transactions, one after the other.
class Transaction {
 public:
  Transaction(Certifier& certifier, std::uint32_t session, std::size_t value_bytes, base::Waiter& waiter)
      : certifier_(certifier),
        session_(session),
        value_bytes_(value_bytes),
        waiter_(waiter) {}

  void begin();
  /// Copies the latest value. Returns false if the transaction must abort, see reason().
  bool read(Row& row, std::span<char> buffer);
  /// Notes that it will write the row. If there is a buffer, it reads the latest value first. Returns false like
  /// read().
  bool claim(Row& row, std::span<char> buffer);
  /// Sets the value that a claimed row will have.
  void write(Row& row, std::string_view value) { writes_.find(row)->value.assign(value); }
  /// Commits, or aborts and tells why.
  AbortReason commit();
  void abort() { end(); }
  AbortReason reason() const { return reason_; }

 private:
  bool fail(AbortReason reason);
  bool copy(Row& row, std::span<char> buffer);
  bool waits_to_replace() const;
  AbortReason validate();
  AbortReason certify();
  void replace_version(Row& row);
  void end();

  Certifier& certifier_;
  const std::uint32_t session_;
  const std::size_t value_bytes_;
  base::Waiter& waiter_;
  Timestamp from_ = 0;  // the begin of its interval, by what it has read; the certifier has its end
  Timestamp time_ = 0;  // the timestamp of a transaction that is certified
  AbortReason reason_ = AbortReason::kNone;
  std::vector<Row*> reads_;
  kv::RowWrites<Row> writes_;
};

}  // namespace granary::bench::dta
