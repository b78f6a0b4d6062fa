#include "src/cli/doctor/rdma_reads.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "rdma/verbs/device.h"
#include "rdma/verbs/verbs_fabric.h"
#include "src/base/tsc_clock.h"
#include "src/cli/doctor/greeting.h"

namespace granary::doctor {
namespace {

using cluster_check::Finding;
using cluster_check::Verdict;

constexpr std::string_view kPlace = "page ", kNone = "no page: ";
constexpr std::size_t kReads = 1000;
constexpr std::uint32_t kReadBytes = 64;
constexpr rdma::RegionId kPage = 1;
constexpr std::uint64_t kConnect_us = 2'000'000, kRead_us = 1'000'000;
/// The ports of rdma_cm that the reader and the read side use. They differ, so that two doctors can run on one host.
constexpr std::uint16_t kReaderService = kDefaultPort + 1, kReadService = kDefaultPort + 2;

/// Returns the options of either side's fabric, as far as they are known before it is opened.
Result<rdma::verbs::VerbsOptions> options_of(rdma::NodeId node, std::uint16_t service) {
  rdma::verbs::VerbsOptions options;
  options.node.node = node;
  options.service = service;
  options.connections = 1;
  options.tolerate_swap_stores = true;  // nothing is swapped here
  const auto choice = rdma::verbs::choose_device(rdma::verbs::list_devices(), options);
  if (!choice.ok()) return choice.status();
  options.device = choice->device;
  options.port = choice->port;
  options.address = choice->address;
  return options;
}

Result<ReadEnd> open_end(const rdma::verbs::VerbsOptions& options) {
  auto region = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff});
  if (!region.ok()) return region.status();
  auto fabric = rdma::verbs::open_verbs_fabric(options);
  if (!fabric.ok()) return fabric.status();
  if (Status registered = (*fabric)->register_region({.id = kPage}, **region); !registered.ok()) return registered;
  if (Status listening = (*fabric)->listen(); !listening.ok()) return listening;
  return ReadEnd{std::move(*region), std::move(*fabric)};
}

/// Makes one READ and waits for it. Returns the time that it took, in microseconds.
Result<double> time_read(rdma::Endpoint& endpoint, rdma::ConnectionId connection, const ReadEnd& reader) {
  const rdma::RemoteAddress from{
      .node = kRead, .region = kPage, .generation = endpoint.peer_generation(connection), .offset = 0};
  const std::array chain{rdma::Operation::read(reader.region->base(), from, kReadBytes)};
  const std::uint64_t begin = base::monotonic_ns();
  if (const rdma::PostResult posted = endpoint.post(connection, chain, rdma::Signal::kYes, 0);
      posted != rdma::PostResult::kPosted)
    return Status(StatusCode::kUnavailable, fmt::format("a READ was not taken: {}", rdma::name(posted)));
  std::array<rdma::Completion, 1> done;
  while (endpoint.poll(done) == 0) {
    if (base::monotonic_ns() - begin > kRead_us * 1000)
      return Status(StatusCode::kUnavailable, fmt::format("a READ was not done within {} s", kRead_us / 1'000'000));
  }
  if (done[0].status != rdma::CompletionStatus::kDone) return endpoint.status(connection);
  return static_cast<double>(base::monotonic_ns() - begin) / 1000;
}

Result<std::vector<double>> read_from(const ReadPlace& place) {
  auto options = options_of(kReader, kReaderService);
  if (!options.ok()) return options.status();
  options->peers = {{.node = kRead, .host = place.address, .service = place.service}};
  const auto reader = open_end(*options);
  if (!reader.ok()) return reader.status();
  return time_reads(*reader, kReads);
}

}  // namespace

std::string line_of(const Result<ReadPlace>& place) {
  std::string line = place.ok() ? fmt::format("{}{} {}", kPlace, place->address, place->service)
                                : fmt::format("{}{}", kNone, place.status().message());
  std::replace(line.begin(), line.end(), '\n', ' ');
  line.resize(std::min(line.size(), kLongestGreeting - 1));
  return line + '\n';
}

/// Reads the peer's line, which may be anything and is printed, so that it must not have control characters.
Result<ReadPlace> read_place_of(std::string_view line) {
  const auto printed = [](char c) { return c >= ' ' && c <= '~'; };
  if (!std::all_of(line.begin(), line.end(), printed))
    return Status(StatusCode::kInvalidArgument, "its answer makes no sense");
  if (line.starts_with(kNone)) return Status(StatusCode::kUnavailable, std::string(line.substr(kNone.size())));
  const std::size_t space = line.rfind(' ');
  ReadPlace place;
  if (line.starts_with(kPlace) && space > kPlace.size()) {
    place.address = std::string(line.substr(kPlace.size(), space - kPlace.size()));
    const char* const end = line.data() + line.size();
    const auto [last, error] = std::from_chars(line.data() + space + 1, end, place.service);
    if (error == std::errc() && last == end && place.service != 0) return place;
  }
  return Status(StatusCode::kInvalidArgument, "its answer makes no sense");
}

Result<std::vector<double>> time_reads(const ReadEnd& reader, std::size_t reads) {
  auto endpoint = reader.fabric->open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  const auto connection = (*endpoint)->connect(kRead, kConnect_us);
  if (!connection.ok()) return connection.status();
  std::vector<double> times;
  while (times.size() < reads) {
    const auto time = time_read(**endpoint, *connection, reader);
    if (!time.ok()) return time.status();
    times.push_back(*time);
  }
  return times;
}

std::string offer_page(Stream& stream) {
  const auto options = options_of(kRead, kReadService);
  const auto end = options.ok() ? open_end(*options) : Result<ReadEnd>(options.status());
  const Result<ReadPlace> place =
      end.ok() ? Result<ReadPlace>({options->address, kReadService}) : Result<ReadPlace>(end.status());
  if (const Status sent = stream.send(line_of(place)); !sent.ok()) return sent.message();
  char nothing = 0;
  const Status closed = stream.receive({&nothing, 1});
  return closed.code() == StatusCode::kNotFound ? "" : "it was not done with its READs in time";
}

Finding check_reads(Stream& stream) {
  Finding finding{.subject = "RDMA round trip"};
  const auto line = stream.receive_line(kLongestGreeting);
  const Result<ReadPlace> place = line.ok() ? read_place_of(*line) : Result<ReadPlace>(line.status());
  if (!place.ok()) {
    finding.verdict = Verdict::kNote;
    finding.found = fmt::format("not tried, as the peer has no page to read: {}", place.status().message());
    return finding;
  }
  if (const auto own = options_of(kReader, kReaderService); !own.ok()) {
    finding.verdict = Verdict::kNote;
    finding.found = fmt::format("not tried, as this host cannot read: {}", own.status().message());
    return finding;
  }
  Result<std::vector<double>> times = read_from(*place);
  if (!times.ok()) {
    finding.verdict = Verdict::kBad;
    finding.found = fmt::format("READs of {} port {}: {}", place->address, place->service, times.status().message());
    finding.mend = fmt::format(
        "see that the RDMA addresses of both hosts reach each other (ping, rping), and that no "
        "firewall keeps UDP port 4791 away (docs/rdma.md)");
    return finding;
  }
  std::sort(times->begin(), times->end());
  finding.found = fmt::format("{} READs of {} bytes from {}: {:.1f} us at least, median {:.1f} us, at most {:.1f} us",
                              times->size(), kReadBytes, place->address, times->front(), (*times)[times->size() / 2],
                              times->back());
  return finding;
}

}  // namespace granary::doctor
