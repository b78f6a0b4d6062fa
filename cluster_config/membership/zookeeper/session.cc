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

/// Discards the client's messages: it repeats them many times a second while there is no server, and its errors say
/// enough.
void discard(const char* /*message*/) {}

/// Whether the text is "host:port,host:port". The client's own error does not tell such texts from names that do not
/// resolve.
bool are_places(std::string_view servers) {
  while (true) {
    const std::string_view place = servers.substr(0, servers.find(','));
    const std::size_t colon = place.rfind(':');
    if (colon == place.npos || colon == 0) return false;
    const std::string_view port = place.substr(colon + 1);
    if (port.empty() || port.find_first_not_of("0123456789") != port.npos) return false;
    if (place.size() == servers.size()) return true;
    servers.remove_prefix(place.size() + 1);
  }
}

/// Returns the servers as the client wants them. It takes everything before the last colon for the host, so the
/// brackets of IPv6 addresses have to go.
std::string as_client_wants(std::string servers) {
  std::erase_if(servers, [](char c) { return c == '[' || c == ']'; });
  return servers;
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const ZookeeperOptions& options) {
  std::unique_ptr<Session> session(new Session(options));
  if (Status status = session->connect(); !status.ok()) return status;
  return session;
}

Session::~Session() {
  if (handle_ != nullptr) ::zookeeper_close(handle_);
}

/// Makes the client. The client does not begin before names of the servers resolve (with some of its releases: all of
/// them), which may be a while after the machine's start.
Status Session::reach_servers(std::uint64_t end_us) {
  if (!are_places(options_.servers)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("cannot use '{}' as ZooKeeper's servers: give host:port, and commas between several",
                              options_.servers));
  }
  const std::string servers = as_client_wants(options_.servers);
  while (true) {
    handle_ = ::zookeeper_init2(servers.c_str(), &Session::watch, static_cast<int>(options_.session_ms), nullptr, this,
                                ZOO_NO_LOG_CLIENTENV, discard);
    const int error = errno;
    if (handle_ != nullptr) return {};
    const std::uint64_t now = lifetime_us();
    if (now >= end_us) {
      const bool unresolved = error == ENOENT || error == EINVAL;  // as the client reports the resolver's errors
      return Status(StatusCode::kUnavailable,
                    fmt::format("cannot use ZooKeeper's servers '{}' after {} ms: {}", options_.servers,
                                options_.connect_ms, unresolved ? "their names do not resolve" : std::strerror(error)));
    }
    if (options_.give_up()) {
      return Status(
          StatusCode::kUnavailable,
          fmt::format("told to give up before the names of ZooKeeper's servers '{}' resolved", options_.servers));
    }
    wait(std::min(end_us - now, kGiveUpLook_us));
  }
}

Status Session::connect() {
  const std::uint64_t end = lifetime_us() + std::uint64_t{options_.connect_ms} * 1000;
  if (Status reached = reach_servers(end); !reached.ok()) return reached;
  if (!options_.digest.empty()) {
    const int code = ::zoo_add_auth(handle_, "digest", options_.digest.data(), static_cast<int>(options_.digest.size()),
                                    nullptr, nullptr);
    if (code != ZOK) return error(code, "authenticate");
  }
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
    case ZOPERATIONTIMEOUT:
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

/// Sends a call and waits for its answer. An answer that does not come in time counts as the client's own time-out. It
/// may still come, at the latest when the session ends, so its memory stays until then.
Session::Answer Session::ask(std::uint64_t patience_us, FunctionRef<int(const Answer*)> send) {
  std::unique_lock lock(mutex_);
  const auto asked = answers_.emplace(answers_.end(), *this);
  lock.unlock();
  const int sent = send(&*asked);
  lock.lock();
  if (sent != ZOK) {
    asked->came = true;  // the client has not taken the call, so it will not answer
    asked->code = sent;
  }
  if (!changed_.wait_for(lock, std::chrono::microseconds(patience_us), [asked] { return asked->came; })) {
    asked->awaited = false;
    return {.session = *this, .code = ZOPERATIONTIMEOUT};
  }
  Answer answer = std::move(*asked);
  answers_.erase(asked);
  return answer;
}

void Session::complete(const void* asked, int code, FunctionRef<void(Answer&)> note) {
  Answer& answer = *static_cast<Answer*>(const_cast<void*>(asked));
  Session& session = answer.session;
  const std::lock_guard lock(session.mutex_);
  if (!answer.awaited) {
    session.answers_.remove_if([&answer](const Answer& one) { return &one == &answer; });
    return;
  }
  answer.came = true;
  answer.code = code;
  if (code == ZOK) note(answer);
  session.changed_.notify_all();
}

Result<Session::Node> Session::get(const std::string& path) {
  const data_completion_t completion = [](int code, const char* text, int size, const Stat* stat, const void* asked) {
    complete(asked, code, [&](Answer& answer) {
      answer.node = {.text = std::string(text, static_cast<std::size_t>(std::max(size, 0))),  // -1 if there is no data
                     .version = stat->version,
                     .owner = stat->ephemeralOwner};
    });
  };
  Answer answer = ask(timeout_us(), [&](const Answer* asked) {
    return ::zoo_awget(handle_, path.c_str(), &Session::watch, this, completion, asked);
  });
  if (answer.code != ZOK) return error(answer.code, fmt::format("read '{}'", path));
  return std::move(answer.node);
}

Result<std::vector<std::string>> Session::children(const std::string& path) {
  const strings_completion_t completion = [](int code, const String_vector* names, const void* asked) {
    complete(asked, code, [names](Answer& answer) { answer.names.assign(names->data, names->data + names->count); });
  };
  Answer answer = ask(timeout_us(), [&](const Answer* asked) {
    return ::zoo_awget_children(handle_, path.c_str(), &Session::watch, this, completion, asked);
  });
  if (answer.code != ZOK) return error(answer.code, fmt::format("list '{}'", path));
  return std::move(answer.names);
}

Status Session::create(const std::string& path, const std::string& text, Kind kind, Access access) {
  const bool restricted = access == Access::kOwn && !options_.digest.empty();
  const ACL_vector* const acl = restricted ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
  const int mode = kind == Kind::kEphemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT;
  const string_completion_t completion = [](int code, const char* /*path*/, const void* asked) {
    complete(asked, code, [](Answer&) {});
  };
  const Answer answer = ask(timeout_us(), [&](const Answer* asked) {
    return ::zoo_acreate(handle_, path.c_str(), text.data(), static_cast<int>(text.size()), acl, mode, completion,
                         asked);
  });
  if (answer.code != ZOK) return error(answer.code, fmt::format("create '{}'", path));
  return {};
}

Session::Answer Session::write(const std::string& path, const std::string& text, std::int32_t version,
                               std::uint64_t patience_us) {
  const stat_completion_t completion = [](int code, const Stat* stat, const void* asked) {
    complete(asked, code, [stat](Answer& answer) { answer.node.owner = stat->ephemeralOwner; });
  };
  return ask(patience_us, [&](const Answer* asked) {
    return ::zoo_aset(handle_, path.c_str(), text.data(), static_cast<int>(text.size()), version, completion, asked);
  });
}

Result<bool> Session::set(const std::string& path, const std::string& text, std::int32_t version) {
  const Answer answer = write(path, text, version, timeout_us());
  if (answer.code == ZBADVERSION) return false;
  if (answer.code != ZOK) return error(answer.code, fmt::format("write '{}'", path));
  return true;
}

Status Session::confirm(const std::string& path, const std::string& text, std::uint64_t patience_us) {
  const std::string what = fmt::format("write '{}'", path);
  const Answer answer = write(path, text, /*version=*/-1, patience_us);
  if (answer.code == ZOK) return answer.node.owner == id() ? Status() : error(ZNONODE, what);
  Status failed = error(answer.code, what);
  if (answer.came || failed.code() != StatusCode::kUnavailable) return failed;
  return Status(StatusCode::kUnavailable,
                fmt::format("ZooKeeper at '{}': no quorum of the servers has confirmed a write within {} ms",
                            options_.servers, patience_us / 1000));
}

Result<bool> Session::remove(const std::string& path, std::int32_t version) {
  const void_completion_t completion = [](int code, const void* asked) { complete(asked, code, [](Answer&) {}); };
  const Answer answer = ask(timeout_us(), [&](const Answer* asked) {
    return ::zoo_adelete(handle_, path.c_str(), version, completion, asked);
  });
  if (answer.code == ZBADVERSION) return false;
  if (answer.code != ZOK) return error(answer.code, fmt::format("remove '{}'", path));
  return true;
}

Status Session::sync(const std::string& path) {
  const string_completion_t completion = [](int code, const char* /*path*/, const void* asked) {
    complete(asked, code, [](Answer&) {});
  };
  const Answer answer =
      ask(timeout_us(), [&](const Answer* asked) { return ::zoo_async(handle_, path.c_str(), completion, asked); });
  if (answer.code != ZOK) return error(answer.code, fmt::format("learn what became of '{}'", path));
  return {};
}

Result<bool> Session::exists(const std::string& path) {
  const stat_completion_t completion = [](int code, const Stat* /*stat*/, const void* asked) {
    complete(asked, code, [](Answer&) {});
  };
  const Answer answer = ask(timeout_us(), [&](const Answer* asked) {
    return ::zoo_aexists(handle_, path.c_str(), /*watch=*/0, completion, asked);
  });
  if (answer.code == ZNONODE) return false;
  if (answer.code != ZOK) return error(answer.code, fmt::format("look for '{}'", path));
  return true;
}

Result<bool> Session::open_to_all(const std::string& path) {
  const acl_completion_t completion = [](int code, ACL_vector* acl, Stat* /*stat*/, const void* asked) {
    complete(asked, code, [acl](Answer& answer) {
      answer.open_to_all = std::any_of(acl->data, acl->data + acl->count, [](const ACL& entry) {
        return std::string_view(entry.id.scheme) == "world" && (entry.perms & ~ZOO_PERM_READ) != 0;
      });
    });
  };
  const Answer answer =
      ask(timeout_us(), [&](const Answer* asked) { return ::zoo_aget_acl(handle_, path.c_str(), completion, asked); });
  if (answer.code != ZOK) return error(answer.code, fmt::format("ask who may use '{}'", path));
  return answer.open_to_all;
}

void Session::wait(std::uint64_t timeout_us) {
  std::unique_lock lock(mutex_);
  constexpr std::uint64_t kLongest = 3'600'000'000;  // the most that the standard library can add to its clock
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
