// A round is of certain lives of the nodes. What a node says that it has done counts for the round's lives alone: one that comes back
// may have lost what the others took for granted (its rings, if its machine was restarted), and all look again.

#include "src/db/cluster/recover_across_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "recovery/cluster_cut.h"
#include "recovery/manifest.h"
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
using Lives = std::vector<Generation>;  ///< by node

/// What a node says.
struct Said {
  NodeLogState log;
  Lives done_with{};  ///< its log is ended as these lives agreed on; empty: not yet
};

std::string to_text(const Said& said) {
  return json{{"log", recovery::to_text(said.log)}, {"done_with", said.done_with}}.dump();
}

std::optional<Said> said_by(const Member& member) {
  const json object = json::parse(member.note, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("log") || !object["log"].is_string() || !object.contains("done_with") ||
      !object["done_with"].is_array()) {
    return std::nullopt;
  }
  const auto log = recovery::log_state_of(object["log"].get_ref<const std::string&>());
  if (!log.ok()) return std::nullopt;
  Said said{.log = *log};
  for (const json& life : object["done_with"]) {
    if (!life.is_number_unsigned()) return std::nullopt;
    said.done_with.push_back(life.get<Generation>());
  }
  return said;
}

/// What all said in a round.
struct Heard {
  Lives lives;
  std::vector<NodeLogState> logs;
};

class AcrossHosts {
 public:
  AcrossHosts(membership::Membership& membership, std::span<const NodeId> nodes, const Options& own,
              std::uint64_t timeout_ms, base::FileSystem& files)
      : membership_(membership),
        nodes_(nodes),
        own_(own),
        timeout_(timeout_ms),
        files_(files) {}

  Result<epoch::Epoch> run() {
    for (;;) {
      auto log = look_at_own();
      if (!log.ok()) return log.status();
      if (const Status told = membership_.say(to_text({*log})); !told.ok()) return told;
      Heard heard;
      const auto all =
          await([&](const Configuration& now) { return hear(now, heard) ? std::optional(true) : std::nullopt; });
      if (!all.ok()) return all.status();
      if (const Status ended = end_own(heard); !ended.ok()) return ended;
      if (const Status told = membership_.say(to_text({*log, heard.lives})); !told.ok()) return told;
      const auto same = await([&](const Configuration& now) { return all_done(now, heard.lives); });
      if (!same.ok()) return same.status();
      if (*same) return recovery::first_epoch_after(heard.logs);
    }
  }

 private:
  Result<NodeLogState> look_at_own();
  Status end_own(const Heard& heard);
  Status open();
  bool hear(const Configuration& now, Heard& heard) const;
  std::optional<bool> all_done(const Configuration& now, const Lives& lives) const;
  std::string missing(const Configuration& now) const;
  template <typename Decide>
  Result<bool> await(const Decide& decide);

  membership::Membership& membership_;
  const std::span<const NodeId> nodes_;
  const Options& own_;
  const std::chrono::milliseconds timeout_;
  base::FileSystem& files_;
  std::unique_ptr<Storage> storage_;  ///< open, and locked, while it is of use
};

/// Only a log without an end has to be read for that.
Result<NodeLogState> AcrossHosts::look_at_own() {
  storage_.reset();
  if (own_.directory.empty()) return NodeLogState();
  const auto manifest = recovery::read_manifest(files_, own_.directory);
  if (!manifest.ok()) {
    if (manifest.status().code() == StatusCode::kNotFound) return NodeLogState();
    return manifest.status();
  }
  NodeLogState state = recovery::state_of(*manifest, 0, false, recovery::greatest_epoch(*manifest) + 1);
  if (!state.running) return state;
  if (const Status opened = open(); !opened.ok()) return opened;
  return storage_->log_state();
}

Status AcrossHosts::open() {
  auto storage = Storage::open(own_, files_);
  if (!storage.ok()) return storage.status();
  storage_ = std::move(*storage);
  return {};
}

Status AcrossHosts::end_own(const Heard& heard) {
  const auto own = std::find(nodes_.begin(), nodes_.end(), membership_.node()) - nodes_.begin();
  const recovery::NodeLogEnd end = recovery::agree_on_ends(heard.logs)[static_cast<std::size_t>(own)];
  if (!end.needed) return {};
  if (storage_ == nullptr) {
    if (const Status opened = open(); !opened.ok()) return opened;
  }
  const Status ended = storage_->end(end.cut, recovery::first_epoch_after(heard.logs));
  if (!ended.ok()) return ended;
  for (const std::string& note : storage_->report().notes) std::fprintf(stderr, "granary: %s\n", note.c_str());
  storage_.reset();
  return {};
}

/// Whether all are there and have said what their logs hold.
bool AcrossHosts::hear(const Configuration& now, Heard& heard) const {
  heard = {};
  for (const NodeId node : nodes_) {
    const Member* const member = now.find(node);
    const std::optional<Said> said = member != nullptr && member->live() ? said_by(*member) : std::nullopt;
    if (!said) return false;
    heard.lives.push_back(member->generation);
    heard.logs.push_back(said->log);
  }
  return true;
}

/// False once a node lives another life: then this round decides nothing.
std::optional<bool> AcrossHosts::all_done(const Configuration& now, const Lives& lives) const {
  bool all = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Member* const member = now.find(nodes_[i]);
    if (member == nullptr || member->generation != lives[i]) return false;
    const std::optional<Said> said = said_by(*member);
    all &= member->live() && said && said->done_with == lives;
  }
  return all ? std::optional(true) : std::nullopt;
}

std::string AcrossHosts::missing(const Configuration& now) const {
  std::string names;
  for (const NodeId node : nodes_) {
    const Member* const member = now.find(node);
    if (member == nullptr || !member->live()) names += fmt::format("{}{}", names.empty() ? "" : ", ", node);
  }
  return names;
}

/// Until `decide(configuration)` does.
template <typename Decide>
Result<bool> AcrossHosts::await(const Decide& decide) {
  constexpr std::uint64_t kStep_us = 100'000;
  for (auto end = Clock::now() + timeout_;;) {
    if (const Status status = membership_.status(); !status.ok()) return status;
    const auto now = membership_.configuration();
    if (const std::optional<bool> decided = decide(*now)) return *decided;
    const std::string names = missing(*now);
    if (names.empty()) end = Clock::now() + timeout_;
    if (Clock::now() > end) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("after {} ms these nodes are not there, without which nobody knows how far the logs of "
                                "the cluster count: {}; start them, or raise start_timeout_ms",
                                timeout_.count(), names));
    }
    membership_.step(kStep_us);
  }
}

}  // namespace

Result<epoch::Epoch> recover_across_hosts(membership::Membership& membership, std::span<const NodeId> nodes,
                                          const Options& own, std::uint64_t timeout_ms, base::FileSystem& files) {
  return AcrossHosts(membership, nodes, own, timeout_ms, files).run();
}

}  // namespace granary::db
