// `granary doctor`: looks at a host, at the network between two hosts, and says what to mend.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/trial.h"
#include "src/base/build_info.h"
#include "src/base/print.h"
#include "src/base/tsc_clock.h"
#include "src/cli/cluster_here.h"
#include "src/cli/doctor/greeting.h"
#include "src/cli/doctor/host_checks.h"
#include "src/cli/doctor/listener.h"
#include "src/cli/doctor/node_checks.h"
#include "src/cli/doctor/peer_checks.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::ExitCode;
using cluster_check::append;
using cluster_check::Findings;

/// Findings about one thing: "host", "cluster" or "peer".
struct Section {
  std::string name;
  std::string title;
  Findings findings;
};

ExitCode show(const std::vector<Section>& sections, const std::string& host_name, bool as_json) {
  const bool bad = std::any_of(sections.begin(), sections.end(),
                               [](const Section& one) { return cluster_check::any_bad(one.findings); });
  if (as_json) {
    nlohmann::ordered_json json{{"host", host_name}, {"version", base::version_text()}, {"ok", !bad}};
    for (const Section& one : sections) json["findings"][one.name] = cluster_check::json_of(one.findings);
    base::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    for (const Section& one : sections) base::print("{}\n\n{}\n", one.title, cluster_check::text_of(one.findings));
    base::print("{}\n", bad ? "not ok: see what is bad" : "ok");
  }
  return bad ? ExitCode::kCheckFailed : ExitCode::kOk;
}

ExitCode look(const bench::FlagValues& flags) {
  std::vector<Section> sections;
  const doctor::Host host = doctor::this_host();
  const std::string& host_name = host.machine.host_name;
  Section& own = sections.emplace_back(
      Section{"host", fmt::format("host '{}', granary {}", host_name, base::version_text()), doctor::check_host(host)});
  append(own.findings, doctor::check_devices(host.machine.devices));
  if (const std::string& file = flags.text("cluster"); !file.empty()) {
    ClusterHere cluster;
    const ExitCode code = read_cluster(file, static_cast<std::uint16_t>(flags.integer("id")), cluster);
    if (code != ExitCode::kOk) return code;
    Findings findings = findings_of(cluster);
    append(findings, doctor::check_disks(cluster.here));
    append(findings, doctor::check_ports(cluster.here));
    sections.push_back(
        {"cluster", fmt::format("cluster '{}' of '{}'", cluster.config.name, file), std::move(findings)});
  }
  if (const std::string& peer = flags.text("peer"); !peer.empty()) {
    const auto address = doctor::peer_address_of(peer);
    if (!address.ok()) return bench::refuse(ExitCode::kUsage, address.status().message());
    sections.push_back({"peer", fmt::format("from '{}' to '{}'", host_name, peer), doctor::check_peer(*address)});
  }
  return show(sections, host_name, flags.enabled("json"));
}

void report(const doctor::Listener::Served& served) {
  if (served.trouble.empty()) {
    base::print("{}: {} echoes\n", served.peer, served.echoes);
  } else {
    base::print("{}: not served to the end, after {} echoes: {}\n", served.peer, served.echoes, served.trouble);
  }
  std::fflush(stdout);
}

/// Serves peers until the time is up, or until one peer was served to the end.
ExitCode listen(const bench::FlagValues& flags) {
  auto listener = doctor::Listener::open(static_cast<std::uint16_t>(flags.integer("port")));
  if (!listener.ok()) return bench::refuse(ExitCode::kEnvironment, listener.status().message());
  const std::uint64_t seconds = flags.integer("timeout");
  base::print("listening at port {} for {} seconds\n", listener->port(), seconds);
  std::fflush(stdout);
  const std::uint64_t end_ns = base::monotonic_ns() + seconds * base::kSecondNs;
  std::uint64_t peers = 0;
  for (std::uint64_t now = base::monotonic_ns(); now < end_ns; now = base::monotonic_ns()) {
    const auto served = listener->serve_one(static_cast<std::uint32_t>((end_ns - now) / 1'000'000 + 1));
    if (!served.ok()) continue;
    report(*served);
    if (!served->trouble.empty()) continue;
    ++peers;
    if (flags.enabled("once")) return ExitCode::kOk;
  }
  if (peers != 0) return ExitCode::kOk;
  return bench::refuse(ExitCode::kCheckFailed,
                       fmt::format("no doctor came to port {} within {} seconds", listener->port(), seconds));
}

ExitCode run(const std::string&, const bench::FlagValues& flags) {
  const auto need = [&](const char* flag, const char* other) {
    return bench::refuse(ExitCode::kUsage, fmt::format("doctor: --{} is of use only with --{}", flag, other));
  };
  if (flags.enabled("listen")) {
    for (const char* flag : {"cluster", "id", "peer", "json"}) {
      if (flags.given(flag))
        return bench::refuse(ExitCode::kUsage,
                             fmt::format("doctor: --listen only answers; it has no use for --{}", flag));
    }
    return listen(flags);
  }
  for (const char* flag : {"port", "timeout", "once"}) {
    if (flags.given(flag)) return need(flag, "listen");
  }
  if (flags.given("id") && flags.text("cluster").empty()) return need("id", "cluster");
  return look(flags);
}

}  // namespace

const Tool& doctor_tool() {
  static const Tool tool{
      .group = "doctor",
      .operand = "",
      .summary = "is this host fit for Granary, and the way to another? says what to mend",
      .description =
          "Looks at kernel, processor, clock, memory, huge pages, limits and RDMA devices of this host. Each finding "
          "is ok, a note, a warning (it works, but slower or with less protection) or bad, with what mends it. With "
          "--cluster also at all that 'granary cluster check' looks at, and at the nodes' disks and HTTP ports; it "
          "writes a little to a file without a name in each directory. With --peer also at the way to another host, "
          "where 'granary doctor --listen' runs: both releases, round trips over TCP, the difference of the clocks. "
          "Changes no setting and leaves no file. The listener answers anyone who reaches its port, and only sends "
          "back what was sent. Exit code 1 if anything is bad.",
      .examples = {"", "--cluster=cluster.toml --id=2", "--listen --once", "--peer=10.0.0.2",
                   "--peer=hostb:19000 --json"},
      .flags = {bench::text_flag("cluster", "", "FILE", "Looks also at what the nodes of this cluster file need."),
                bench::integer_flag("id", 0, 0, cluster_config::kGreatestNodeId, "",
                                    "With --cluster: looks for this node; 0: for all of the file that run here."),
                bench::text_flag("peer", "", "HOST[:PORT]", "Looks also at the way to this host."),
                bench::switch_flag("listen", false, "Answers doctors on other hosts, and does nothing else."),
                bench::integer_flag("port", doctor::kDefaultPort, 0, 65'535, "",
                                    "With --listen: the TCP port; 0: any free one."),
                bench::integer_flag("timeout", 60, 1, 86'400, "seconds", "With --listen: ends after so long."),
                bench::switch_flag("once", false, "With --listen: ends after the first doctor that was answered."),
                bench::switch_flag("json", false, "Prints JSON instead of a table.")},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
