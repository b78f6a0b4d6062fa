#pragma once
// I7 as the lists show it: a transaction's epoch is not less than that of what it depends on, nor greater than that of
// what overwrites what it read, on whichever nodes; and a snapshot sees exactly the epochs before its own.

#include <string>
#include <vector>

#include "bench/append/history/history.h"
#include "src/epoch/epoch.h"

namespace granary::cluster::test {

/// By a transaction that committed, or by a snapshot.
struct Seen {
  epoch::Epoch epoch = 0;
  bool snapshot = false;
  std::vector<bench::history::MicroOp> ops;
};

/// An empty string, or who is in which wrong epoch. Reads at the end show the lists whole.
std::string wrong_epochs(const std::vector<Seen>& all);

}  // namespace granary::cluster::test
