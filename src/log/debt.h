#pragma once
// What a dead life of a node owes at another node: the end of one x-lock that it may hold there (I10). Whoever recovers
// the node reads it from the node's log (recovery/dead_log.h), and settles it at the record's home
// (src/cluster/recovery).

#include <cstdint>
#include <optional>
#include <string>

namespace granary::log {

struct Debt {
  std::uint64_t transaction = 0;  ///< which of the dead life's: any number that no other of them has
  std::uint16_t node = 0;         ///< the record's home
  std::uint32_t table = 0;        ///< its number, the same on all nodes
  std::string key;
  /// Of the state word in the home's region of records. By now another key's record may be there.
  std::uint64_t state_offset = 0;
  /// The x-lock's. The record is held exactly if this is its state word.
  std::uint64_t word = 0;

  /// What the transaction had decided to write.
  struct Version {
    std::uint64_t tid = 0;  ///< without status bits
    bool removed = false;
    std::string value;
  };
  /// To be written before the record is freed. None: the record is freed unchanged.
  std::optional<Version> version;
};

}  // namespace granary::log
