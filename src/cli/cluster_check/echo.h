#pragma once
// Whether a host answers, by an ICMP echo, for which a user needs a group that may ping (net.ipv4.ping_group_range) or
// raw sockets; and what a server says.

#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::cluster_check {

enum class Echo { kAnswered, kSilent, kNoRoute, kNotAllowed };

/// Waits at most `timeout_ms`. `address` is an IP address.
Echo echo(const std::string& address, int timeout_ms);

/// What a server answers by TCP to a short question; kUnavailable with why if it does not in time.
Result<std::string> ask_server(const std::string& host, const std::string& port, const std::string& question,
                               int timeout_ms);

}  // namespace granary::cluster_check
