#pragma once
// Records that the check has read in one transaction. A transaction may run several times, so that its records are
// looked at only once it has committed; until then the chunk keeps them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace granary::bench::ycsb {

class Chunk {
 public:
  /// A chunk with so many records, or with so many bytes of values, is full. The bytes keep the memory of the check
  /// small and its transactions short where values are large.
  static constexpr std::size_t kMostRecords = 1000, kMostBytes = std::size_t{4} << 20;

  /// A transaction begins, and what an earlier attempt has read counts no more.
  void clear() {
    entries_.clear();
    values_.clear();
  }
  /// Returns whether there is room for more.
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
    std::uint64_t number;  ///< of the key
    std::size_t bytes;     ///< of the value
  };
  std::vector<Entry> entries_;
  std::string values_;
};

}  // namespace granary::bench::ycsb
