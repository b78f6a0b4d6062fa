#pragma once
// Keeps the records that the check reads in one transaction. A transaction may run several times, so the check looks at
// the records only once it has committed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace granary::bench::ycsb {

class Chunk {
 public:
  /// A chunk is full when it has this many records or bytes of values. The limit of bytes keeps the memory of the check
  /// small, and its transactions short, where values are large.
  static constexpr std::size_t kMostRecords = 1000, kMostBytes = std::size_t{4} << 20;

  /// Forgets all records. Each attempt of the transaction begins with this, as what an earlier one has read may differ.
  void clear() {
    entries_.clear();
    values_.clear();
  }
  /// Adds a record. Returns whether there is room for another.
  bool add(std::uint64_t number, std::string_view value) {
    entries_.push_back({number, value.size()});
    values_.append(value);
    return !is_full();
  }
  bool is_full() const { return entries_.size() >= kMostRecords || values_.size() >= kMostBytes; }

  /// Calls visit(number, value) for each record, in the order in which they were added.
  template <typename Visit>
  void visit(Visit&& visit) const {
    std::string_view rest = values_;
    for (const Entry& entry : entries_) {
      visit(entry.number, rest.substr(0, entry.bytes));
      rest.remove_prefix(entry.bytes);
    }
  }

 private:
  struct Entry {
    std::uint64_t number;  ///< the key's number
    std::size_t bytes;     ///< the value's size
  };
  std::vector<Entry> entries_;
  std::string values_;
};

}  // namespace granary::bench::ycsb
