#pragma once
// Asks hosts and servers whether they answer. A host is asked by an ICMP echo, for which a user needs raw sockets or a
// group that may ping (net.ipv4.ping_group_range); a server by TCP.

#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::cluster_check {

enum class Echo { kAnswered, kSilent, kNoRoute, kNotAllowed };

/// Sends an echo request and waits at most `timeout_ms` for the answer. `address` is an IP address.
Echo echo(const std::string& address, int timeout_ms);

/// Returns the answer of a server to a short question over TCP; kUnavailable with the reason if none comes in time.
Result<std::string> ask_server(const std::string& host, const std::string& port, const std::string& question,
                               int timeout_ms);

}  // namespace granary::cluster_check
