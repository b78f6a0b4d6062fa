// Calls at other nodes that are longer than a message: they are refused before anything is done, and whoever calls is
// told so.

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

#include <granary/cluster.h>
#include <granary/limits.h>
#include <gmock/gmock.h>

#include "tests/node/local_cluster.h"

namespace granary {
namespace {

using Longest = std::array<char, kMaxCallBytes>;
using TooLong = std::array<char, 300'000>;
struct Empty {
  char unused = 0;
};

/// Calls from node 1 at node 2. What the procedures have done is counted at node 2.
class LongCalls : public testing::Test {
 protected:
  void run(const std::function<void(ClusterWorker&)>& body) {
    const tests::ClusterFile file(2);
    tests::on_each_node(file, 2, [&](Cluster& cluster) {
      add_procedures(cluster.procedures());
      const Status started = cluster.start();
      ASSERT_TRUE(started.ok()) << started.message();
      const auto worker = cluster.register_worker().value();
      if (cluster.node() == 1) body(*worker);
      ASSERT_TRUE(cluster.barrier().ok());
    });
  }
  void add_procedures(Procedures& procedures) {
    const auto long_reply = [this](Transaction&, const Empty&, Longest& reply) {
      ++ran_;
      reply.back() = 'z';
    };
    const auto too_long_reply = [this](Transaction&, const Empty&, TooLong&) { ++ran_; };
    const auto any_arguments = [this](Transaction&, const auto& args, char& last) {
      ++ran_;
      last = args.back();
    };
    const auto throws = [](Transaction&, const Empty&, Empty&) { throw std::runtime_error(std::string(300'000, 'w')); };
    EXPECT_TRUE((procedures.add<Empty, Longest>("long reply", long_reply).ok()));
    EXPECT_TRUE((procedures.add<Empty, TooLong>("too long reply", too_long_reply).ok()));
    EXPECT_TRUE((procedures.add<Longest, char>("long arguments", any_arguments).ok()));
    EXPECT_TRUE((procedures.add<std::array<char, kMaxCallBytes - 1>, char>("a", any_arguments).ok()));
    EXPECT_TRUE((procedures.add<Empty, Empty>("throws at length", throws).ok()));
  }

  std::atomic<int> ran_ = 0;
};

TEST_F(LongCalls, ThoseOfTheGreatestLengthRun) {
  run([&](ClusterWorker& worker) {
    std::string reply;
    const auto done = worker.call(2, "long reply", std::string_view("\0", 1), reply);
    ASSERT_TRUE(done.ok()) << done.status().message();
    EXPECT_EQ(reply.size(), kMaxCallBytes);
    EXPECT_EQ(reply.back(), 'z');
    std::string args(kMaxCallBytes - 1, 'a');
    args.back() = 'y';
    const auto named = worker.call(2, "a", args, reply);
    ASSERT_TRUE(named.ok()) << named.status().message();
    EXPECT_EQ(reply, "y");
    EXPECT_EQ(ran_, 2);
  });
}

TEST_F(LongCalls, AProcedureWhoseReplyFitsIntoNoMessageDoesNotRun) {
  run([&](ClusterWorker& worker) {
    std::string reply;
    const Status refused = worker.call(2, "too long reply", std::string_view("\0", 1), reply).status();
    EXPECT_EQ(ran_, 0);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), testing::HasSubstr("'too long reply' has a reply of 300000 bytes"));
    EXPECT_THAT(refused.message(), testing::HasSubstr("261120 at most"));
    EXPECT_TRUE(worker.call(1, "too long reply", std::string_view("\0", 1), reply).ok()) << "here it needs no message";
    EXPECT_EQ(ran_, 1);
  });
}

TEST_F(LongCalls, ArgumentsThatFitIntoNoMessageAreNotSent) {
  run([&](ClusterWorker& worker) {
    std::string reply;
    const std::string args(kMaxCallBytes, 'a');
    for (const std::string_view name : {"long arguments", "a"}) {
      const Status refused = worker.call(2, name, args, reply).status();
      EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(refused.message(), testing::HasSubstr("name and arguments have " +
                                                        std::to_string(name.size() + args.size()) + " bytes"));
      EXPECT_THAT(refused.message(), testing::HasSubstr("261120 at most"));
    }
    EXPECT_EQ(ran_, 0);
    EXPECT_TRUE(worker.call(1, "long arguments", args, reply).ok()) << "here they need no message";
    EXPECT_EQ(ran_, 1);
  });
}

TEST_F(LongCalls, TheBeginningOfALongErrorIsTold) {
  run([](ClusterWorker& worker) {
    std::string reply;
    const Status thrown = worker.call(2, "throws at length", std::string_view("\0", 1), reply).status();
    EXPECT_EQ(thrown.code(), StatusCode::kFailedPrecondition) << thrown.message();
    EXPECT_THAT(thrown.message(), testing::HasSubstr("'throws at length' threw an exception: wwwwwwww"));
    EXPECT_LT(thrown.message().size(), 10'000u);
  });
}

}  // namespace
}  // namespace granary
