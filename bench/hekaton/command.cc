// `granary bench timestamps`: draws timestamps and does no other work, which bounds Hekaton's transactions from above.

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/registry.h"
#include "bench/harness/workload.h"
#include "bench/hekaton/timestamps.h"

namespace granary::bench::hekaton {

namespace {

constexpr std::array kSources{std::pair{"mutex", TimestampSource::kMutex},
                              std::pair{"fetch_add", TimestampSource::kFetchAdd},
                              std::pair{"hardware_clock", TimestampSource::kHardwareClock},
                              std::pair{"local_clock", TimestampSource::kLocalClock}};

/// Draws timestamps, so many in a request.
class Drawer : public Client {
 public:
  Drawer(Timestamps& timestamps, std::uint32_t session, std::uint64_t draws, std::atomic<std::uint64_t>& drawn)
      : timestamps_(timestamps),
        session_(session),
        draws_(draws),
        drawn_(drawn) {}
  ~Drawer() override { drawn_.fetch_add(own_, std::memory_order_relaxed); }

  Request run_one() override {
    for (std::uint64_t i = 0; i < draws_; ++i) last_ = timestamps_.next(session_);
    own_ += draws_;
    return {};
  }

 private:
  Timestamps& timestamps_;
  const std::uint32_t session_;
  const std::uint64_t draws_;
  std::uint64_t own_ = 0;
  volatile Timestamp last_ = 0;  // volatile: the compiler must not leave a clock unread
  std::atomic<std::uint64_t>& drawn_;
};

class TimestampsWorkload : public Workload {
 public:
  TimestampsWorkload(TimestampSource source, std::uint64_t draws)
      : counts_(source == TimestampSource::kMutex || source == TimestampSource::kFetchAdd),
        draws_(draws),
        timestamps_(source) {}

  std::string name() const override { return "timestamps"; }
  std::vector<std::string> transaction_types() const override { return {"draw"}; }
  double scale_factor() const override { return static_cast<double>(draws_); }
  std::uint64_t estimated_bytes() const override { return 0; }
  std::uint64_t load_units() const override { return 0; }
  Status load(unsigned, bench::Progress&) override { return {}; }
  Result<std::unique_ptr<Client>> make_client(std::uint32_t worker) override {
    return std::unique_ptr<Client>(std::make_unique<Drawer>(timestamps_, worker, draws_, drawn_));
  }
  StoreFigures figures() const override { return {}; }
  /// Checks that a counter is as great as there were draws, because each draw gets a timestamp of its own.
  std::vector<Finding> verify() override {
    if (!counts_) return {};
    const Tally tally{.expected = drawn_.load(),
                      .found = timestamps_.next(0) - 1 - std::exchange(looked_, looked_ + 1)};
    return {sums_agree("each timestamp is drawn once", tally, {})};
  }

 private:
  const bool counts_;
  const std::uint64_t draws_;
  Timestamps timestamps_;
  std::atomic<std::uint64_t> drawn_{0};
  std::uint64_t looked_ = 0;  ///< timestamps that verify() has drawn
};

Result<std::unique_ptr<Workload>> make(const Settings&, const FlagValues& flags) {
  for (const auto& [name, source] : kSources) {
    if (name == flags.text("timestamps"))
      return std::unique_ptr<Workload>(std::make_unique<TimestampsWorkload>(source, flags.integer("draws")));
  }
  return Status(StatusCode::kInvalidArgument, "--timestamps: unknown");
}

}  // namespace

const BenchCommand& timestamps_command() {
  static const BenchCommand command{
      .name = "timestamps",
      .summary = "timestamps from one place, which bound Hekaton from above",
      .description =
          "Each request draws --draws timestamps and does nothing else: TS_ALLOC of the TicToc paper's Figure 6. Each "
          "transaction of ycsb with --variant=hekaton draws two. So the rate of timestamps is the throughput times "
          "--draws.",
      .examples = {"--workers=2 --seconds=5", "--workers=2 --timestamps=mutex"},
      .flags = {choice_flag("timestamps", "fetch_add", {"mutex", "fetch_add", "hardware_clock", "local_clock"},
                            "Where they come from."),
                integer_flag("draws", 64, 1, 1'000'000, "timestamps", "Drawn by each request.")},
      .no_protocol = "draws timestamps; it runs no transactions",
      .latency_sample = 100,
      .verify = true,
      .durability = "",
      .make = make,
  };
  return command;
}

}  // namespace granary::bench::hekaton
