#pragma once
// Writes requests for data sets and parses their answers: PTP management messages (IEEE 1588, clause 15), as linuxptp's
// daemon ptp4l answers them on its Unix socket. An answer counts only if it has exactly the right form and length.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace granary::cluster_config::clock::ptp {

enum class DataSet : std::uint16_t {
  kCurrent = 0x2001,     ///< CURRENT_DATA_SET
  kPort = 0x2004,        ///< PORT_DATA_SET, one for each port
  kTimeStatus = 0xC000,  ///< TIME_STATUS_NP, linuxptp's own
};

using ClockIdentity = std::array<std::uint8_t, 8>;

/// Reads an identity as linuxptp prints it, such as "001122.fffe.334455". Returns nothing if the text is no identity.
std::optional<ClockIdentity> parse_identity(std::string_view text);
std::string print(const ClockIdentity& identity);

struct CurrentData {
  std::uint16_t steps_removed = 0;  ///< 0: this clock is the grandmaster
  double offset_ns = 0;
  double path_delay_ns = 0;
};
struct PortData {
  std::uint16_t port = 0;
  std::uint8_t state = 0;
};
struct TimeStatus {
  std::int64_t offset_ns = 0;
  bool grandmaster_present = false;  ///< whether another clock is the grandmaster
  ClockIdentity grandmaster{};
};

inline constexpr std::uint8_t kMaster = 6;
inline constexpr std::uint8_t kSlave = 9;
/// Returns the state's name, such as "SLAVE".
std::string_view port_state_name(std::uint8_t state);

struct Answer {
  std::uint16_t sequence = 0;
  std::variant<CurrentData, PortData, TimeStatus> data;
};

std::vector<std::uint8_t> get_request(DataSet what, std::uint8_t domain, std::uint16_t sequence);
std::optional<Answer> parse_answer(std::span<const std::uint8_t> message, std::uint8_t domain);

inline constexpr std::size_t kMostMessageBytes = 1500;

}  // namespace granary::cluster_config::clock::ptp
