// The choice of device, port and address, for devices of many kinds, and what is said when none fits. Not covered: what
// libibverbs tells of real devices.

#include "rdma/verbs/device.h"

#include <initializer_list>
#include <utility>

#include <gtest/gtest.h>

namespace granary::rdma::verbs {
namespace {

DeviceFacts card(std::string name) {
  return {
      .name = std::move(name),
      .trouble = {},
      .atomics = true,
      .reads_out = 16,
      .reads_in = 16,
      .queue_length = 32768,
      .completion_queue_length = 1 << 22,
      .region_bytes = ~std::uint64_t{0},
      .ports = {
          {.number = 1,
           .active = true,
           .infiniband = false,
           .message_bytes = 1u << 31,
           .gids = {
               {0, false, ""}, {1, true, ""}, {2, false, "10.0.0.1"}, {3, true, "10.0.0.1"}, {4, true, "10.1.0.1"}}}}};
}

VerbsOptions options() { return {}; }

void expect_refusal(const std::vector<DeviceFacts>& devices, const VerbsOptions& wanted, StatusCode code,
                    const std::string& part) {
  const Result<DeviceChoice> choice = choose_device(devices, wanted);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), code) << choice.status().message();
  EXPECT_NE(choice.status().message().find(part), std::string::npos) << choice.status().message();
}

TEST(ChooseDevice, TakesTheFirstThatFits) {
  DeviceFacts broken = card("mlx5_0"), iwarp = card("siw0"), down = card("mlx5_1");
  broken.trouble = "cannot be opened";
  iwarp.atomics = false;
  down.ports[0].active = false;
  const Result<DeviceChoice> choice = choose_device(std::vector{broken, iwarp, down, card("mlx5_2")}, options());
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  EXPECT_EQ(choice->device, "mlx5_2");
  EXPECT_EQ(choice->port, 1);
  EXPECT_EQ(choice->address, "10.0.0.1") << "of the first GID of RoCE version 2 with an address";
  EXPECT_EQ(choice->reads_out, 16);
  EXPECT_EQ(choice->outstanding, 128u);
  EXPECT_EQ(choice->connections, 64u);
  EXPECT_EQ(choice->operation_bytes % 8, 0u);
}

TEST(ChooseDevice, TakesTheDevicePortGidAndAddressAskedFor) {
  VerbsOptions wanted = options();
  wanted.device = "mlx5_1";
  wanted.port = 1;
  wanted.gid_index = 4;
  const Result<DeviceChoice> choice = choose_device(std::vector{card("mlx5_0"), card("mlx5_1")}, wanted);
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  EXPECT_EQ(choice->device, "mlx5_1");
  EXPECT_EQ(choice->address, "10.1.0.1");
  wanted.gid_index = -1;
  wanted.address = "10.1.0.1";
  EXPECT_TRUE(choose_device(std::vector{card("mlx5_1")}, wanted).ok());
}

TEST(ChooseDevice, AnAddressMayBeWrittenInAnyForm) {
  DeviceFacts six = card("mlx5_0");
  six.ports[0].gids.push_back({5, true, "fd00::1"});
  VerbsOptions wanted = options();
  for (const auto& [form, usual] : std::initializer_list<std::pair<const char*, const char*>>{
           {"FD00::1", "fd00::1"}, {"fd00:0:0:0::01", "fd00::1"}, {"::ffff:10.1.0.1", "10.1.0.1"}}) {
    wanted.address = form;
    const Result<DeviceChoice> choice = choose_device(std::vector{six}, wanted);
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_EQ(choice->address, usual);
  }
  wanted.address = "fd00::2";
  expect_refusal({six}, wanted, StatusCode::kUnavailable, "has not the IP address fd00::2");
}

TEST(ChooseDevice, StaysWithinTheDevicesQueues) {
  DeviceFacts small = card("small");
  small.queue_length = 40;
  small.completion_queue_length = 100;
  VerbsOptions wanted = options();
  wanted.connections = 2;
  const Result<DeviceChoice> choice = choose_device(std::vector{small}, wanted);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->outstanding, 40u);
  EXPECT_EQ(choice->connections, 2u);
}

/// Each operation has its place in the completion queue. A node that came to the limit only when it needed the last
/// connection would be told of it while it runs.
TEST(ChooseDevice, RefusesOneForTooFewConnections) {
  DeviceFacts small = card("small");
  small.completion_queue_length = 4096;
  VerbsOptions wanted = options();
  wanted.connections = 32;
  EXPECT_TRUE(choose_device(std::vector{small}, wanted).ok());
  wanted.connections = 64;
  expect_refusal({small}, wanted, StatusCode::kUnavailable,
                 "at most 4096 places (max_cqe), enough for 32 connections of 128 operations; 64 are needed");
}

TEST(ChooseDevice, SaysWhatIsInTheWay) {
  expect_refusal({}, options(), StatusCode::kUnavailable, "no RDMA device");

  VerbsOptions wanted = options();
  wanted.device = "mlx9";
  expect_refusal({card("mlx5_0"), card("mlx5_1")}, wanted, StatusCode::kNotFound, "mlx5_0, mlx5_1");

  DeviceFacts iwarp = card("siw0");
  iwarp.atomics = false;
  expect_refusal({iwarp}, options(), StatusCode::kUnavailable, "atomic_cap");

  DeviceFacts down = card("mlx5_0");
  down.ports[0].active = false;
  expect_refusal({down}, options(), StatusCode::kUnavailable, "is down");

  wanted = options();
  wanted.port = 2;
  expect_refusal({card("mlx5_0")}, wanted, StatusCode::kUnavailable, "no port 2");

  wanted = options();
  wanted.gid_index = 2;
  expect_refusal({card("mlx5_0")}, wanted, StatusCode::kUnavailable, "no GID 2 of RoCE version 2");

  wanted = options();
  wanted.address = "10.9.9.9";
  expect_refusal({card("mlx5_0")}, wanted, StatusCode::kUnavailable, "10.9.9.9");
  wanted.gid_index = 3;
  expect_refusal({card("mlx5_0")}, wanted, StatusCode::kUnavailable, "GID 3 is 10.0.0.1, not 10.9.9.9");

  DeviceFacts bare = card("mlx5_0");
  bare.ports[0].gids.resize(2);
  expect_refusal({bare}, options(), StatusCode::kUnavailable, "give its network device one");

  DeviceFacts infiniband = card("mlx5_0");
  infiniband.ports[0].infiniband = true;
  expect_refusal({infiniband}, options(), StatusCode::kUnavailable, "IPoIB");
}

TEST(ChooseDevice, RefusesOptionsOutsideTheirRange) {
  VerbsOptions wanted = options();
  wanted.outstanding = 1;
  expect_refusal({card("mlx5_0")}, wanted, StatusCode::kInvalidArgument, "outstanding is 1; it may be 2 to 4096");
  wanted = options();
  wanted.connections = 5000;
  expect_refusal({card("mlx5_0")}, wanted, StatusCode::kInvalidArgument, "connections is 5000");
}

}  // namespace
}  // namespace granary::rdma::verbs
