#include "cluster_config/membership/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "cluster_config/membership/member_text.h"
#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::membership {

Membership::Membership(std::unique_ptr<PatientBoard> board, MembershipOptions options, Listener listener)
    : options_(std::move(options)),
      listener_(std::move(listener)),
      patient_(*board),
      document_(std::move(board), [this](Configuration configuration) { publish(std::move(configuration)); }),
      board_(document_.board()),
      silence_(board_.name(), options_.node),
      configuration_(std::make_shared<Configuration>()) {}

Membership::~Membership() { fence_.close(); }

Status Membership::change(std::uint64_t version, std::vector<Member> members) {
  return document_.amend([&](Configuration& configuration) -> Status {
    if (configuration.version != version && !base::injected("change-any-version")) {
      return Status(StatusCode::kFailedPrecondition,
                    fmt::format("the configuration has version {}, not {}", configuration.version, version));
    }
    configuration.members = members;
    if (configuration_of(to_text(configuration)).ok()) return {};
    return Status(StatusCode::kInvalidArgument,
                  "the members are not in the order of their ids, or one has no generation");
  });
}

Status Membership::change_own(const std::function<void(Member&)>& edit) {
  return document_.amend([&](Configuration& configuration) -> Status {
    if (Status lost = check_own(configuration); !lost.ok()) return lost;
    edit(*configuration.find(options_.node));
    return {};
  });
}

Status Membership::set_own_state(MemberState state) {
  return change_own([state](Member& own) { own.state = state; });
}

Status Membership::be_ready() {
  const PatientBoard::Patience patience(patient_);
  return set_own_state(MemberState::kReady);
}

Status Membership::serve(FunctionRef<Status(const Configuration&)> may) {
  const PatientBoard::Patience patience(patient_);
  return document_.amend([this, may](Configuration& configuration) -> Status {
    if (Status lost = check_own(configuration); !lost.ok()) return lost;
    Member& own = *configuration.find(options_.node);
    if (own.state == MemberState::kServing) return {};  // an earlier turn has made the change
    if (Status refused = may(configuration); !refused.ok()) return refused;
    own.state = MemberState::kServing;
    own.has_data = !options_.data_place.empty();
    own.data_life = own.generation;
    std::erase_if(configuration.owed, [this](const Owed& debt) {
      const bool known = options_.nodes.empty() || std::ranges::find(options_.nodes, debt.node) != options_.nodes.end();
      return debt.node == options_.node || !known;
    });
    return {};
  });
}

Status Membership::be_quiet(const Quiet& quiet) {
  return change_own([&quiet](Member& own) {
    if (own.quiet.number <= quiet.number) own.quiet = quiet;
  });
}

Status Membership::say(const std::string& note) {
  if (note.size() > kMostNoteBytes) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("a member's note of {} bytes: at most {}", note.size(), kMostNoteBytes));
  }
  return change_own([&note](Member& own) { own.note = note; });
}

void Membership::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return;
    fence_.close();
    status_ = Status(StatusCode::kMembershipLost, fmt::format("left the cluster at generation {}", generation_));
    stopped_ = told_lost_ = true;  // the node has ended it by itself, so it is no loss
  }
  changed_.notify_all();
}

Status Membership::leave() { return end_as(MemberState::kLeft); }
Status Membership::die() { return end_as(MemberState::kDead); }
Status Membership::die(const std::string& why) {
  if (!lose(why, /*by_itself=*/true)) return status();
  board_.wake();  // step() tells the listener
  const Status said = end_as(MemberState::kDead);
  // A board that does not answer must not keep the others from counting this node as dead. Some boards can take the
  // mark away all the same.
  if (said.code() == StatusCode::kUnavailable) static_cast<void>(document_.unmark());
  return said;
}

/// Ends the membership. If the board does not answer for long, the thread that steps tries further (tell_end()). If the
/// end cannot be told for another reason, such as a full disk, the mark goes all the same: as long as it is there, the
/// others take the node for one that lives.
Status Membership::end_as(MemberState state) {
  stop();
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) return status_;
  }
  constexpr std::uint64_t kPatience_us = 3'000'000;  // a board that is slow to answer is no reason to seem dead
  const std::uint64_t until_us = lifetime_us() + kPatience_us;
  UntoldEnd end{.state = state};
  Status status = try_to_end(end);
  while (status.code() == StatusCode::kUnavailable && lifetime_us() < until_us) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // board's wait() belongs to step()
    status = try_to_end(end);
  }
  const bool answered = status.code() != StatusCode::kUnavailable;
  const Status unmarked = answered ? document_.unmark() : status;
  if (unmarked.code() == StatusCode::kUnavailable) {
    const std::lock_guard lock(mutex_);
    untold_end_ = end;
  }
  if (answered) return status.ok() ? unmarked : status;
  return Status(StatusCode::kUnavailable,
                fmt::format("node {} has ended, and could not tell the others that it leaves; they count it as dead "
                            "when its mark is gone: {}",
                            options_.node, status.message()));
}

/// Notes the end of this life in the configuration. An attempt whose answer was lost may have changed that, which the
/// next attempt finds then. Only this life says of itself that it has left. If it ends as dead, it makes no difference
/// whether it or another member has said so.
Status Membership::try_to_end(UntoldEnd& end) {
  return document_.amend([this, &end](Configuration& configuration) -> Status {
    if (end.tried && has_ended_as(configuration, *end.tried)) return {};
    if (Status lost = check_own(configuration); !lost.ok()) return lost;
    const bool took_over = visits_ || !configuration.owes(options_.node);
    end.tried = took_over ? end.state : MemberState::kDead;
    configuration.find(options_.node)->state = *end.tried;
    return {};
  });
}

/// Tries once more to tell the others of an end that the board gave no answer to, and to take the mark away. While the
/// process lives, its mark does. So without this the others would take the node for one that lives, and wait for it,
/// when the board answers again.
void Membership::tell_end() {
  std::optional<UntoldEnd> end;
  {
    const std::lock_guard lock(mutex_);
    end = untold_end_;
  }
  if (!end || base::injected("end-is-told-once")) return;
  bool again = try_to_end(*end).code() == StatusCode::kUnavailable;
  if (!again) again = document_.unmark().code() == StatusCode::kUnavailable;
  const std::lock_guard lock(mutex_);
  untold_end_ = again ? end : std::nullopt;
}

bool Membership::has_told_end() const {
  const std::lock_guard lock(mutex_);
  return !untold_end_;
}

void Membership::step(std::uint64_t most_us) {
  board_.wait(std::min(most_us, board_.pulse_us()));
  if (!status().ok()) {
    tell();
    return tell_end();
  }
  const Status followed = document_.amend([this](Configuration& configuration) { return follow(configuration); });
  const bool for_good = followed.code() == StatusCode::kMembershipLost || followed.code() == StatusCode::kDamaged;
  if (for_good) {
    lose(followed.message());
  } else if (const auto warning = silence_.note(followed, fence_)) {
    listener_.warn(*warning);
  }
  tell();
}

/// Follows a configuration that was read: checks whether this node is still in it, and notes who has died. The marks
/// are read after the configuration. So a member that is in the configuration and has no mark had one and has lost it.
Status Membership::follow(Configuration& configuration) {
  const Result<Marks> marks = board_.marks();
  if (!marks.ok()) return marks.status();
  if (Status lost = check_own(configuration); !lost.ok()) return lost;
  for (Member& member : configuration.members) {
    if (member.live() && missing_marks_.is_over(member, *marks, board_.fence_lasts_us()))
      member.state = MemberState::kDead;
  }
  extend(marks->own_valid_until_us);
  return {};
}

void Membership::extend(std::uint64_t valid_until_us) {
  const std::lock_guard lock(mutex_);
  if (status_.ok()) fence_.extend(valid_until_us);
}

Status Membership::check_own(const Configuration& configuration) const {
  const auto lost = [](std::string why) { return Status(StatusCode::kMembershipLost, std::move(why)); };
  if (configuration.version == 0) return lost(board_.name() + " was wiped");
  if (configuration.cluster_id != cluster_id_) {
    return lost(fmt::format("{} has another cluster's configuration, with the id {:016x}", board_.name(),
                            configuration.cluster_id));
  }
  const Member* const own = configuration.find(options_.node);
  if (own == nullptr) return lost("the configuration does not have this node");
  if (own->generation != generation_) return lost(fmt::format("it runs elsewhere, at generation {}", own->generation));
  if (!own->live()) return lost(fmt::format("other members count it as {}", name(own->state)));
  return {};
}

bool Membership::has_ended_as(const Configuration& configuration, MemberState state) const {
  const Member* const own = configuration.find(options_.node);
  return configuration.cluster_id == cluster_id_ && own != nullptr && own->generation == generation_ &&
         own->state == state;
}

/// Publishes a configuration. The fence moves first, then callers get the configuration, and at last step() tells the
/// listener.
void Membership::publish(Configuration configuration) {
  {
    const std::lock_guard lock(mutex_);
    if (configuration.version <= configuration_->version) return;
    base::invariant("I11", fence_.number() <= configuration.number);
    if (status_.ok() && !base::injected("fence-moves-late")) fence_.move(configuration.number);
    living_.follow(configuration);
    configuration_ = std::make_shared<const Configuration>(std::move(configuration));
  }
  changed_.notify_all();
  board_.wake();
}

/// Ends the membership as lost. Returns false if it is over already.
bool Membership::lose(const std::string& why, bool by_itself) {
  {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return false;
    if (!base::injected("fence-stays-open")) fence_.close();
    const std::string_view how = by_itself ? "gave up" : "lost";
    status_ =
        Status(StatusCode::kMembershipLost, fmt::format("{} membership at generation {}: {}", how, generation_, why));
    stopped_ = by_itself;
  }
  changed_.notify_all();
  return true;
}

void Membership::tell() {
  const std::shared_ptr<const Configuration> newest = configuration();
  if (newest->version > told_version_) {
    told_version_ = newest->version;
    base::debug_invariant("I11", [&] {
      const std::uint64_t number = fence_.number();
      return number == Fence::kClosed || number >= newest->number;
    });
    listener_.changed(*newest);
    if (base::injected("fence-moves-late")) fence_.move(newest->number);
  }
  std::unique_lock lock(mutex_);
  if (status_.ok() || std::exchange(told_lost_, true)) return;
  const Status why = status_;
  base::debug_invariant("I11", [&] { return fence_.number() == Fence::kClosed; });
  lock.unlock();
  listener_.lost(why);
}

std::shared_ptr<const Configuration> Membership::configuration() const {
  const std::lock_guard lock(mutex_);
  return configuration_;
}

Status Membership::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

bool Membership::wait_until(const std::function<bool(const Configuration&)>& holds, std::uint64_t timeout_us) const {
  std::unique_lock lock(mutex_);
  const auto done = [&] { return !status_.ok() || holds(*configuration_); };
  return changed_.wait_for(lock, std::chrono::microseconds(timeout_us), done) && status_.ok();
}

}  // namespace granary::membership
