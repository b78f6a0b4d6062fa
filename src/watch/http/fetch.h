#pragma once
// Asks HTTP servers of nodes, several at once and for a bounded time.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace granary::http {

struct Target {
  std::string ip;
  std::uint16_t port = 0;
  std::string path;        ///< "/node.json"
  std::string token = {};  ///< sent unless it is empty
};

struct Fetched {
  unsigned status = 0;     ///< the HTTP status; 0 if there was no answer
  std::string body = {};   ///< at most kMostFetchedBytes
  std::string error = {};  ///< why there was no answer, in words; empty if there was one

  bool ok() const { return status == 200; }
};
inline constexpr std::uint64_t kMostFetchedBytes = std::uint64_t{8} << 20;

/// Called with the results, in the order of the targets.
using FetchDone = std::function<void(std::vector<Fetched>)>;

/// Asks all targets, and waits at most so long for the answers.
std::vector<Fetched> fetch_all(std::vector<Target> targets, std::uint32_t timeout_ms);

}  // namespace granary::http
