#pragma once
// Optimistic transactions with dynamic timestamp allocation (DTA), a baseline for TicToc's evaluation: Boksenbaum et
// al., IEEE TSE 1987, and as OCC-TI Lee and Son, RTSS 1993. Each transaction has an interval of timestamps. When it is
// certified it gets one of them for good, and shrinks the intervals of open transactions that it conflicts with. A
// transaction whose interval is empty aborts. Nothing is logged, and there are no ranges and no inserts.
//
// Invariant: of two committed transactions that conflict, the one that comes first in the conflict has the smaller
// timestamp. So the history is serializable in the order of timestamps.
// - A transaction that reads a version, or overwrites it, is after its writer, by the wts.
// - A transaction that overwrites a row is after all certified transactions that have read it, by the rts.
// - An open transaction that has read a version is before the transaction that overwrites it, which finds it among the
//   row's readers. A reader leaves only when it has been certified, and so has raised the rts, or when it aborts.
// An open transaction is told the exact end of what it has read, which a transaction of TicToc does not know. But DTA
// certifies one transaction at a time.

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
  Timestamp from_ = 0;  // the beginning of its interval, by what it has read; the certifier has the end
  Timestamp time_ = 0;  // the timestamp of a transaction that is certified
  AbortReason reason_ = AbortReason::kNone;
  std::vector<Row*> reads_;
  kv::RowWrites<Row> writes_;
};

}  // namespace granary::bench::dta
