#pragma once
// Where the nodes of a run listen. Each leaves a file in a directory that only their user can enter, with its port and
// a token that callers must show: so who cannot read the directory cannot call.

#include <array>
#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::bench::two_pc {

using Token = std::array<std::uint64_t, 2>;
/// One that nobody guesses.
Result<Token> new_token();

struct Entry {
  std::string address;
  std::uint16_t port = 0;
  Token token = {};
};

class AddressBook {
 public:
  /// Makes the directory, and the one above, if need be; kUnavailable if others can enter it.
  static Result<AddressBook> open(const std::string& directory);

  Status write(std::uint32_t node, const Entry& entry) const;
  Result<Entry> read(std::uint32_t node) const;
  void remove(std::uint32_t node) const;

 private:
  explicit AddressBook(std::string directory) : directory_(std::move(directory)) {}
  std::string path(std::uint32_t node) const;

  std::string directory_;
};

}  // namespace granary::bench::two_pc
