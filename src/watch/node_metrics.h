#pragma once
// A node's report as metrics for Prometheus. docs/monitoring.md lists them, and a test compares.

#include <string>

#include "src/watch/node_report.h"

namespace granary::watch {

/// The media type of the text.
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

std::string metrics_of(const NodeReport& report);

}  // namespace granary::watch
