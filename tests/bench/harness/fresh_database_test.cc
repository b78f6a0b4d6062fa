// Messages about options, as who has given flags reads them.

#include "bench/harness/fresh_database.h"

#include <gtest/gtest.h>

namespace granary::bench {
namespace {

TEST(FreshDatabase, NamesFlagsInThePlaceOfOptions) {
  for (const auto& [of_library, of_benchmark] :
       {std::pair("Options::htm is kSim, the simulated HTM", "--htm is sim, the simulated HTM"),
        std::pair("Options::htm is kRtm, but", "--htm is rtm, but"),
        std::pair("log_reserve_bytes asks for 5 bytes", "--log_reserve asks for 5 bytes"),
        std::pair("Options::loggers is 0", "--loggers is 0"),
        std::pair("Options::log_segment_bytes is 1", "Options::log_segment_bytes is 1"),
        std::pair("a disk is full", "a disk is full")}) {
    const Status told = in_flags({StatusCode::kUnavailable, of_library});
    EXPECT_EQ(told.message(), of_benchmark);
    EXPECT_EQ(told.code(), StatusCode::kUnavailable);
  }
}

TEST(FreshDatabase, NamesKeysOfTheFileInThePlaceOfANodesOptions) {
  for (const auto& [of_library, of_benchmark] :
       {std::pair("its memory limit of 5 bytes (Options::memory_limit_bytes)",
                  "its memory limit of 5 bytes ('memory' of the cluster's file)"),
        std::pair("Options::log_directories names 'x'", "'log_directories' of the cluster's file names 'x'"),
        std::pair("longer (ClusterOptions::start_timeout_ms)", "longer (--start_timeout)"),
        std::pair("Options::protocol is 'silo' here", "--protocol is 'silo' here"),
        std::pair("a disk is full", "a disk is full")}) {
    const Status told = in_flags_of_node({StatusCode::kUnavailable, of_library});
    EXPECT_EQ(told.message(), of_benchmark);
    EXPECT_EQ(told.code(), StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace granary::bench
