#include "tests/crash/acknowledged.h"

#include <algorithm>
#include <sstream>

namespace granary::crash {

void Acknowledged::hear(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    std::istringstream words(line);
    std::string word;
    std::size_t worker = 0;
    std::uint64_t number = 0;
    words >> word;
    if (word == "closed") released_ = committed_;
    if (word != "committed" && word != "released") continue;
    words >> worker >> number;
    if (word == "released") released_.at(worker) = std::max(released_.at(worker), number);
    committed_.at(worker) = std::max(committed_.at(worker), number);
    most_.at(worker) = std::max(most_.at(worker), number);
  }
}

std::string Acknowledged::missing(const std::array<std::uint64_t, kWorkers>& counters) const {
  std::ostringstream wrong;
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    if (counters[worker] < committed_[worker])
      wrong << "worker " << worker << " was told of " << committed_[worker] << " transactions (" << released_[worker]
            << " of them released), " << counters[worker] << " are there; ";
  }
  return wrong.str();
}

std::string Acknowledged::judge(const std::array<std::uint64_t, kWorkers>& counters) const {
  std::ostringstream wrong;
  wrong << missing(counters);
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    if (counters[worker] > most_[worker] + 1)
      wrong << "worker " << worker << " has begun at most " << most_[worker] + 1 << " transactions, "
            << counters[worker] << " are there; ";
  }
  return wrong.str();
}

std::uint64_t Acknowledged::released() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t number : released_) sum += number;
  return sum;
}

const std::string* line_of(const std::vector<std::string>& lines, const std::string& beginning) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const auto& line) { return line.starts_with(beginning); });
  return found == lines.end() ? nullptr : &*found;
}

}  // namespace granary::crash
