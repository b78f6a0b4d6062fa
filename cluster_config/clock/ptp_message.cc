#include "cluster_config/clock/ptp_message.h"

#include <cctype>

#include "cluster_config/checks.h"

namespace granary::cluster_config::clock::ptp {
namespace {

// The header has 34 bytes, to which management messages add 14. A TLV follows.
constexpr std::size_t kLengthAt = 2;
constexpr std::size_t kDomainAt = 4;
constexpr std::size_t kPortAt = 28;
constexpr std::size_t kSequenceAt = 30;
constexpr std::size_t kControlAt = 32;
constexpr std::size_t kIntervalAt = 33;
constexpr std::size_t kTargetAt = 34;
constexpr std::size_t kTargetBytes = 10;
constexpr std::size_t kActionAt = 46;
constexpr std::size_t kTlvAt = 48;
constexpr std::size_t kIdAt = kTlvAt + 4;
constexpr std::size_t kDataAt = kTlvAt + 6;

constexpr std::uint8_t kManagement = 0x0D;
constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kResponse = 2;
constexpr std::uint16_t kManagementTlv = 1;

constexpr std::size_t kCurrentBytes = 18;
constexpr std::size_t kPortBytes = 26;
constexpr std::size_t kTimeStatusBytes = 50;

using Bytes = std::span<const std::uint8_t>;

/// Reads a number, which is big-endian as all numbers of the protocol.
template <typename Number>
Number number_at(Bytes bytes, std::size_t at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) number = number << 8 | bytes[at + i];
  return static_cast<Number>(number);
}

void put_two(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint16_t number) {
  bytes[at] = static_cast<std::uint8_t>(number >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(number);
}

/// Reads nanoseconds in units of 2^-16.
double interval_at(Bytes bytes, std::size_t at) {
  return static_cast<double>(number_at<std::int64_t>(bytes, at)) / 65536;
}

std::optional<std::variant<CurrentData, PortData, TimeStatus>> parse_data(DataSet what, Bytes data) {
  switch (what) {
    case DataSet::kCurrent:
      if (data.size() != kCurrentBytes) return {};
      return CurrentData{number_at<std::uint16_t>(data, 0), interval_at(data, 2), interval_at(data, 10)};
    case DataSet::kPort:
      if (data.size() != kPortBytes) return {};
      return PortData{number_at<std::uint16_t>(data, 8), data[10]};
    case DataSet::kTimeStatus: {
      if (data.size() != kTimeStatusBytes) return {};
      TimeStatus status{number_at<std::int64_t>(data, 0), number_at<std::int32_t>(data, 38) != 0, {}};
      for (std::size_t i = 0; i < status.grandmaster.size(); ++i) status.grandmaster[i] = data[42 + i];
      return status;
    }
  }
  return {};
}

}  // namespace

std::vector<std::uint8_t> get_request(DataSet what, std::uint8_t domain, std::uint16_t sequence) {
  std::vector<std::uint8_t> message(kDataAt, 0);  // action 0: GET
  message[0] = kManagement;
  message[1] = kVersion;
  put_two(message, kLengthAt, static_cast<std::uint16_t>(message.size()));
  message[kDomainAt] = domain;
  put_two(message, kPortAt, 1);
  put_two(message, kSequenceAt, sequence);
  message[kControlAt] = 4;
  message[kIntervalAt] = 0x7F;
  for (std::size_t i = 0; i < kTargetBytes; ++i) message[kTargetAt + i] = 0xFF;  // every port of every clock there
  put_two(message, kTlvAt, kManagementTlv);
  put_two(message, kTlvAt + 2, 2);
  put_two(message, kIdAt, static_cast<std::uint16_t>(what));
  return message;
}

std::optional<Answer> parse_answer(Bytes message, std::uint8_t domain) {
  if (message.size() < kDataAt || (message[0] & 0x0F) != kManagement || (message[1] & 0x0F) != kVersion) return {};
  const std::size_t tlv_bytes = number_at<std::uint16_t>(message, kTlvAt + 2);
  const bool whole = number_at<std::uint16_t>(message, kLengthAt) == message.size() && tlv_bytes >= 2 &&
                     kTlvAt + 4 + tlv_bytes == message.size();
  const bool answers = message[kDomainAt] == domain && (message[kActionAt] & 0x0F) == kResponse &&
                       number_at<std::uint16_t>(message, kTlvAt) == kManagementTlv;
  if (!whole || !answers) return {};
  const auto data =
      parse_data(static_cast<DataSet>(number_at<std::uint16_t>(message, kIdAt)), message.subspan(kDataAt));
  if (!data) return {};
  return Answer{number_at<std::uint16_t>(message, kSequenceAt), *data};
}

std::optional<ClockIdentity> parse_identity(std::string_view text) {
  if (!cluster_config::is_clock_identity(text)) return {};
  ClockIdentity identity{};
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '.') continue;
    const int digit = std::isdigit(static_cast<unsigned char>(c)) != 0 ? c - '0' : (c | 0x20) - 'a' + 10;
    identity[digits / 2] = static_cast<std::uint8_t>(identity[digits / 2] << 4 | digit);
    ++digits;
  }
  return identity;
}

std::string print(const ClockIdentity& identity) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < identity.size(); ++i) {
    if (i == 3 || i == 5) text += '.';
    text += kDigits[identity[i] >> 4];
    text += kDigits[identity[i] & 0x0F];
  }
  return text;
}

std::string_view port_state_name(std::uint8_t state) {
  static constexpr std::array<std::string_view, 10> kNames = {"unknown",      "INITIALIZING", "FAULTY", "DISABLED",
                                                              "LISTENING",    "PRE_MASTER",   "MASTER", "PASSIVE",
                                                              "UNCALIBRATED", "SLAVE"};
  return state < kNames.size() ? kNames[state] : kNames[0];
}

}  // namespace granary::cluster_config::clock::ptp
