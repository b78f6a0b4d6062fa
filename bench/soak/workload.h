#pragma once
// Everything that makes garbage, for as long as one likes: updates that change sizes, records deleted and born again,
// queues that move through the key space, and snapshots that hold old versions. Memory must stay level.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <granary/granary.h>

#include "bench/harness/command.h"

namespace granary::bench::soak {

struct Parameters {
  std::uint64_t keys = 0;           ///< in the table that is updated, and again in the one that is churned
  std::uint32_t largest_value = 0;  ///< updates draw sizes from 16 to this many bytes
  std::uint64_t queue_length = 0;   ///< records between head and tail of each worker's queue
  std::uint64_t seed = 1;
  bool snapshots = true;
};

struct Tables {
  Table updated;  ///< every key is present; sizes and contents change
  Table churned;  ///< every key comes and goes
  Table queues;   ///< (worker, number): inserted at the head, deleted at the tail
};

class SoakWorkload final : public Workload {
 public:
  SoakWorkload(const Settings& settings, const Parameters& parameters) : settings_(settings), parameters_(parameters) {}

  std::string name() const override { return "soak"; }
  std::vector<std::string> transaction_types() const override;
  double scale_factor() const override { return static_cast<double>(parameters_.keys) / 1e6; }
  std::uint64_t estimated_bytes() const override;
  std::uint64_t load_units() const override { return parameters_.keys; }
  bool reload_each_repeat() const override { return true; }
  Status load(unsigned threads, Progress& progress) override;
  Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) override;
  StoreFigures figures() const override;
  void observe(const Sample& sample) override { samples_.push_back(sample); }
  std::vector<Finding> verify() override;

 private:
  const Settings settings_;
  const Parameters parameters_;
  std::unique_ptr<Database> database_;
  Tables tables_;
  std::vector<Sample> samples_;  // of the runner's own thread
};

/// One worker's requests (client.cc).
std::unique_ptr<Client> make_soak_client(Worker worker, const Tables& tables, const Parameters& parameters,
                                         std::uint32_t id);
std::vector<std::string> soak_types(bool snapshots);

}  // namespace granary::bench::soak
