#pragma once
// Makes garbage of every kind, for as long as one likes: by updates that change sizes, by records that are deleted and
// inserted again, by queues that move through the key space, and by snapshots that hold old versions. Memory must stay
// level.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <granary/granary.h>

#include "bench/harness/command.h"
#include "src/base/random.h"

namespace granary::bench::soak {

struct Parameters {
  std::uint64_t keys = 0;           ///< keys of Tables::updated, and as many of Tables::churned
  std::uint32_t largest_value = 0;  ///< updates draw sizes from 16 to this many bytes
  std::uint64_t queue_length = 0;   ///< records between the head and the tail of each worker's queue
  std::uint64_t seed = 1;
  bool snapshots = true;
};

/// Draws a value of 16 to Parameters::largest_value bytes.
inline void fill(std::string& value, const Parameters& parameters, base::Random& random) {
  value.assign(16 + random.below(parameters.largest_value - 15), static_cast<char>('a' + random.below(26)));
}

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
  std::uint64_t load_units() const override {
    return parameters_.keys + (parameters_.keys + 1) / 2 + settings_.workers * parameters_.queue_length;
  }
  bool reload_each_repeat() const override { return true; }
  Status load(unsigned threads, Progress& progress) override;
  Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) override;
  StoreFigures figures() const override;
  void observe(const Sample& sample) override { samples_.push_back(sample); }
  std::vector<Finding> verify() override;

 private:
  double seconds_kept() const;
  Status load_one(Worker& worker, const Table& table, std::string_view key, Progress& progress);

  const Settings settings_;
  const Parameters parameters_;
  std::unique_ptr<Database> database_;
  Tables tables_;
  base::Random random_{parameters_.seed, 0};
  std::string value_;            // the value of the record that is being loaded
  std::vector<Sample> samples_;  // used by the runner's own thread only
};

/// Makes a client that runs one worker's requests (client.cc). Its queue must be loaded, with the numbers from 0 to
/// Parameters::queue_length - 1.
std::unique_ptr<Client> make_soak_client(Worker worker, const Tables& tables, const Parameters& parameters,
                                         std::uint32_t id);
std::vector<std::string> soak_types(bool snapshots);

}  // namespace granary::bench::soak
