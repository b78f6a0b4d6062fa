#include "src/cli/doctor/peer_checks.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "src/base/tsc_clock.h"
#include "src/cli/doctor/greeting.h"
#include "src/cli/doctor/rdma_reads.h"
#include "src/cli/doctor/stream.h"

namespace granary::doctor {
namespace {

using cluster_check::Finding;
using cluster_check::Findings;
using cluster_check::Verdict;

constexpr std::size_t kEchoes = 100;
constexpr double kSlowMedian_us = 1000;
/// The greatest difference of two clocks that is no fault. Clocks that NTP or PTP keeps differ by far less.
constexpr double kGreatestDifference_us = 100'000;

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

Finding bad(std::string subject, std::string found, std::string mend) {
  return {.subject = std::move(subject), .verdict = Verdict::kBad, .found = std::move(found), .mend = std::move(mend)};
}

Result<std::string> exchange_lines(Stream& stream, const std::string& own) {
  if (Status sent = stream.send(own); !sent.ok()) return sent;
  return stream.receive_line(kLongestGreeting);
}

/// Sends this program's greeting, and judges the peer's. Returns false if the peer cannot answer echoes.
bool greet(Stream& stream, Findings& findings) {
  const Greeting own = own_greeting();
  const Result<std::string> line = exchange_lines(stream, line_of(own));
  const std::optional<Greeting> peer = line.ok() ? greeting_of(*line) : std::nullopt;
  if (!peer) {
    const bool silent = !line.ok() && line.status().code() != StatusCode::kInvalidArgument;
    findings.push_back(bad("greeting", silent ? line.status().message() : "what listens there is no granary doctor",
                           "see that 'granary doctor --listen' runs there, at this port, and serves nobody else"));
    return false;
  }
  Finding finding{.subject = "release", .found = fmt::format("{} on both hosts", own.release)};
  if (peer->release != own.release) finding.found = fmt::format("there {}, here {}", peer->release, own.release);
  if (peer->doctor_protocol != kDoctorProtocol || peer->cluster_protocol != own.cluster_protocol) {
    finding.verdict = Verdict::kBad;
    finding.found += "; their nodes cannot work together";
    finding.mend = "install the same Granary on both hosts";
  } else if (peer->release != own.release) {
    finding.verdict = Verdict::kNote;
    finding.found += "; their nodes can work together";
  }
  findings.push_back(finding);
  return peer->doctor_protocol == kDoctorProtocol;
}

Result<EchoTimes> time_echo(Stream& stream, std::uint64_t number) {
  Echo echo{.number = number};
  const std::span<char> bytes(reinterpret_cast<char*>(&echo), sizeof echo);
  const std::uint64_t sent = wall_clock_ns(), begin = base::monotonic_ns();
  if (Status status = stream.send(bytes); !status.ok()) return status;
  if (Status status = stream.receive(bytes); !status.ok()) return status;
  const std::uint64_t end = base::monotonic_ns();
  if (echo.number != number) return Status(StatusCode::kInvalidArgument, "an answer belongs to no question");
  return EchoTimes{sent, echo.received_ns, echo.returned_ns, end - begin};
}

Finding judge_round_trips(const std::vector<EchoTimes>& echoes) {
  std::vector<double> trips_us;
  for (const EchoTimes& echo : echoes) trips_us.push_back(microseconds(echo.round_trip_ns));
  std::sort(trips_us.begin(), trips_us.end());
  const double median = trips_us[trips_us.size() / 2];
  Finding finding{.subject = "round trip",
                  .found = fmt::format("TCP, {} echoes: {:.1f} us at least, median {:.1f} us, at most {:.1f} us",
                                       trips_us.size(), trips_us.front(), median, trips_us.back())};
  if (median > kSlowMedian_us) {
    finding.verdict = Verdict::kWarning;
    finding.mend = "this is no network of one data centre, or it is loaded: traceroute, ethtool -S DEVICE";
  }
  return finding;
}

Finding judge_clocks(const ClockDifference& difference) {
  const double ahead_us = static_cast<double>(difference.ahead_ns) / 1000;
  const double bound_us = microseconds(difference.bound_ns);
  Finding finding{.subject = "clock difference",
                  .found = fmt::format("its clock is {:.1f} us {} this one, give or take {:.1f} us", std::abs(ahead_us),
                                       ahead_us < 0 ? "behind" : "ahead of", bound_us)};
  if (std::abs(ahead_us) - bound_us > kGreatestDifference_us) {
    finding.verdict = Verdict::kWarning;
    finding.mend = "timedatectl set-ntp true on both; leases between hosts need PTP (docs/clock.md)";
  }
  return finding;
}

void check_echoes(Stream& stream, Findings& findings) {
  std::vector<EchoTimes> echoes;
  while (echoes.size() < kEchoes) {
    const Result<EchoTimes> echo = time_echo(stream, echoes.size() + 1);
    if (!echo.ok()) {
      findings.push_back(bad("round trip", fmt::format("echo {}: {}", echoes.size() + 1, echo.status().message()),
                             "run it again; if it stays so: ip -s link, for lost packets"));
      return;
    }
    echoes.push_back(*echo);
  }
  findings.push_back(judge_round_trips(echoes));
  findings.push_back(judge_clocks(clock_difference(echoes)));
  Echo ask{.number = kAskForPage};
  if (stream.send({reinterpret_cast<const char*>(&ask), sizeof ask}).ok()) findings.push_back(check_reads(stream));
}

}  // namespace

Result<PeerAddress> peer_address_of(const std::string& text) {
  PeerAddress peer{text, kDefaultPort};
  std::string port;
  const std::size_t colon = text.rfind(':'), bracket = text.rfind(']');
  const bool bracketed = text.starts_with('[') && bracket != std::string::npos;
  if (bracketed) {
    peer.host = text.substr(1, bracket - 1);
    if (bracket + 1 != text.size()) port = text.substr(bracket + 1);
  } else if (colon != std::string::npos && colon == text.find(':')) {
    peer.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (!port.empty()) {
    const char* const end = port.data() + port.size();
    const auto [last, error] = std::from_chars(port.data() + 1, end, peer.port);
    if (port[0] != ':' || error != std::errc() || last != end || peer.port == 0) peer.host.clear();
  }
  if (!peer.host.empty()) return peer;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("--peer='{}': expected HOST or HOST:PORT, with a port from 1 to 65535", text));
}

ClockDifference clock_difference(std::span<const EchoTimes> echoes) {
  const auto there = [](const EchoTimes& echo) {
    return std::min(echo.returned_ns - echo.received_ns, echo.round_trip_ns);
  };
  const auto under_way = [&](const EchoTimes& echo) { return echo.round_trip_ns - there(echo); };
  const EchoTimes& fastest = *std::min_element(
      echoes.begin(), echoes.end(),
      [&](const EchoTimes& one, const EchoTimes& other) { return under_way(one) < under_way(other); });
  // When the message arrived, this host's clock showed the time of sending plus about half of the time under way.
  const std::uint64_t bound = under_way(fastest) / 2;
  return {static_cast<std::int64_t>(fastest.received_ns - (fastest.sent_ns + bound)), bound};
}

Findings check_peer(const PeerAddress& peer) {
  Result<Stream> stream = Stream::connect(peer.host, peer.port, kGreeting_ms);
  if (stream.status().code() == StatusCode::kNotFound) {
    return {bad("connection", fmt::format("{}: {}", peer.host, stream.status().message()),
                "name in --peer a host that this one can look up (DNS, /etc/hosts), or give its IP address")};
  }
  if (!stream.ok()) {
    return {bad("connection", fmt::format("{} port {}: {}", peer.host, peer.port, stream.status().message()),
                fmt::format("'granary doctor --listen' on {}, and a firewall that lets TCP port {} through", peer.host,
                            peer.port))};
  }
  Findings findings{{.subject = "connection", .found = fmt::format("{} port {} answers", peer.host, peer.port)}};
  if (greet(*stream, findings)) {
    stream->set_timeout(kEchoes_ms);
    check_echoes(*stream, findings);
  }
  return findings;
}

}  // namespace granary::doctor
