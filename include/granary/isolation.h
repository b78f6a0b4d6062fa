#pragma once
// How much a transaction may notice of others that run at the same time.

#include <cstdint>

namespace granary {

/// A transaction's own choice (Worker::begin). At every level it sees committed values only, its writes take effect at
/// one moment, and none of them overwrites a value that has changed since the transaction read it. Transactions of
/// different levels may run together; what kSerializable promises holds among the serializable ones. On a node of a
/// cluster every transaction is serializable.
enum class Isolation : std::uint8_t {
  kSerializable,  ///< as if no two transactions ran at the same time
  /// All that was read, ranges and missing keys included, held at one moment, and all that it writes was unchanged from
  /// then on until its end. What it only read may have changed meanwhile: two transactions that each read what the
  /// other one writes may both commit (write skew).
  kSnapshot,
  /// Reading a record again gives the same value. Different records may be seen at different moments, and ranges and
  /// missing keys may fill up (phantoms): a put to a key that was missing may go over what has come there since, an
  /// insert does not.
  kRepeatableRead,
};

/// Options of one transaction.
struct TransactionOptions {
  Isolation isolation = Isolation::kSerializable;
};

}  // namespace granary
