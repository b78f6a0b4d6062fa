#pragma once
// Has a session at a ZooKeeper ensemble: the C client's calls with errors as Status. Reads leave watches, which end a
// wait(). Watches do nothing else, since calls from the client's own threads would block them.
//
// An error is kUnavailable if the connection is lost, or if no answer has come after a session's time-out. Then a
// change may have been made or not, and the client connects again by itself. It is kMembershipLost once the session has
// expired, for good; kFailedPrecondition if access is refused.
//
// All calls are asynchronous ones of the client, and this class waits for their answers. The client's own synchronous
// calls may wait for ever: it does not answer those that it takes just after it has learned that the session has
// expired (ZOOKEEPER-2802).

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <granary/function_ref.h>
#include <granary/status.h>

#include "cluster_config/membership/zookeeper/options.h"

struct _zhandle;  // the C client's handle, which only session.cc includes

namespace granary::membership {

class Session {
 public:
  struct Node {
    std::string text;
    std::int32_t version = 0;  ///< grows by 1 with each change
    std::int64_t owner = 0;    ///< the session of an ephemeral node
  };
  enum class Kind { kPersistent, kEphemeral };
  /// Says who may use a node: all users, or only those with the session's digest, if it has one.
  enum class Access { kAll, kOwn };

  /// Connects. Returns kUnavailable if no server answers in time, or their names do not resolve.
  static Result<std::unique_ptr<Session>> open(const ZookeeperOptions& options);
  /// Ends the session. Its ephemeral nodes go at once, if a server can be reached.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  std::int64_t id() const;
  /// Returns the time-out that the servers granted.
  std::uint64_t timeout_us() const;

  /// Returns the node, or kNotFound if there is none.
  Result<Node> get(const std::string& path);
  Result<std::vector<std::string>> children(const std::string& path);
  /// Creates the node. Returns kAlreadyExists if there is one.
  Status create(const std::string& path, const std::string& text, Kind kind, Access access);
  /// Writes the node's text. Returns false if the node is not of this version.
  Result<bool> set(const std::string& path, const std::string& text, std::int32_t version);
  /// Writes the text of an ephemeral node of this session again. OK means that a quorum of the servers has committed
  /// that since this call began, while the session and its node were there. Returns kNotFound if the node is not there,
  /// or is another session's; kUnavailable also if no answer has come after `patience_us` (the write may still be
  /// made).
  Status confirm(const std::string& path, const std::string& text, std::uint64_t patience_us);
  /// Removes the node. Returns false if it is not of this version; -1 stands for any.
  Result<bool> remove(const std::string& path, std::int32_t version);
  /// Has this session's server learn of all changes that the leader has committed by now. Otherwise reads may show an
  /// older state, as a server answers them from its own memory, and this session may have been with another server
  /// before.
  Status sync(const std::string& path);
  /// Returns whether there is such a node, whoever may use it.
  Result<bool> exists(const std::string& path);
  /// Whether users without the session's digest may change the node.
  Result<bool> open_to_all(const std::string& path);

  /// Returns after a watch has fired or the session's state has changed, after wake(), or after this long.
  void wait(std::uint64_t timeout_us);
  void wake();

 private:
  explicit Session(const ZookeeperOptions& options) : options_(options) {}
  static void watch(_zhandle* handle, int type, int state, const char* path, void* session);
  /// The answer to a call. A thread of the client writes it under the session's mutex.
  struct Answer {
    Session& session;
    bool awaited = true;  ///< whether the caller still waits
    bool came = false;
    int code = 0;
    Node node = {};                       ///< the node that was read or written
    std::vector<std::string> names = {};  ///< the names of its children
    bool open_to_all = false;
  };
  /// Sends a call and waits for its answer. `send` passes the address of the answer to the client, for the call's
  /// completion.
  Answer ask(std::uint64_t patience_us, FunctionRef<int(const Answer*)> send);
  /// Ends the wait for an answer, which has come. `note` takes the contents of the answer, if the call has succeeded.
  static void complete(const void* asked, int code, FunctionRef<void(Answer&)> note);
  Answer write(const std::string& path, const std::string& text, std::int32_t version, std::uint64_t patience_us);
  Status connect();
  /// Makes the client. Returns kInvalidArgument if the servers are no places; kUnavailable if their names do not
  /// resolve in time.
  Status reach_servers(std::uint64_t end_us);
  Status error(int code, const std::string& what) const;

  const ZookeeperOptions options_;
  _zhandle* handle_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;         ///< guarded by mutex_
  std::list<Answer> answers_;  ///< guarded by mutex_; the client has the addresses of the answers that have not come
};

}  // namespace granary::membership
