// Prometheus's text format: names, labels, escapes, numbers, histograms.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/watch/metric_text.h"

namespace granary::watch {
namespace {

TEST(MetricText, WritesFamilies) {
  MetricText metrics({{"node", "1"}});
  metrics.counter("granary_a_total", "Of a.").add(std::uint64_t{18446744073709551615u});
  metrics.gauge("granary_b", "Of b.").add(0.25, {{"x", "y"}}).add(-1.5, {{"x", "z"}});
  EXPECT_EQ(metrics.text(),
            "# HELP granary_a_total Of a.\n# TYPE granary_a_total counter\n"
            "granary_a_total{node=\"1\"} 18446744073709551615\n"
            "# HELP granary_b Of b.\n# TYPE granary_b gauge\n"
            "granary_b{node=\"1\",x=\"y\"} 0.25\ngranary_b{node=\"1\",x=\"z\"} -1.5\n");
}

TEST(MetricText, EscapesLabelsAndHelp) {
  MetricText metrics({});
  metrics.gauge("granary_a", "One \"line\" \\ and\nanother.").add(1.0, {{"x", "a\"b\\c\nd"}});
  EXPECT_EQ(metrics.text(),
            "# HELP granary_a One \"line\" \\\\ and\\nanother.\n# TYPE granary_a gauge\n"
            "granary_a{x=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(MetricText, WritesHistograms) {
  MetricText metrics({});
  metrics.histogram("granary_h", "Of h.", {{.most = 1e-6, .count = 1}, {.most = 0.5, .count = 3}}, 4, 1.25);
  EXPECT_EQ(metrics.text(),
            "# HELP granary_h Of h.\n# TYPE granary_h histogram\ngranary_h_bucket{le=\"1e-06\"} 1\n"
            "granary_h_bucket{le=\"0.5\"} 3\ngranary_h_bucket{le=\"+Inf\"} 4\ngranary_h_sum 1.25\ngranary_h_count 4\n");
}

TEST(MetricText, WritesNumbersThatAreNone) {
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-Inf");
}

}  // namespace
}  // namespace granary::watch
