// Where notices go: to the sink, or on stderr as one line. What is told, and when, is tested where it is told.

#include <granary/notice.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/notice.h"

namespace granary {
namespace {

std::string printed(const NoticeSink& sink, const Notice& notice) {
  testing::internal::CaptureStderr();
  base::tell(sink, notice);
  return testing::internal::GetCapturedStderr();
}

TEST(Notices, ArePrintedWithoutASink) {
  const std::string text = "the disk is slow";
  EXPECT_EQ(printed({}, {.severity = NoticeSeverity::kInfo, .text = text}), "granary: the disk is slow\n");
  EXPECT_EQ(printed({}, {.severity = NoticeSeverity::kWarning, .text = text}), "granary: warning: the disk is slow\n");
  EXPECT_EQ(printed({}, {.severity = NoticeSeverity::kError, .text = text}), "granary: the disk is slow\n");
}

TEST(Notices, GoToTheSinkInstead) {
  std::vector<Notice> taken;
  const Notice told{.severity = NoticeSeverity::kError,
                    .topic = NoticeTopic::kPeers,
                    .text = "node 3 has been found dead",
                    .node = 3,
                    .epoch = 17};
  EXPECT_EQ(printed([&](const Notice& notice) { taken.push_back(notice); }, told), "");
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].severity, told.severity);
  EXPECT_EQ(taken[0].topic, told.topic);
  EXPECT_EQ(taken[0].text, told.text);
  EXPECT_EQ(taken[0].node, told.node);
  EXPECT_EQ(taken[0].epoch, told.epoch);
}

TEST(Notices, OfASinkThatThrowsArePrinted) {
  const NoticeSink sink = [](const Notice&) { throw std::runtime_error("the application's log is full"); };
  EXPECT_EQ(printed(sink, {.severity = NoticeSeverity::kWarning, .text = "slow"}), "granary: warning: slow\n");
}

TEST(Notices, HaveANameForEachSeverityAndTopic) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(NoticeSeverity::kError); ++i) names.insert(name(NoticeSeverity(i)));
  for (int i = 0; i <= static_cast<int>(NoticeTopic::kLogRings); ++i) names.insert(name(NoticeTopic(i)));
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(name(NoticeSeverity::kError), "error");
  EXPECT_EQ(name(NoticeTopic::kPeers), "peers");
  EXPECT_EQ(name(NoticeTopic::kChains), "chains");
  EXPECT_EQ(name(NoticeTopic::kLogRings), "log_rings");
}

}  // namespace
}  // namespace granary
