#pragma once
// A node that sees the directory of another one, which has died.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <granary/database.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/memory_board.h"
#include "src/node/recoverer.h"
#include "tests/support/temporary_directory.h"

namespace granary::db {

/// Node 2 has died, and node 1 sees its directory.
class RecovererTest : public testing::Test {
 protected:
  using Configuration = membership::Configuration;
  using Membership = membership::Membership;

  static constexpr membership::NodeId kOwn = 1, kDead = 2;

  RecovererTest() {
    place_->set_valid_until(membership::lifetime_us() + kLong_us);
    own_ = Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(kOwn), {}).value();
    other_ = Membership::join(std::make_unique<membership::MemoryBoard>(place_), member_options(kDead), {}).value();
    EXPECT_TRUE(own_->serve().ok());
    EXPECT_TRUE(other_->serve().ok());
    dead_.directory = directory_.path();
    EXPECT_TRUE(Database::open(dead_).ok()) << "its data";
    place_->remove_mark(kDead);
    own_->step(0);
    EXPECT_TRUE(now().owes(kDead));
  }

  static membership::MembershipOptions member_options(membership::NodeId id) {
    return {.node = id, .cluster = "bank", .fingerprint = 1, .address = "here"};
  }
  Configuration now() {
    own_->step(0);
    return *own_->configuration();
  }
  void be_quiet() { EXPECT_TRUE(own_->be_quiet({.number = now().number, .epoch = 1}).ok()); }
  Recoverer recoverer() {
    return Recoverer(
        {.membership = *own_,
         .files = base::system_files(),
         .directory_of = [this](membership::NodeId) { return sees_ ? std::optional(dead_) : std::nullopt; },
         .remembered = [this](membership::NodeId) -> Result<membership::Generation> { return remembered_; },
         .settle = [this](std::span<const log::Debt>,
                          const std::function<bool()>& may_act) -> Result<cluster::SettleCounts> {
           ++settles_;
           meanwhile_();
           if (!may_act()) return Status(StatusCode::kUnavailable, "it may not act");
           acted_ = true;
           return settled_;
         },
         .epoch = [] { return epoch::Epoch{10}; },
         .tell = [this](NoticeSeverity, std::string text) { told_.push_back(std::move(text)); },
         .recoveries = recoveries_});
  }

  static constexpr std::uint64_t kLong_us = 60'000'000;
  const tests::TemporaryDirectory directory_;
  const std::shared_ptr<membership::MemoryPlace> place_ = std::make_shared<membership::MemoryPlace>();
  std::unique_ptr<Membership> own_, other_;
  Options dead_;
  membership::Generation remembered_ = 1;
  bool sees_ = true, acted_ = false;
  int settles_ = 0;
  std::function<void()> meanwhile_ = [] {};
  cluster::SettleCounts settled_;
  Recoveries recoveries_;
  std::vector<std::string> told_;
};

}  // namespace granary::db
