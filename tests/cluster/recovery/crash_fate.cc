// How lives of a CrashWorld end, and how nodes come back.

#include <algorithm>
#include <filesystem>
#include <utility>

#include "recovery/manifest.h"
#include "src/node/prepare_directories.h"
#include "tests/cluster/recovery/crash_world.h"
#include "tests/cluster/recovery/host_files.h"

namespace granary::cluster::test {

using membership::Configuration;
using membership::Member;
using membership::MemberState;
using membership::NodeId;

/// The node dies at once, or in the middle of what it begins now.
void CrashWorld::die_soon(const LifePtr& life) {
  const auto die = [this, life] {
    if (life->condemned || !may_die(life->node)) return;
    ++deaths_;
    condemn(life->node);
  };
  if (random_.chance(0.5)) return die();
  cluster_.scheduler.spawn([this, die] {
    pause(60);
    die();
  });
}

/// Meanwhile others meet what the fiber holds.
void CrashWorld::pause_until_dead(const Life& life) {
  for (unsigned turns = 0; turns < 500 && !life.dead; ++turns) cluster_.scheduler.yield();
}

/// From now on the others may take the node for dead; its fence has shut before. Its process ends at once, or goes on
/// for a while.
void CrashWorld::condemn(unsigned id) {
  const LifePtr life = lives_[id];
  life->condemned = true;
  life->membership->stop();
  place_->remove_mark(static_cast<NodeId>(id));
  if (random_.chance(0.5)) return end_process(id);
  cluster_.scheduler.spawn([this, id] {
    pause(random_.chance(0.5) ? 100 : 1'500);
    end_process(id);
  });
}

void CrashWorld::end_process(unsigned id) {
  lives_[id]->dead = true;
  ++ended_;
  std::vector<NodeId> others = ids();
  std::erase(others, static_cast<NodeId>(id));
  cluster_.network.partition({static_cast<NodeId>(id)}, others);
  keep_what_is_left(id);
  cluster_.scheduler.spawn([this, id] { come_back(id); });
}

/// The disk and the rings stay as they are now, whatever fibers of this life still do to theirs. Now and then the disk
/// has lost what was not synced, and the rings are there all the same, so nothing that has committed may be missing.
void CrashWorld::keep_what_is_left(unsigned id) {
  if (random_.chance(0.3)) {
    ++counts_.lost_at_death;
    lose_unsynced(id);
  } else {
    replace_disk(id, host_.disk(id)->process_crash_image());
  }
  const std::string rings = rings_.path() + "/" + std::to_string(id);
  if (!std::filesystem::exists(rings)) return;
  const std::string former = rings + "-" + std::to_string(ended_);
  std::filesystem::rename(rings, former);
  std::filesystem::copy(former, rings, std::filesystem::copy_options::recursive);
  std::filesystem::permissions(rings, std::filesystem::perms::owner_all);
}

void CrashWorld::lose_unsynced(unsigned id) {
  replace_disk(id, host_.disk(id)->power_loss_image(tests::Survives::kRandom, random_.next()));
}

/// Files of the former disk that are still open go on to that disk, where nobody sees what is written to them.
void CrashWorld::replace_disk(unsigned id, std::unique_ptr<tests::FaultFiles> image) {
  image->pass_through(rings_.path());
  former_disks_.push_back(std::exchange(host_.disk(id), std::move(image)));
}

/// The life has put the rings of dead nodes into their logs, which from now on are to hold that without the rings.
void CrashWorld::lose_unsynced_of_adopted(const Life& recoverer) {
  for (const membership::Owed& debt : recoverer.membership->configuration()->owed) {
    const bool adopted = debt.phase == membership::RecoveryPhase::kAdopting && debt.claimed_by == recoverer.node &&
                         debt.claimed_generation == recoverer.membership->generation();
    if (!adopted || !random_.chance(0.3)) continue;
    ++counts_.lost_when_adopted;
    lose_unsynced(debt.node);
  }
}

/// The node is started again, as ClusterNode is: begins, and waits for what it has to wait for.
void CrashWorld::come_back(unsigned id) {
  pause(2'000);
  const LifePtr former = lives_[id];
  while (lives_[id] == former) {
    if (!await("a dead life does not end", [&] { return former->fibers == 0; })) return;
    join(id);
    pause(40);
    if (over_) return;
  }
  const LifePtr life = lives_[id];
  spawn(life, [this, life] {
    if (!prepare_return(*life)) return;
    for (const LifePtr& other : lives_) {
      if (other->dead || other == life) continue;
      cluster_.network.heal_link(static_cast<NodeId>(life->node), static_cast<NodeId>(other->node));
      cluster_.network.heal_link(static_cast<NodeId>(other->node), static_cast<NodeId>(life->node));
    }
    cluster_.next_life(life->node, life->membership->generation());
    open(life);
    if (!take_from_others(*life)) return;
    ++counts_.returned;
    begin_to_serve(life);
  });
}

/// Waits until nothing is owed and the others are quiet and have logged what they did before; then its database can be
/// opened.
bool CrashWorld::prepare_return(Life& life) {
  const std::uint64_t began = life.membership->configuration()->number;
  std::shared_ptr<const Configuration> found;
  const auto id = static_cast<NodeId>(life.node);
  const auto quiet = [&] {
    found = life.membership->configuration();
    return life.condemned || db::may_return(*found, id, began);
  };
  if (!await("a node cannot come back", quiet) || life.condemned) return false;
  db::ClusterPart& part = parts_[life.node];
  part = {.node = life.node, .life = life.membership->generation(), .others_elsewhere = true};
  const auto manifest = recovery::read_manifest(*host_.disk(life.node), HostFiles::path(life.node));
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  part.first_epoch = std::max(db::first_epoch_of_return(*found, engine_options(life.node).snapshot_epochs),
                              recovery::greatest_epoch(*manifest) + 1);
  up_to_[life.node].clear();
  for (const NodeId other : ids()) {
    if (other != id) up_to_[life.node][other] = db::counts_up_to(*found, other);
  }
  return true;
}

bool CrashWorld::take_from_others(Life& life) {
  db::Engine& engine = node(life).database().engine();
  for (const auto& [other, up_to] : up_to_[life.node]) {
    pause(50);
    if (!goes_on(life)) return false;
    const Status taken = engine.take_from(*host_.disk(other), {.directory = HostFiles::path(other), .up_to = up_to});
    if (!taken.ok()) note_wrong(taken.message());
  }
  if (const Status all = engine.have_all(); !all.ok()) note_wrong(all.message());
  return goes_on(life);
}

bool CrashWorld::all_serve() const {
  return std::ranges::all_of(lives_, [](const LifePtr& life) {
    return life->serves && !life->condemned && life->membership->configuration()->owed.empty();
  });
}

/// Whether another one is left that serves.
bool CrashWorld::may_die(unsigned id) const {
  const bool left = std::ranges::any_of(
      lives_, [id](const LifePtr& life) { return life->node != id && life->serves && !life->condemned; });
  return left && !lives_[id]->condemned;
}

/// At any moment, or at one that is rare.
void CrashWorld::kill_somebody() {
  constexpr std::string_view kRare[] = {"across.locked",    "across.deciding",       "across.logged",
                                        "across.logged",    "recovery.opened",       "recovery.settled",
                                        "recovery.adopted", "old_versions.borrowed", "version_copy.linked"};
  const unsigned deaths = deaths_ + 1;
  if (random_.chance(0.75)) deadly_point_ = kRare[random_.below(std::size(kRare))];
  pause(300);
  (void)await("nobody can die", [&] {
    const auto id = static_cast<unsigned>(random_.below(options_.nodes));
    const bool waits = !deadly_point_.empty() && !random_.chance(0.0004);
    if (deaths_ < deaths && !waits && may_die(id)) {
      ++deaths_;
      condemn(id);
    }
    return deaths_ >= deaths;
  });
  deadly_point_.clear();
}

void CrashWorld::fate() {
  if (!await("the cluster does not begin", [this] { return all_serve(); })) return;
  while (deaths_ < options_.deaths && !over_) {
    pause(options_.most_between);
    kill_somebody();
  }
  if (!await("not all come back", [this] { return all_serve(); })) return;
  pause(1'000);
  enough_ = true;
  if (!await("clients do not end", [this] { return clients_ == 0; })) return;
  read_all();
  expect_all_free();
  const auto released = [this] {
    return std::ranges::all_of(
        lives_, [this](const LifePtr& life) { return node(*life).database().released_epoch() >= last_commit_; });
  };
  (void)await("not everything is released", released);
}

}  // namespace granary::cluster::test
