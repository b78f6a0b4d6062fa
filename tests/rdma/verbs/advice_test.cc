// Every error that a device can report has a message of its own. Not covered: devices that really report them.

#include "rdma/verbs/advice.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <set>

#include <gtest/gtest.h>

namespace granary::rdma::verbs {
namespace {

TEST(CompletionAdvice, HasASentenceForEachStatus) {
  std::set<std::string> sentences;
  for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
    const std::string advice = completion_advice(status);
    EXPECT_GE(advice.size(), 8u);
    EXPECT_TRUE(sentences.insert(advice).second) << "twice: " << advice;
  }
}

TEST(CompletionAdvice, SaysWhatToDoOfWhatANetworkCanDo) {
  EXPECT_NE(completion_advice(IBV_WC_RETRY_EXC_ERR).find("check the network"), std::string::npos);
  EXPECT_NE(completion_advice(IBV_WC_REM_ACCESS_ERR).find("connect again"), std::string::npos);
  EXPECT_NE(completion_advice(IBV_WC_WR_FLUSH_ERR).find("connect again"), std::string::npos);
  EXPECT_NE(completion_advice(IBV_WC_LOC_PROT_ERR).find("report it"), std::string::npos);
}

TEST(RegistrationError, TellsTheMemoryLockLimitFromALackOfMemory) {
  const Status limit = registration_error(ENOMEM, 1 << 30, 0, 8 << 20);
  EXPECT_EQ(limit.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(limit.message().find("8388608"), std::string::npos) << limit.message();
  EXPECT_NE(limit.message().find("ulimit -l"), std::string::npos) << limit.message();
  const Status memory = registration_error(ENOMEM, 1 << 20, 1 << 30, ~std::uint64_t{0});
  EXPECT_EQ(memory.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(memory.message().find("ulimit"), std::string::npos) << memory.message();
  EXPECT_EQ(registration_error(EINVAL, 1, 1, 1).code(), StatusCode::kUnavailable);
}

/// The limit holds for all that is locked, so a small region may be the one too many.
TEST(RegistrationError, CountsTheRegionsThatAreRegistered) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const Status limit = registration_error(ENOMEM, 140 * kMiB, 1024 * kMiB, 1126 * kMiB);
  EXPECT_NE(limit.message().find("ulimit -l"), std::string::npos) << limit.message();
  EXPECT_NE(limit.message().find("beside others of 1073741824 bytes"), std::string::npos) << limit.message();
}

}  // namespace
}  // namespace granary::rdma::verbs
