// A worker's process is killed at any moment: its ring holds every entry whose publication it had reported, whole and
// in order, and at most one more.

#include <cstring>

#include <gtest/gtest.h>

#include "src/log/ring.h"
#include "tests/support/crash_child.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::log {
namespace {

constexpr std::size_t kEntryBytes = 96;

void publish_for_ever(const std::string& path, const tests::CrashChild::Report& report) {
  auto ring = Ring::create(path, {}, std::uint64_t{1} << 22);
  for (std::uint64_t number = 0; (*ring)->has_room(kEntryBytes); ++number) {
    std::memset((*ring)->at_tail(), static_cast<int>(number), kEntryBytes);
    std::memcpy((*ring)->at_tail(), &number, sizeof number);
    (*ring)->publish(kEntryBytes);
    report(std::to_string(number));
  }
}

TEST(RingKill, WhatWasPublishedSurvivesTheProcess) {
  for (std::uint64_t round = 0; round < tests::scaled(30); ++round) {
    const tests::TemporaryDirectory directory;
    const std::string path = directory / "ring-0000";
    tests::CrashChild child([&](const auto& report) { publish_for_ever(path, report); });
    child.run_for(std::chrono::microseconds(round * 150));
    child.kill();
    const auto ring = Ring::open(path, {});
    if (!ring.ok()) {
      EXPECT_EQ(ring.status().code(), StatusCode::kNotFound) << ring.status().message();
      EXPECT_TRUE(child.lines().empty());
      continue;
    }
    const std::string_view entries = (*ring)->pending();
    ASSERT_EQ(entries.size() % kEntryBytes, 0u);
    const std::size_t count = entries.size() / kEntryBytes;
    EXPECT_TRUE(count == child.lines().size() || count == child.lines().size() + 1)
        << count << " entries, " << child.lines().size() << " reported";
    for (std::uint64_t number = 0; number < count; ++number) {
      std::string expected(kEntryBytes, static_cast<char>(number));
      std::memcpy(expected.data(), &number, sizeof number);
      ASSERT_EQ(entries.substr(number * kEntryBytes, kEntryBytes), expected) << number;
    }
  }
}

}  // namespace
}  // namespace granary::log
