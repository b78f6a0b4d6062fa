// The order of a commit's steps (src/cc/commit.h), told by participants that only note what they are asked.

#include <string>

#include <gtest/gtest.h>

#include "src/cc/commit.h"
#include "src/cc/elsewhere/elsewhere.h"
#include "src/memory/region.h"

namespace granary::cc {
namespace {

/// Notes what the participants were asked, in this order, and names the step that shall fail, if one shall.
struct Story {
  std::string told;
  std::string_view failing = {};

  AbortReason step(std::string_view name) {
    told.append(told.empty() ? "" : " ").append(name);
    return name == failing ? AbortReason::kUser : AbortReason::kNone;
  }
};

template <bool kFirst>
struct ToldHere {
  static constexpr bool kWrites = true;
  static constexpr bool kStampsFirst = kFirst;
  static constexpr CommitPoints points(bool) { return {}; }

  Story& story;
  TidWord chosen = 0;

  AbortReason lock() { return story.step("lock"); }
  AbortReason validate(epoch::Epoch) { return story.step("validate"); }
  AbortReason stamp(epoch::Epoch epoch, TidWord) {
    chosen = record::make_tid(epoch, 1);
    return story.step("stamp");
  }
  TidWord read_time() const { return chosen; }
  TidWord tid() const { return chosen; }
  AbortReason prepare(epoch::Epoch) { return story.step("prepare"); }
  AbortReason install(Decision& decision) {
    decision.publish();
    return story.step("install");
  }
  void release() { static_cast<void>(story.step("release")); }
};

struct ToldElsewhere : Nowhere {
  explicit ToldElsewhere(Story& told) : story(&told) {}
  Story* story;

  AbortReason agree(epoch::Epoch&, TidWord) { return story->step("there.agree"); }
  AbortReason validate(TidWord) { return story->step("there.validate"); }
  AbortReason prepare(epoch::Epoch) { return story->step("there.prepare"); }
  void write_back(TidWord) { static_cast<void>(story->step("there.write_back")); }
};

struct ToldRight {
  Story& story;
  AbortReason refused() const { return story.step("right"); }
};

template <bool kStampsFirst>
std::string order(std::string_view failing = {}) {
  const auto region =
      memory::Region::map({.reserve_bytes = std::uint64_t{64} << 20, .huge_pages = HugePages::kOff}).value();
  memory::SlabPool slabs(*region, {.limit_bytes = 0});
  epoch::EpochManager epochs(epoch::EpochOptions{});
  base::ThreadWaiter waiter;
  DatabaseState shared{.settings = {}, .epochs = epochs, .slabs = slabs, .waiter = waiter};
  WorkerState worker(shared);
  const std::vector<WriteEntry> none;
  Story story{.told = {}, .failing = failing};
  ToldHere<kStampsFirst> here{.story = story};
  ToldElsewhere there(story);
  const ToldRight right{story};
  const CommitOutcome outcome = take_steps(here, there, {none}, worker, right);
  EXPECT_EQ(failed(outcome.reason), !failing.empty());
  return story.told;
}

TEST(CommitOrder, StampsBehindTheLastWait) {
  EXPECT_EQ(order<false>(),
            "lock there.agree there.validate validate there.prepare stamp prepare right install there.write_back");
}

TEST(CommitOrder, OfAProtocolThatValidatesAgainstItsStamp) {
  EXPECT_EQ(order<true>(),
            "lock there.agree stamp there.validate validate there.prepare prepare right install there.write_back");
}

TEST(CommitOrder, GivesBackWhatWasTakenWhereAStepFails) {
  EXPECT_EQ(order<false>("lock"), "lock");
  EXPECT_EQ(order<false>("validate"), "lock there.agree there.validate validate release");
  EXPECT_EQ(order<true>("stamp"), "lock there.agree stamp release");
  EXPECT_EQ(order<false>("right"),
            "lock there.agree there.validate validate there.prepare stamp prepare right release");
}

}  // namespace
}  // namespace granary::cc
