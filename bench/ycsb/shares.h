#pragma once
// The operations of YCSB, and how often each of them comes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <granary/status.h>

namespace granary::bench::ycsb {

/// An update overwrites a record that is there; of a record with several fields it reads all, and changes one. A put
/// overwrites the whole record, and nothing of it is read.
enum class Operation : std::uint8_t { kRead, kUpdate, kPut, kReadModifyWrite, kInsert, kScan };
inline constexpr std::size_t kOperations = 6;

/// Returns the operation's name in reports, such as "read_modify_write".
std::string_view name(Operation operation);

/// Says how often each operation comes.
struct Shares {
  std::array<double, kOperations> percent{};  ///< by Operation; they add up to 100

  double operator[](Operation operation) const { return percent[static_cast<std::size_t>(operation)]; }
  bool has(Operation operation) const { return (*this)[operation] > 0; }
  bool operator==(const Shares&) const = default;
};

/// Returns the shares as --shares takes them, without those that are 0: "read=80,rmw=20".
std::string to_text(const Shares& shares);
/// Parses a text such as "read=50,update=30,rmw=10,insert=5,scan=5", in any order. What is not named does not come. The
/// error names the word that is wrong, and what was expected.
Result<Shares> parse_shares(std::string_view text);

}  // namespace granary::bench::ycsb
