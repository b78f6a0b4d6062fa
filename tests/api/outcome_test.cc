// The names that tables, JSON and messages show: present, distinct, lower case; and which aborts a retry can mend.

#include <granary/outcome.h>

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace granary {
namespace {

constexpr int kOutcomes = static_cast<int>(Outcome::kBusy) + 1;

bool is_identifier(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!(c >= 'a' && c <= 'z') && c != '_') return false;
  }
  return true;
}

TEST(Outcome, EveryOutcomeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kOutcomes; ++i) {
    const std::string_view text = name(static_cast<Outcome>(i));
    EXPECT_TRUE(is_identifier(text)) << i << " '" << text << "'";
    EXPECT_TRUE(names.insert(text).second) << text << " is used twice";
  }
  EXPECT_EQ(name(Outcome::kNotFound), "not_found");
}

TEST(AbortReason, EveryReasonHasItsOwnNameAndASentence) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kAbortReasons; ++i) {
    const auto reason = static_cast<AbortReason>(i);
    EXPECT_TRUE(is_identifier(name(reason))) << i << " '" << name(reason) << "'";
    EXPECT_TRUE(names.insert(name(reason)).second) << name(reason) << " is used twice";
    EXPECT_GT(meaning(reason).size(), name(reason).size()) << name(reason);
  }
  EXPECT_EQ(name(AbortReason::kReadChanged), "read_changed");
}

TEST(AbortReason, OnlyConflictsAreRetried) {
  EXPECT_FALSE(is_retryable(AbortReason::kNone));
  EXPECT_FALSE(is_retryable(AbortReason::kUser));
  EXPECT_FALSE(is_retryable(AbortReason::kOutOfMemory));
  EXPECT_FALSE(is_retryable(AbortReason::kBuffersUsedUp));
  EXPECT_FALSE(is_retryable(AbortReason::kUniqueViolation));
  EXPECT_FALSE(is_retryable(AbortReason::kEpochsUsedUp));
  for (const AbortReason reason :
       {AbortReason::kReadChanged, AbortReason::kReadLocked, AbortReason::kNodeChanged, AbortReason::kWriteLocked,
        AbortReason::kRecordBusy, AbortReason::kRecordReplaced, AbortReason::kTidsUsedUp, AbortReason::kRemotelyLocked,
        AbortReason::kNodeRecovering}) {
    EXPECT_TRUE(is_retryable(reason)) << name(reason);
  }
}

}  // namespace
}  // namespace granary
