#pragma once
// Collects everything that is wrong with a cluster file, each problem with its line.

#include <string>
#include <vector>

#include <granary/status.h>

namespace granary::cluster_config {

struct Problem {
  int line = 0;         ///< from 1
  std::string message;  ///< names key, value and what is allowed
};

class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  /// Adds a problem. If it is there already (of a default that several nodes take), it is not added again.
  void add(int line, std::string message);
  bool empty() const { return list_.empty(); }
  /// Returns "FILE:LINE: message" for each problem, by line.
  std::vector<std::string> lines() const;
  /// Returns the first problem, and how many more there are. Precondition: not empty.
  Status status() const;

 private:
  const std::string file_;
  std::vector<Problem> list_;
};

}  // namespace granary::cluster_config
