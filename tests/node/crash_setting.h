#pragma once
// How the cases of a crash test differ beside where a process is killed (crash.h), all by one number.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <granary/granary.h>

namespace granary::tests {

/// Says how far the last transaction had come when the process was killed.
enum class Fate : std::uint8_t {
  kUndecided,  ///< nothing of it may ever be seen
  kDecided,    ///< in the rings; it holds its epoch open, so no log counts up to that
  kEnded,      ///< in the rings, and perhaps in a log that counts up to there
  kReleased,
};

/// When a client locks what it will write at other nodes.
enum class Locking : std::uint8_t {
  kAtCommit,
  kDeclared,  ///< before it reads: it declares all (Transaction::declare)
  kByReads,   ///< with its reads, which say that it will write (MultiGet::will_write)
};
constexpr std::string_view text_of(Locking locking) {
  constexpr std::array<std::string_view, 3> kTexts{"", ", all is declared", ", reads lock"};
  return kTexts[static_cast<std::size_t>(locking)];
}

/// Says what happens beside the death itself.
struct Setting {
  explicit Setting(std::uint64_t number)
      : seed(number),
        power_lost((number & 1) != 0),
        leader_dies((number & 2) != 0),
        in_order((number & 4) != 0),
        locking(locking_of(number)),
        by_times((number >> 1) % 5 == 2 || (number >> 1) % 5 == 4),
        index((number >> 1) % 7 % 2 == 1 ? IndexKind::kOrdered : IndexKind::kHash),
        noticed(number % 3 != 0),
        rounds(1 + number % 3) {}
  std::string text() const {
    return fmt::format("seed {}: {} dies, the others {}, the rings {}{}{}{}", seed,
                       leader_dies ? "the leader" : "a node", in_order ? "end in order" : "are killed",
                       power_lost ? "are lost" : "survive", text_of(locking), by_times ? ", tictoc" : "",
                       index == IndexKind::kOrdered ? ", an ordered table" : "");
  }

  std::uint64_t seed;
  bool power_lost;  ///< of those that did not end in order
  bool leader_dies;
  bool in_order;  ///< the others end
  Locking locking;
  bool by_times;         ///< the protocol is "tictoc", and otherwise "silo"
  IndexKind index;       ///< of the accounts
  bool noticed;          ///< a coordinator that goes on knows who is dead
  std::uint64_t rounds;  ///< that are released

 private:
  static constexpr Locking locking_of(std::uint64_t number) {
    if ((number & 8) != 0) return Locking::kDeclared;
    return (number >> 1) % 3 == 1 ? Locking::kByReads : Locking::kAtCommit;
  }
};

}  // namespace granary::tests
