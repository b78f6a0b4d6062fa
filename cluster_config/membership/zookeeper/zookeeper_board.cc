#include "cluster_config/membership/zookeeper/zookeeper_board.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "cluster_config/membership/zookeeper/session.h"
#include "src/base/test_hooks.h"

namespace granary::membership {
namespace {

/// Returns "host example process 4711 (127.0.0.1:7000)".
std::string this_process(const std::string& who) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return fmt::format("process {} on host {} ({})", ::getpid(), host.data(), who);
}

bool is_path(std::string_view root) {
  return root.size() > 1 && root.starts_with('/') && !root.ends_with('/') && root.find("//") == root.npos;
}

class ZookeeperBoard final : public Board {
 public:
  ZookeeperBoard(std::unique_ptr<Session> session, const ZookeeperOptions& options)
      : session_(std::move(session)),
        options_(options),
        root_(options.root),
        document_(root_ + "/configuration"),
        members_(root_ + "/members") {}

  std::string name() const override { return fmt::format("ZooKeeper at '{}' below '{}'", options_.servers, root_); }

  Status mark(NodeId id, const std::string& who) override;
  Status unmark() override;
  Result<Marks> marks() override;
  Result<Document> read() override;
  Result<bool> replace(std::uint64_t version, const std::string& text) override;

  void wait(std::uint64_t timeout_us) override { session_->wait(timeout_us); }
  void wake() override { session_->wake(); }
  /// Allows for servers that end a session a little late. They may have granted another time-out than was asked for.
  std::uint64_t linger_us() const override { return session_->timeout_us() * 3 / 2; }
  std::uint64_t fence_lasts_us() const override { return session_->timeout_us() / 2; }
  std::uint64_t pulse_us() const override { return session_->timeout_us() / 6; }

 private:
  Status make_root();
  Status make(const std::string& path, Session::Access access);
  Status confirm_mark();
  Status look_anew();
  Result<bool> try_replace(std::uint64_t version, const std::string& text);
  const std::unique_ptr<Session> session_;
  const ZookeeperOptions options_;
  const std::string root_;
  const std::string document_;
  const std::string members_;
  std::string mark_;                ///< the path of this process's mark; empty if it has none
  std::string mark_text_;           ///< the text of the mark
  std::uint64_t confirmed_us_ = 0;  ///< when the last write of the mark that a quorum has committed was sent
  /// Since when the session has reached no server, or when it was last compared with a new session; 0: it reaches one.
  std::uint64_t cut_off_us_ = 0;
};

/// Makes the node unless it is there. ZooKeeper checks first whether this user may create nodes below the parent. So a
/// refusal does not say that the node is missing: an administrator may have made it below a node that is closed.
Status ZookeeperBoard::make(const std::string& path, Session::Access access) {
  Status made = session_->create(path, "", Session::Kind::kPersistent, access);
  if (made.code() == StatusCode::kAlreadyExists) return {};
  if (made.code() != StatusCode::kFailedPrecondition) return made;
  const Result<bool> there = session_->exists(path);
  if (!there.ok()) return there.status();
  if (*there) return {};
  const std::string user = options_.digest.empty() ? "world:anyone, as no user is configured"
                                                   : fmt::format("the digest user '{}'",
                                                                 options_.digest.substr(0, options_.digest.find(':')));
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format("ZooKeeper at '{}': there is no '{}', and this node may not create it: make '{}' there, with "
                  "the permissions cdrwa for {}",
                  options_.servers, path, root_, user));
}

Status ZookeeperBoard::make_root() {
  for (std::size_t end = root_.find('/', 1);; end = root_.find('/', end + 1)) {
    const bool whole = end == std::string::npos;
    const Status made = make(root_.substr(0, end), whole ? Session::Access::kOwn : Session::Access::kAll);
    if (!made.ok()) return made;
    if (whole) break;
  }
  if (!options_.digest.empty()) {
    const Result<bool> open = session_->open_to_all(root_);
    if (!open.ok()) return open.status();
    if (*open) {
      return Status(
          StatusCode::kFailedPrecondition,
          fmt::format(
              "a user and password are configured, but all may change '{}' at ZooKeeper '{}': remove it there, or "
              "choose another root",
              root_, options_.servers));
    }
  }
  return make(members_, Session::Access::kOwn);
}

Status ZookeeperBoard::mark(NodeId id, const std::string& who) {
  const std::string mark = fmt::format("{}/{}", members_, id);
  const std::string text = this_process(who);
  const std::uint64_t end = lifetime_us() + linger_us();
  while (true) {
    Status made = make_root();
    if (made.ok()) made = session_->create(mark, text, Session::Kind::kEphemeral, Session::Access::kOwn);
    if (made.code() == StatusCode::kAlreadyExists) {
      const Result<Session::Node> there = session_->get(mark);
      if (there.ok() && there->owner == session_->id()) made = {};  // made when the connection was lost
      if (there.ok() && there->owner != session_->id()) {
        made = Status(
            StatusCode::kAlreadyExists,
            fmt::format(
                "node {} is a member already: {}, session {:x} at ZooKeeper '{}'; give this node another id, or end "
                "that one",
                id, there->text, there->owner, options_.servers));
      }
    }
    if (made.ok()) {
      mark_ = mark;
      mark_text_ = text;
      return {};
    }
    const bool may_change = made.code() == StatusCode::kAlreadyExists || made.code() == StatusCode::kUnavailable;
    const std::uint64_t now = lifetime_us();
    if (!may_change || now >= end || options_.give_up()) return made;
    session_->wait(std::min({end - now, pulse_us(), kGiveUpLook_us}));
  }
}

/// Removes the mark. An earlier call may have done so without an answer, and since then the node's next life may have
/// made a mark of the same name. So only a mark of this session is removed. The server that this session is with may
/// lag behind the one that took the earlier call. So it learns first what has become of that. If the mark changes after
/// it was looked at, its version does, and it is looked at once more.
Status ZookeeperBoard::unmark() {
  while (!mark_.empty()) {
    if (Status synced = session_->sync(mark_); !synced.ok()) return synced;
    const Result<Session::Node> there = session_->get(mark_);
    if (!there.ok() && there.status().code() != StatusCode::kNotFound) return there.status();
    if (there.ok() && there->owner == session_->id()) {
      const Result<bool> removed = session_->remove(mark_, there->version);
      if (!removed.ok() && removed.status().code() != StatusCode::kNotFound) return removed.status();
      if (removed.ok() && !*removed) continue;
    }
    mark_.clear();
  }
  return {};
}

/// Has a quorum commit that the mark is there, unless a quorum did so a moment ago. If there is no answer soon, the
/// next turn asks again.
Status ZookeeperBoard::confirm_mark() {
  const std::uint64_t now = lifetime_us();
  const std::uint64_t timeout_us = session_->timeout_us();
  if (mark_.empty() || now - confirmed_us_ < timeout_us / 8) return {};
  const bool by_reading = base::injected("fence-extended-by-read");
  const Status confirmed = by_reading ? Status() : session_->confirm(mark_, mark_text_, timeout_us / 3);
  if (confirmed.ok()) confirmed_us_ = now;
  if (confirmed.code() != StatusCode::kNotFound) return confirmed;
  return Status(StatusCode::kMembershipLost, "its mark is gone from " + name());
}

Result<Marks> ZookeeperBoard::marks() {
  if (Status confirmed = confirm_mark(); !confirmed.ok()) return confirmed;
  const Result<std::vector<std::string>> names = session_->children(members_);
  const bool none = names.status().code() == StatusCode::kNotFound;
  if (!names.ok() && !none) return names.status();
  Marks marks{.nodes = {}, .own_valid_until_us = confirmed_us_ + fence_lasts_us()};
  bool own = false;
  for (const std::string& name : none ? std::vector<std::string>() : *names) {
    NodeId id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    marks.nodes.push_back(id);
    own = own || mark_ == fmt::format("{}/{}", members_, name);
  }
  if (!mark_.empty() && !own) return Status(StatusCode::kMembershipLost, "its mark is gone from " + this->name());
  return marks;
}

/// Looks by a new session whether the mark is still there, once this session has reached no server for a time-out.
/// Returns kMembershipLost if the mark is gone; otherwise OK, also if that cannot be found out.
Status ZookeeperBoard::look_anew() {
  const std::uint64_t now = lifetime_us();
  const std::uint64_t timeout_us = session_->timeout_us();
  if (cut_off_us_ == 0) cut_off_us_ = now;
  if (mark_.empty() || now - cut_off_us_ < timeout_us) return {};
  cut_off_us_ = now;
  ZookeeperOptions options = options_;
  options.connect_ms = static_cast<std::uint32_t>(timeout_us / 2000);
  const Result<std::unique_ptr<Session>> anew = Session::open(options);
  if (!anew.ok()) return {};
  const Result<Session::Node> mark = (*anew)->get(mark_);
  const bool gone = mark.ok() ? mark->owner != session_->id() : mark.status().code() == StatusCode::kNotFound;
  if (!gone) return {};
  const bool wiped = (*anew)->get(document_).status().code() == StatusCode::kNotFound;
  return Status(StatusCode::kMembershipLost,
                wiped ? name() + " was wiped: it has no configuration any more"
                      : "its mark is gone from " + name() + ", which does not accept its session any more");
}

Result<Document> ZookeeperBoard::read() {
  Result<Session::Node> node = session_->get(document_);
  if (node.status().code() == StatusCode::kUnavailable) {
    if (Status gone = look_anew(); !gone.ok()) return gone;
  } else {
    cut_off_us_ = 0;
  }
  if (!node.ok()) return node.status();
  return Document{.version = static_cast<std::uint64_t>(node->version) + 1, .text = std::move(node->text)};
}

Result<bool> ZookeeperBoard::try_replace(std::uint64_t version, const std::string& text) {
  if (version != 0) return session_->set(document_, text, static_cast<std::int32_t>(version - 1));
  const Status made = session_->create(document_, text, Session::Kind::kPersistent, Session::Access::kOwn);
  if (made.code() == StatusCode::kAlreadyExists) return false;
  if (!made.ok()) return made;
  return true;
}

/// Replaces the document. If the connection is lost, the document is read back to see whether the change was made. Two
/// nodes that made the same document of the same version may both take it for theirs, which does no harm.
Result<bool> ZookeeperBoard::replace(std::uint64_t version, const std::string& text) {
  const std::uint64_t end = lifetime_us() + linger_us();
  Result<bool> replaced = try_replace(version, text);
  while (replaced.status().code() == StatusCode::kUnavailable && lifetime_us() < end) {
    session_->wait(pulse_us());
    const Result<Document> there = read();
    const std::uint64_t found = there.ok() ? there->version : 0;
    if (there.ok() || there.status().code() == StatusCode::kNotFound) {
      if (found != version) return found == version + 1 && there->text == text;
      replaced = try_replace(version, text);
    } else if (there.status().code() != StatusCode::kUnavailable) {
      return there.status();
    }
  }
  return replaced;
}

}  // namespace

Result<std::unique_ptr<Board>> open_zookeeper_board(const ZookeeperOptions& options) {
  if (!is_path(options.root)) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("'{}' is no root for a cluster at ZooKeeper: give a path as '/granary/main'", options.root));
  }
  Result<std::unique_ptr<Session>> session = Session::open(options);
  if (!session.ok()) return session.status();
  return std::unique_ptr<Board>(std::make_unique<ZookeeperBoard>(std::move(*session), options));
}

}  // namespace granary::membership
