// Agrees in rounds on how far the logs count. A round belongs to certain lives of the nodes, and what a node says in it
// counts for these lives alone. A node that comes back may have lost what the others took for granted, such as its
// rings, if its machine was restarted. Then all look at their logs again, since these may have changed as well. So each
// node has one state in a round, and all nodes that hear of it agree on the same.

#include "src/node/recover_across_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "recovery/cluster_cut.h"
#include "cluster_config/membership/life.h"
#include "recovery/manifest.h"
#include "src/base/notice.h"
#include "src/node/recover_directories.h"
#include "src/db/storage.h"

namespace granary::db {
namespace {

using membership::Configuration;
using membership::Generation;
using membership::Member;
using membership::NodeId;
using nlohmann::json;
using recovery::NodeLogState;
using Clock = std::chrono::steady_clock;
using Lives = std::vector<Generation>;  ///< the life of each node, in the order of the nodes

/// The statement of a node at the board.
struct Said {
  Lives lives;  ///< the lives to which the round belongs
  NodeLogState log;
  bool served = false;  ///< whether the cluster has served with the data of its directory
  bool there = true;    ///< whether its data are there, or it has no directory, or it salvages without them
  bool done = false;    ///< whether its log is ended as all agreed
};

std::string to_text(const Said& said) {
  return json{{"lives", said.lives},
              {"log", recovery::to_text(said.log)},
              {"served", said.served},
              {"there", said.there},
              {"done", said.done}}
      .dump();
}

std::optional<Said> said_by(const Member& member) {
  const json object = json::parse(member.note, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  const auto lives = object.find("lives"), log = object.find("log");
  if (lives == object.end() || !lives->is_array() || log == object.end() || !log->is_string()) return std::nullopt;
  for (const char* const flag : {"served", "there", "done"}) {
    if (!object.contains(flag) || !object[flag].is_boolean()) return std::nullopt;
  }
  const auto state = recovery::log_state_of(log->get_ref<const std::string&>());
  if (!state.ok()) return std::nullopt;
  Said said{.lives = {}, .log = *state, .served = object["served"], .there = object["there"], .done = object["done"]};
  for (const json& life : *lives) {
    if (!life.is_number_unsigned()) return std::nullopt;
    said.lives.push_back(life.get<Generation>());
  }
  return said;
}

std::vector<NodeLogState> logs_of(const std::vector<Said>& all) {
  std::vector<NodeLogState> logs;
  for (const Said& said : all) logs.push_back(said.log);
  return logs;
}

class AcrossHosts {
 public:
  AcrossHosts(membership::Membership& membership, std::span<const NodeId> nodes, const OwnDirectory& own,
              std::uint64_t timeout_ms, base::FileSystem& files, std::chrono::milliseconds tells_every)
      : membership_(membership),
        nodes_(nodes),
        own_(own.options),
        served_(own.served),
        timeout_(timeout_ms),
        tells_every_(tells_every),
        files_(files) {}

  Result<epoch::Epoch> run() {
    for (;;) {
      const auto decided = round();
      if (!decided.ok()) return decided.status();
      if (*decided != 0) return *decided;
    }
  }

 private:
  Result<NodeLogState> look_at_own();
  Status check_present(const std::vector<Said>& all) const;
  Status end_own(const std::vector<NodeLogState>& logs);
  Result<epoch::Epoch> round();
  Status open();
  std::optional<Lives> lives_in(const Configuration& now) const;
  Result<bool> await_all(const Lives& lives, bool done, std::vector<Said>& all);
  void tell_silent(const std::vector<NodeId>& silent, bool done, Clock::time_point since) const;
  template <typename Decide, typename Watch>
  Result<bool> await(const Decide& decide, const Watch& watch);

  membership::Membership& membership_;
  const std::span<const NodeId> nodes_;
  const Options& own_;
  const bool served_;
  const std::chrono::milliseconds timeout_;
  const std::chrono::milliseconds tells_every_;
  base::FileSystem& files_;
  std::unique_ptr<Storage> storage_;  ///< open, and so locked, from the look at an unended log until that is ended
  bool there_ = true;                 ///< Said::there
};

/// Returns the state of this node's log. Only a log without an end has to be read for that.
Result<NodeLogState> AcrossHosts::look_at_own() {
  storage_.reset();
  there_ = true;
  if (own_.directory.empty()) return NodeLogState();
  const auto manifest = recovery::read_manifest(files_, own_.directory);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound) {
    there_ = own_.salvage;
    return NodeLogState();
  }
  if (!manifest.ok()) return manifest.status();
  NodeLogState state = recovery::state_of(*manifest, {}, recovery::greatest_epoch(*manifest) + 1, 0);
  if (!state.running) return state;
  if (const Status opened = open(); !opened.ok()) return opened;
  return storage_->recovery().log_state();
}

Status AcrossHosts::open() {
  auto storage = Storage::open(own_, files_, {.recovers_all = true});
  if (!storage.ok()) return storage.status();
  storage_ = std::move(*storage);
  return {};
}

Status AcrossHosts::end_own(const std::vector<NodeLogState>& logs) {
  const auto own = std::find(nodes_.begin(), nodes_.end(), membership_.node()) - nodes_.begin();
  const recovery::NodeLogEnd end = recovery::agree_on_ends(logs)[static_cast<std::size_t>(own)];
  if (!end.needed) return {};
  if (storage_ == nullptr) {
    if (const Status opened = open(); !opened.ok()) return opened;
  }
  const Status ended = storage_->end(end.cut, recovery::first_epoch_after(logs));
  if (!ended.ok()) return ended;
  for (const std::string& note : storage_->recovery().report().notes)
    base::tell(own_.notices, {.topic = NoticeTopic::kRecovery, .text = note, .node = membership_.node()});
  storage_.reset();
  return {};
}

/// Returns the lives of all nodes; nothing unless all of them live.
std::optional<Lives> AcrossHosts::lives_in(const Configuration& now) const {
  Lives lives;
  for (const NodeId node : nodes_) {
    if (!now.lives(node)) return std::nullopt;
    lives.push_back(now.find(node)->generation);
  }
  return lives;
}

/// Waits until all nodes have said something in the round of these lives, or, if `done`, that they are done. Returns
/// false once a node lives another life: then the round decides nothing.
Result<bool> AcrossHosts::await_all(const Lives& lives, bool done, std::vector<Said>& all) {
  const auto word_of = [&](const Member& member) {
    std::optional<Said> said = said_by(member);
    const bool counts = said && said->lives == lives && (said->done || !done);
    return counts ? std::move(said) : std::nullopt;
  };
  const auto since = Clock::now();
  auto tells = since + tells_every_;
  const auto watch = [&](const Configuration& now) {
    if (Clock::now() < tells) return;
    tells = Clock::now() + tells_every_;
    std::vector<NodeId> silent;
    for (const NodeId node : nodes_) {
      const Member& member = *now.find(node);
      if (member.live() && !word_of(member)) silent.push_back(node);
    }
    if (!silent.empty()) tell_silent(silent, done, since);
  };
  const auto decide = [&](const Configuration& now) -> std::optional<bool> {
    all.clear();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Member* const member = now.find(nodes_[i]);
      if (member == nullptr || member->generation != lives[i]) return false;
      if (auto said = word_of(*member); said && member->live()) all.push_back(std::move(*said));
    }
    return all.size() == nodes_.size() ? std::optional(true) : std::nullopt;
  };
  return await(decide, watch);
}

/// Tells for which nodes this one waits. They live, so it goes on to wait: a long log takes its time.
void AcrossHosts::tell_silent(const std::vector<NodeId>& silent, bool done, Clock::time_point since) const {
  const auto waited_s = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since).count();
  base::tell(own_.notices,
             {.severity = NoticeSeverity::kWarning,
              .topic = NoticeTopic::kRecovery,
              .text = fmt::format("no node opens its data before all have said {}, and these have not, for {} s: {}. "
                                  "Each has a long log, or a disk that is slow or does not answer; look there",
                                  done ? "that they have ended their logs as agreed" : "how far their logs count",
                                  waited_s, fmt::join(silent, ", ")),
              .node = membership_.node()});
}

/// Returns an error if the cluster has served with data and a node has none. It has if any directory says so, or the
/// configuration: all directories may be empty, as on hosts that have started without their volumes.
Status AcrossHosts::check_present(const std::vector<Said>& all) const {
  const auto now = membership_.configuration();
  const bool known = std::ranges::any_of(nodes_, [&now](NodeId node) {
    const Member* const member = now->find(node);
    return member != nullptr && member->has_data;
  });
  if (!known && std::ranges::none_of(all, &Said::served)) return {};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].there) return membership::lost_data(fmt::format("the directory of node {}", nodes_[i]));
  }
  return {};
}

/// Takes part in one round. Returns where E may begin; 0 if the round has decided nothing.
Result<epoch::Epoch> AcrossHosts::round() {
  Lives lives;
  const auto there = await(
      [&](const Configuration& now) -> std::optional<bool> {
        const std::optional<Lives> all = lives_in(now);
        if (!all) return std::nullopt;
        lives = *all;
        return true;
      },
      [](const Configuration&) {});
  if (!there.ok()) return there.status();
  const auto own = look_at_own();
  if (!own.ok()) return own.status();
  Said mine{.lives = lives, .log = *own, .served = served_, .there = there_};
  if (const Status told = membership_.say(to_text(mine)); !told.ok()) return told;
  std::vector<Said> all;
  auto same = await_all(lives, /*done=*/false, all);
  if (!same.ok()) return same.status();
  if (!*same) return epoch::Epoch{0};
  if (const Status present = check_present(all); !present.ok()) return present;
  const std::vector<NodeLogState> logs = logs_of(all);
  if (const auto lacks = recovery::short_of_released(logs); lacks && !own_.salvage)
    return recovery::lost_released(logs, *lacks, fmt::format("node {}", nodes_[*lacks]));
  if (const Status ended = end_own(logs); !ended.ok()) return ended;
  mine.done = true;
  if (const Status told = membership_.say(to_text(mine)); !told.ok()) return told;
  same = await_all(lives, /*done=*/true, all);
  if (!same.ok()) return same.status();
  return *same ? recovery::first_epoch_after(logs_of(all)) : epoch::Epoch{0};
}

/// Waits until `decide(configuration)` returns a decision, and shows `watch` each configuration that is not one.
template <typename Decide, typename Watch>
Result<bool> AcrossHosts::await(const Decide& decide, const Watch& watch) {
  constexpr std::uint64_t kStep_us = 100'000;
  for (auto end = Clock::now() + timeout_;;) {
    if (const Status status = membership_.status(); !status.ok()) return status;
    const auto now = membership_.configuration();
    if (const std::optional<bool> decided = decide(*now)) return *decided;
    const std::vector<NodeId> missing = now->missing(nodes_);
    if (missing.empty()) end = Clock::now() + timeout_;
    if (Clock::now() > end) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("after {} ms these nodes are not there, without which nobody knows how far the logs of "
                                "the cluster count: {}; start them, or raise start_timeout_ms",
                                timeout_.count(), fmt::join(missing, ", ")));
    }
    watch(*now);
    membership_.step(kStep_us);
  }
}

}  // namespace

Result<epoch::Epoch> recover_across_hosts(membership::Membership& membership, std::span<const NodeId> nodes,
                                          const OwnDirectory& own, std::uint64_t timeout_ms, base::FileSystem& files,
                                          std::chrono::milliseconds tells_every) {
  return AcrossHosts(membership, nodes, own, timeout_ms, files, tells_every).run();
}

}  // namespace granary::db
