// How nodes that do not see each other's directories agree at a board how far their logs count, when one comes back
// with less meanwhile, or without data.

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/durability/cluster_rig.h"

namespace granary::tests {
namespace {

using OnSeveralHosts = ClusterRecovery;
INSTANTIATE_TEST_SUITE_P(Hosts, OnSeveralHosts, testing::Values(Hosts::kSeveral),
                         [](const auto&) { return "Several"; });

/// What node 1 says in the test's hand.
void say(membership::Membership& member, const recovery::NodeLogState& log, const std::string& lives, bool done,
         bool served = false) {
  std::string text = recovery::to_text(log);
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  ASSERT_TRUE(member
                  .say("{\"lives\": [" + lives + "], \"log\": \"" + text + "\", \"there\": true, \"served\": " +
                       (served ? "true" : "false") + ", \"done\": " + (done ? "true}" : "false}"))
                  .ok());
}
/// Whether another node says so soon.
bool hears(membership::Membership& member, membership::NodeId node, std::string_view text) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    member.step(1000);
    const membership::Member* const found = member.configuration()->find(node);
    if (found != nullptr && found->note.find(text) != std::string::npos) return true;
  }
  return false;
}

/// Node 0 has saved its rings when node 1 comes back without its own: what all have agreed on then counts.
TEST_P(OnSeveralHosts, ANodeThatComesBackWithLessTakesAllBack) {
  die_with_a_node_behind();
  place_ = std::make_shared<membership::MemoryPlace>();
  std::thread own([this] { EXPECT_TRUE(recover_own(*join(0), 2).ok()); });
  recovery::NodeLogState log{.running = recovery::NodeLogState::Running{.durable = 2, .rings = true}, .first_epoch = 9};
  Member other = join(1);
  say(*other, log, "1,1", false);
  EXPECT_TRUE(hears(*other, 0, "\"done\":true,\"lives\":[1,1]"));
  EXPECT_FALSE(manifest(0).generations.front().agreed);
  other.reset();
  other = join(1);
  say(*other, log, "1,1", true);  // of a round that is over
  EXPECT_TRUE(hears(*other, 0, "\"lives\":[1,2]"));
  for (int i = 0; i < 300; ++i) other->step(1000);
  log.running->rings = false;
  say(*other, log, "1,2", false);
  EXPECT_TRUE(hears(*other, 0, "\"done\":true,\"lives\":[1,2]"));
  say(*other, log, "1,2", true);
  own.join();
  EXPECT_TRUE(manifest(0).generations.front().agreed);
  EXPECT_EQ(manifest(0).generations.front().cut, 2u);
}

/// Node 0's directory is empty, as if it was not mounted.
TEST_P(OnSeveralHosts, ANodeWhoseDataAreGoneIsNamed) {
  for (const bool served : {false, true}) {
    place_ = std::make_shared<membership::MemoryPlace>();
    Status found;
    std::thread own([&] {
      const membership::NodeId both[] = {0, 1};
      const Member member = join(0);
      const auto begin = db::recover_across_hosts(*member, both, {.options = options(0)}, 60'000, base::system_files());
      found = begin.status();
    });
    const recovery::NodeLogState log{.over = 20, .first_epoch = 90};
    const Member other = join(1);
    say(*other, log, "1,1", false, served);
    if (!served) {
      EXPECT_TRUE(hears(*other, 0, "\"done\":true,\"lives\":[1,1]")) << "a new cluster";
      say(*other, log, "1,1", true, served);
    }
    own.join();
    EXPECT_EQ(found.code(), served ? StatusCode::kDamaged : StatusCode::kOk);
    EXPECT_EQ(found.message().find("the directory of node 0"), served ? 0u : std::string::npos) << found.message();
  }
}

/// A node that lives is waited for without end, since its log may be long; so it is named.
TEST_P(OnSeveralHosts, ANodeThatDoesNotSayHowFarItsLogCountsIsNamed) {
  place_ = std::make_shared<membership::MemoryPlace>();
  std::mutex mutex;
  std::vector<std::string> told;
  const auto count_told = [&](std::string_view text) {
    const std::lock_guard lock(mutex);
    return std::ranges::count_if(told, [&](const std::string& one) {
      return one.find(text) != std::string::npos && one.find(" s: 1. Each has") != std::string::npos;
    });
  };
  Options quiet = options(0);
  quiet.notices = [&](const Notice& notice) {
    const std::lock_guard lock(mutex);
    told.push_back(notice.text);
  };
  std::thread own([&] {
    const membership::NodeId both[] = {0, 1};
    const Member member = join(0);
    EXPECT_TRUE(db::recover_across_hosts(*member, both, {.options = quiet}, 60'000, base::system_files(),
                                         std::chrono::milliseconds(50))
                    .ok());
  });
  const recovery::NodeLogState log{.over = 20, .first_epoch = 90};
  const Member other = join(1);
  const auto waits_for_word = [&](std::string_view word) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
         count_told(word) < 2 && std::chrono::steady_clock::now() < end;)
      other->step(1000);
    EXPECT_GE(count_told(word), 2) << word;
  };
  waits_for_word("how far their logs count, and these have not");
  say(*other, log, "1,1", false);
  waits_for_word("as agreed, and these have not");
  say(*other, log, "1,1", true);
  own.join();
}

/// Hosts that start without their volumes: only the configuration knows that there were data.
TEST_P(OnSeveralHosts, AClusterWhoseDataAreAllGoneDoesNotBeginAnew) {
  for (const bool salvage : {false, true}) {
    place_ = std::make_shared<membership::MemoryPlace>();
    for (const membership::NodeId node : {0, 1}) {
      membership::MembershipOptions own{.node = node, .cluster = "c", .data_place = "/srv/data", .finds_data = true};
      auto member = membership::Membership::join(std::make_unique<membership::MemoryBoard>(place_), own, {});
      ASSERT_TRUE(member.ok() && (*member)->serve().ok() && (*member)->leave().ok());
    }
    std::array<Status, 2> found;
    std::atomic<int> ended{0};
    std::vector<std::thread> threads;
    for (const std::uint32_t node : {0u, 1u}) {
      threads.emplace_back([&, node] {
        const membership::NodeId both[] = {0, 1};
        const Member member = join(node);
        Options own = options(node);
        own.salvage = salvage;
        found[node] = db::recover_across_hosts(*member, both, {.options = own}, 60'000, base::system_files()).status();
        ++ended;
        while (ended < 2) std::this_thread::yield();  // neither leaves while the other one looks
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& one : found) {
      EXPECT_EQ(one.code(), salvage ? StatusCode::kOk : StatusCode::kDamaged) << one.message();
      EXPECT_EQ(one.message().find("the directory of node 0 holds no data"), salvage ? std::string::npos : 0u);
    }
  }
}

}  // namespace
}  // namespace granary::tests
