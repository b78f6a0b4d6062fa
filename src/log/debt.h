#pragma once
// Names a debt of a dead life of a node at another node: one x-lock that it may hold there, which has to be ended
// (I10). The recovery of the node reads its debts from its log (recovery/dead_log.h) and settles them at the records'
// homes (src/cluster/recovery).

#include <cstdint>
#include <optional>
#include <string>

namespace granary::log {

struct Debt {
  std::uint64_t transaction = 0;  ///< a number of the transaction, which no other one of the dead life has
  std::uint16_t node = 0;         ///< the record's home
  std::uint32_t table = 0;        ///< the record's table, which has the same number on all nodes
  std::string key;
  /// The offset of the state word in the home's region of records. By now another key's record may be there.
  std::uint64_t state_offset = 0;
  /// The word of the x-lock. The record is held exactly if this is its state word.
  std::uint64_t word = 0;

  /// The version that the transaction had decided to write.
  struct Version {
    std::uint64_t tid = 0;  ///< without status bits
    bool removed = false;
    std::string value;
  };
  /// The version to write before the record is freed. If there is none, the record is freed unchanged.
  std::optional<Version> version;
};

}  // namespace granary::log
