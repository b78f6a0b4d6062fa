#define THREADED  // the multi-threaded C client
#include "cluster_config/membership/zookeeper/session.h"

#include <fmt/format.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "cluster_config/membership/board.h"
#include "cluster_config/membership/lifetime.h"

namespace granary::membership {
namespace {

/// The client's messages: it repeats them many times a second while there is no server, and errors tell us all.
void discard(const char* /*message*/) {}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const ZookeeperOptions& options) {
  std::unique_ptr<Session> session(new Session(options));
  if (Status status = session->connect(); !status.ok()) return status;
  return session;
}

Session::~Session() {
  if (handle_ != nullptr) ::zookeeper_close(handle_);
}

Status Session::connect() {
  handle_ = ::zookeeper_init2(options_.servers.c_str(), &Session::watch, static_cast<int>(options_.session_ms), nullptr,
                              this, ZOO_NO_LOG_CLIENTENV, discard);
  if (handle_ == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("cannot use '{}' as ZooKeeper's servers ({}): give host:port, and commas between several",
                              options_.servers, std::strerror(errno)));
  }
  if (!options_.digest.empty()) {
    const int code = ::zoo_add_auth(handle_, "digest", options_.digest.data(), static_cast<int>(options_.digest.size()),
                                    nullptr, nullptr);
    if (code != ZOK) return error(code, "authenticate");
  }
  const std::uint64_t end = lifetime_us() + std::uint64_t{options_.connect_ms} * 1000;
  while (::zoo_state(handle_) != ZOO_CONNECTED_STATE) {
    const std::uint64_t now = lifetime_us();
    if (now >= end || ::is_unrecoverable(handle_) != 0) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("no ZooKeeper server at '{}' gave a session within {} ms: is one running there?",
                                options_.servers, options_.connect_ms));
    }
    if (options_.give_up()) {
      return Status(StatusCode::kUnavailable,
                    fmt::format("told to give up before a ZooKeeper server at '{}' had answered", options_.servers));
    }
    wait(std::min(end - now, kGiveUpLook_us));
  }
  return {};
}

void Session::watch(_zhandle* /*handle*/, int /*type*/, int /*state*/, const char* /*path*/, void* session) {
  static_cast<Session*>(session)->wake();
}

Status Session::error(int code, const std::string& what) const {
  const auto status = [&](StatusCode kind, std::string_view why) {
    return Status(kind, fmt::format("ZooKeeper at '{}': cannot {}: {}", options_.servers, what, why));
  };
  switch (code) {
    case ZNONODE: return status(StatusCode::kNotFound, "there is no such node");
    case ZNODEEXISTS: return status(StatusCode::kAlreadyExists, "there is one already");
    case ZNOAUTH:
    case ZAUTHFAILED:
      return status(StatusCode::kFailedPrecondition, options_.digest.empty()
                                                         ? "it asks for a user and password, and none are configured"
                                                         : "it does not accept the configured user and password");
    case ZBADARGUMENTS: return status(StatusCode::kInvalidArgument, "ZooKeeper takes no such path");
    case ZSESSIONEXPIRED: return status(StatusCode::kMembershipLost, "the session has expired");
    case ZINVALIDSTATE:
      if (::zoo_state(handle_) == ZOO_EXPIRED_SESSION_STATE) return error(ZSESSIONEXPIRED, what);
      break;
    default: break;
  }
  if (::zoo_state(handle_) == ZOO_AUTH_FAILED_STATE)
    return status(StatusCode::kMembershipLost, "the servers do not accept the configured user and password any more");
  return status(StatusCode::kUnavailable, ::zerror(code));
}

std::int64_t Session::id() const { return ::zoo_client_id(handle_)->client_id; }

std::uint64_t Session::timeout_us() const { return static_cast<std::uint64_t>(::zoo_recv_timeout(handle_)) * 1000; }

Result<Session::Node> Session::get(const std::string& path) {
  std::string text(std::size_t{64} << 10, '\0');
  while (true) {
    int size = static_cast<int>(text.size());
    Stat stat{};
    const int code = ::zoo_wget(handle_, path.c_str(), &Session::watch, this, text.data(), &size, &stat);
    if (code != ZOK) return error(code, fmt::format("read '{}'", path));
    if (stat.dataLength <= static_cast<int>(text.size())) {
      text.resize(static_cast<std::size_t>(std::max(size, 0)));  // -1 stands for a node without data
      return Node{.text = std::move(text), .version = stat.version, .owner = stat.ephemeralOwner};
    }
    text.resize(static_cast<std::size_t>(stat.dataLength));
  }
}

Result<std::vector<std::string>> Session::children(const std::string& path) {
  String_vector found{};
  const int code = ::zoo_wget_children(handle_, path.c_str(), &Session::watch, this, &found);
  if (code != ZOK) return error(code, fmt::format("list '{}'", path));
  std::vector<std::string> names(found.data, found.data + found.count);
  ::deallocate_String_vector(&found);
  return names;
}

Status Session::create(const std::string& path, const std::string& text, Kind kind, Access access) {
  const bool restricted = access == Access::kOwn && !options_.digest.empty();
  const ACL_vector* const acl = restricted ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  const int mode = kind == Kind::kEphemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT;
  const int code =
      ::zoo_create(handle_, path.c_str(), text.data(), static_cast<int>(text.size()), acl, mode, nullptr, 0);
  if (code != ZOK) return error(code, fmt::format("create '{}'", path));
  return {};
}

Result<bool> Session::set(const std::string& path, const std::string& text, std::int32_t version) {
  const int code = ::zoo_set(handle_, path.c_str(), text.data(), static_cast<int>(text.size()), version);
  if (code == ZBADVERSION) return false;
  if (code != ZOK) return error(code, fmt::format("write '{}'", path));
  return true;
}

Status Session::confirm(const std::string& path, const std::string& text, std::uint64_t patience_us) {
  const std::string what = fmt::format("write '{}'", path);
  Confirmation* asked = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(confirmations_, [](const Confirmation& past) { return past.answered; });
    asked = &confirmations_.emplace_back(*this);
  }
  const stat_completion_t answer = [](int code, const Stat* stat, const void* data) {
    Confirmation& confirmation = *static_cast<Confirmation*>(const_cast<void*>(data));
    Session& session = confirmation.session;
    const std::lock_guard lock(session.mutex_);
    confirmation.answered = true;
    confirmation.code = code;
    if (code == ZOK) confirmation.owner = stat->ephemeralOwner;
    session.changed_.notify_all();
  };
  const int sent = ::zoo_aset(handle_, path.c_str(), text.data(), static_cast<int>(text.size()), -1, answer, asked);
  std::unique_lock lock(mutex_);
  if (sent != ZOK) {
    asked->answered = true;  // nobody will
    return error(sent, what);
  }
  if (!changed_.wait_for(lock, std::chrono::microseconds(patience_us), [asked] { return asked->answered; })) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("ZooKeeper at '{}': no quorum of the servers has confirmed a write within {} ms",
                              options_.servers, patience_us / 1000));
  }
  if (asked->code != ZOK) return error(asked->code, what);
  return asked->owner == id() ? Status() : error(ZNONODE, what);
}

Status Session::remove(const std::string& path) {
  const int code = ::zoo_delete(handle_, path.c_str(), -1);
  if (code != ZOK) return error(code, fmt::format("remove '{}'", path));
  return {};
}

Result<bool> Session::open_to_all(const std::string& path) {
  ACL_vector acl{};
  Stat stat{};
  const int code = ::zoo_get_acl(handle_, path.c_str(), &acl, &stat);
  if (code != ZOK) return error(code, fmt::format("ask who may use '{}'", path));
  const bool open = std::any_of(acl.data, acl.data + acl.count, [](const ACL& entry) {
    return std::string_view(entry.id.scheme) == "world" && (entry.perms & ~ZOO_PERM_READ) != 0;
  });
  ::deallocate_ACL_vector(&acl);
  return open;
}

void Session::wait(std::uint64_t timeout_us) {
  std::unique_lock lock(mutex_);
  constexpr std::uint64_t kLongest = 3'600'000'000;  // what the standard library can add to its clock
  changed_.wait_for(lock, std::chrono::microseconds(std::min(timeout_us, kLongest)), [this] { return woken_; });
  woken_ = false;
}

void Session::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

}  // namespace granary::membership
