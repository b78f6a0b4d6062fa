// Against real ptp4l daemons, which between_namespaces.sh starts; skipped without them. They run freely, so that they
// steer nobody's clock; hence the slave's port never gets beyond UNCALIBRATED, which is refused as it should be.

#include <chrono>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/clock/ptp_source.h"
#include "src/base/tsc_clock.h"

namespace granary::cluster_config::clock {
namespace {

class Ptp4l : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("GRANARY_PTP_SOCKET") == nullptr) GTEST_SKIP() << "run by between_namespaces.sh";
    options_.socket = std::getenv("GRANARY_PTP_SOCKET");
    options_.grandmaster = std::getenv("GRANARY_PTP_GRANDMASTER");
    options_.max_error_us = 1'000'000;
  }
  /// What the source says once it has an answer.
  Bound answered() {
    const std::unique_ptr<PtpSource> source = std::move(*PtpSource::open(options_));
    Bound bound;
    for (int i = 0; i < 500; ++i) {
      bound = source->bound(base::monotonic_ns() / 1000);
      if (bound.delta_us || bound.cause.find("does not answer") == std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return bound;
  }

  PtpOptions options_;
};

TEST_F(Ptp4l, TheGrandmasterHasABound) {
  const Bound bound = answered();
  EXPECT_TRUE(bound.delta_us) << bound.cause;
  options_.grandmaster = "ffffff.ffff.ffffff";
  EXPECT_FALSE(answered().delta_us);
}

TEST_F(Ptp4l, ASlaveThatDoesNotSteerIsRefused) {
  const Bound bound = answered();
  EXPECT_FALSE(bound.delta_us);
  EXPECT_THAT(bound.cause, testing::HasSubstr("port 1 is UNCALIBRATED"));
}

TEST_F(Ptp4l, ADeadOneIsRefused) {
  const Bound bound = answered();
  EXPECT_FALSE(bound.delta_us);
  EXPECT_THAT(bound.cause, testing::HasSubstr("cannot be reached"));
}

}  // namespace
}  // namespace granary::cluster_config::clock
