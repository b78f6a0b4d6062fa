// READs between two doctors: over another provider, as CI has no devices outside its virtual machines, and what the two
// say to each other.

#include "src/cli/doctor/rdma_reads.h"

#include <string>

#include <gmock/gmock.h>

#include "rdma/shm/shm_fabric.h"
#include "tests/support/temporary_directory.h"

namespace granary::doctor {
namespace {

using testing::HasSubstr;

ReadEnd open_end(rdma::NodeId node, const std::string& directory) {
  auto region = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff, .shared = true}).value();
  auto fabric = rdma::shm::open_shm_fabric({.node = {.node = node}, .run_directory = directory}).value();
  EXPECT_TRUE(fabric->register_region({.id = 1}, *region).ok());
  EXPECT_TRUE(fabric->listen().ok());
  return {std::move(region), std::move(fabric)};
}

TEST(RdmaReads, EachIsTimed) {
  const tests::TemporaryDirectory directory;
  const ReadEnd read = open_end(kRead, directory.path()), reader = open_end(kReader, directory.path());
  read.region->base()[0] = 'r';
  const auto times = time_reads(reader, 10);
  ASSERT_TRUE(times.ok()) << times.status().message();
  EXPECT_EQ(times->size(), 10u);
  for (const double us : *times) EXPECT_GT(us, 0);
  EXPECT_EQ(reader.region->base()[0], 'r');
}

TEST(RdmaReads, APeerThatDoesNotAnswerIsTold) {
  const tests::TemporaryDirectory directory;
  const ReadEnd reader = open_end(kReader, directory.path());
  EXPECT_EQ(time_reads(reader, 10).status().code(), StatusCode::kUnavailable);
}

TEST(ReadPlaces, AreReadAsTheyWereWritten) {
  const auto line = [](const Result<ReadPlace>& place) {
    const std::string text = line_of(place);
    EXPECT_EQ(text.back(), '\n');
    EXPECT_LE(text.size(), 256u);
    return text.substr(0, text.size() - 1);
  };
  const auto place = read_place_of(line(ReadPlace{"fe80::1", 18'522}));
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->address, "fe80::1");
  EXPECT_EQ(place->service, 18'522);
  const auto none = read_place_of(line(Status(StatusCode::kUnavailable, "no device\nat all")));
  EXPECT_EQ(none.status().message(), "no device at all");
  EXPECT_FALSE(read_place_of(line(Status(StatusCode::kUnavailable, std::string(1000, 'x')))).ok());
  for (const char* wrong : {"", "page", "page ", "page 10.0.0.1", "page 10.0.0.1 0", "page 10.0.0.1 70000",
                            "page 10.0.0.1 1x", "page  1", "no page: \x1b[2J", "other 10.0.0.1 1"})
    EXPECT_FALSE(read_place_of(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace granary::doctor
