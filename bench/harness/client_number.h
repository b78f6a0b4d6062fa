#pragma once
// The numbers of a process's clients. Each worker has one client, or several that share its thread (--batch, --fibers).
// The first has the worker's number, and each further one a number that is greater by kMaxWorkers, so that no two
// clients of a process have the same.

#include <cstdint>

#include <granary/limits.h>

namespace granary::bench {

/// Returns the number of the worker's client at `place`, counted from 0.
constexpr std::uint32_t client_number(std::uint32_t worker, std::uint32_t place) {
  return worker + place * kMaxWorkers;
}

/// Returns the worker that a client belongs to. All clients of a worker are at home where the worker is.
constexpr std::uint32_t worker_of_client(std::uint32_t client) { return client % kMaxWorkers; }

}  // namespace granary::bench
