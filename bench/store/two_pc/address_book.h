#pragma once
// Tells where the nodes of a run listen. Each node leaves a file in a directory that only its user can enter, with its
// port and a token that callers must show. So a process that cannot read the directory cannot call.

#include <array>
#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::bench::two_pc {

using Token = std::array<std::uint64_t, 2>;
/// Returns a token that cannot be guessed, of random bytes from the system.
Result<Token> new_token();

struct Entry {
  std::string address;
  std::uint16_t port = 0;
  Token token = {};
};

class AddressBook {
 public:
  /// Makes the directory, and those above it, if they are missing. Returns kUnavailable if another user can enter it.
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
