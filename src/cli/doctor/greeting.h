#pragma once
// Messages that two doctors send each other over TCP.
//
// Each side first sends a greeting, a line of text: the name, the number of this protocol, the number of the cluster
// protocol (src/node/cluster_protocol.h), and the release. The one that connected sends first. Then it sends any number
// of echoes, one at a time; the listener sends each back with its own times. An echo with the number kAskForPage asks
// for a page to READ instead: the listener answers with a line (rdma_reads.h), and keeps the page until the peer
// closes. Either side ends by closing.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace granary::doctor {

inline constexpr std::uint16_t kDefaultPort = 18'520;
inline constexpr std::uint32_t kDoctorProtocol = 2;
/// The greatest length of a greeting, with its line end.
inline constexpr std::size_t kLongestGreeting = 256;
/// How long either side waits for the other's greeting, and then for all echoes.
inline constexpr std::uint32_t kGreeting_ms = 2000;
inline constexpr std::uint32_t kEchoes_ms = 10'000;

struct Greeting {
  std::uint32_t doctor_protocol = kDoctorProtocol;
  std::uint64_t cluster_protocol = 0;
  std::string release;
};

/// Returns this program's greeting.
Greeting own_greeting();
/// Returns the greeting as a line, with its line end.
std::string line_of(const Greeting& greeting);
/// Reads a line without its end; none if it is no greeting.
std::optional<Greeting> greeting_of(std::string_view line);

/// An echo. Times are of CLOCK_REALTIME. The bytes are sent in the order of memory, as both sides are x86-64.
struct Echo {
  std::uint64_t number = 0;
  std::uint64_t received_ns = 0;  ///< when the listener received it
  std::uint64_t returned_ns = 0;  ///< when the listener sent it back
};
static_assert(sizeof(Echo) == 24);
inline constexpr std::uint64_t kAskForPage = ~std::uint64_t{0};

/// Returns CLOCK_REALTIME in nanoseconds.
std::uint64_t wall_clock_ns();

}  // namespace granary::doctor
