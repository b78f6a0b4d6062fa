// What is ZooKeeper's own: who may see the cluster, and what is said of servers that are not there.

#define THREADED  // the multi-threaded C client
#include <zookeeper/zookeeper.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "cluster_config/membership/zookeeper/session.h"
#include "cluster_config/membership/zookeeper/zookeeper_board.h"
#include "tests/cluster_config/membership/lossy_proxy.h"
#include "tests/cluster_config/membership/world.h"
#include "tests/cluster_config/membership/zookeeper_world.h"

namespace granary::membership::tests {
namespace {

using testing::HasSubstr;

/// The longest session that the server grants.
constexpr std::uint32_t kLongSessionMs = 4000;

class Zookeeper : public testing::Test {
 protected:
  void SetUp() override {
    if (zookeeper_server().empty()) GTEST_SKIP() << "there is no ZooKeeper to be had here";
    options_ = zookeeper_options();
  }
  Result<std::unique_ptr<Membership>> join(NodeId node) {
    Result<std::unique_ptr<Board>> board = open_zookeeper_board(options_);
    if (!board.ok()) return board.status();
    return Membership::join(std::move(*board), options_of(node), {});
  }
  ZookeeperOptions options_;
};

TEST_F(Zookeeper, AWrongDigestIsRefused) {
  options_.digest = "granary:secret";
  const Result<std::unique_ptr<Membership>> member = join(0);
  ASSERT_TRUE(member.ok()) << member.status().message();
  EXPECT_TRUE(join(1).ok());
  for (const char* digest : {"granary:wrong", ""}) {
    options_.digest = digest;
    const Result<std::unique_ptr<Membership>> stranger = join(2);
    ASSERT_FALSE(stranger.ok()) << digest;
    EXPECT_EQ(stranger.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(stranger.status().message(), HasSubstr("user and password"));
    EXPECT_THAT(stranger.status().message(), testing::Not(HasSubstr("wrong"))) << "a password is no one's business";
    const Result<std::unique_ptr<Session>> session = Session::open(options_);
    ASSERT_TRUE(session.ok());
    EXPECT_FALSE((*session)->get(options_.root + "/configuration").ok());
    EXPECT_FALSE((*session)->set(options_.root + "/configuration", "", -1).ok());
    EXPECT_FALSE((*session)->remove(options_.root + "/members/0", /*version=*/-1).ok());
  }
  (*member)->step(0);
  EXPECT_TRUE((*member)->status().ok());
}

TEST_F(Zookeeper, ARootThatAllMayChangeIsRefusedByWhoHasADigest) {
  ASSERT_TRUE(join(0).ok());  // without one
  options_.digest = "granary:secret";
  const Result<std::unique_ptr<Membership>> member = join(1);
  ASSERT_FALSE(member.ok());
  EXPECT_THAT(member.status().message(), HasSubstr("all may change"));
}

TEST_F(Zookeeper, WithoutAServerTheStartEndsWithAMessage) {
  options_.servers = "127.0.0.1:1";
  options_.connect_ms = 300;
  const Result<std::unique_ptr<Membership>> member = join(0);
  ASSERT_FALSE(member.ok());
  EXPECT_EQ(member.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(member.status().message(), HasSubstr("127.0.0.1:1"));
}

/// A machine that has only just started may resolve none yet.
TEST_F(Zookeeper, NamesThatDoNotResolveAreWaitedFor) {
  options_.servers = "no-such-host.invalid:2181";
  options_.connect_ms = 300;
  const std::uint64_t begin_us = lifetime_us();
  const Status unresolved = join(0).status();
  EXPECT_GE(lifetime_us() - begin_us, 300'000u);
  EXPECT_EQ(unresolved.code(), StatusCode::kUnavailable);
  EXPECT_THAT(unresolved.message(), HasSubstr("no-such-host.invalid:2181' after 300 ms: their names do not resolve"));

  options_.connect_ms = 60'000;
  options_.give_up = [] { return true; };
  EXPECT_THAT(join(0).status().message(), HasSubstr("told to give up before the names"));
}

TEST_F(Zookeeper, AddressesOfServersMayHaveBrackets) {
  options_.servers = "[::1]:1";
  options_.connect_ms = 300;
  EXPECT_THAT(join(0).status().message(), HasSubstr("no ZooKeeper server at '[::1]:1'"));
}

TEST_F(Zookeeper, ImpossibleOptionsAreRefused) {
  for (const char* servers : {"", "nonsense", "nonsense:", ":2181", "a:2181x", "127.0.0.1:1,", "127.0.0.1:1,b"}) {
    options_.servers = servers;
    EXPECT_EQ(join(0).status().code(), StatusCode::kInvalidArgument) << servers;
  }
  options_ = zookeeper_options();
  for (const char* root : {"", "/", "granary", "/granary/", "/a//b"}) {
    options_.root = root;
    EXPECT_EQ(join(0).status().code(), StatusCode::kInvalidArgument) << root;
  }
}

TEST_F(Zookeeper, AMarkThatIsTakenAwayIsALoss) {
  const Result<std::unique_ptr<Membership>> member = join(0);
  ASSERT_TRUE(member.ok());
  const Result<std::unique_ptr<Session>> session = Session::open(options_);
  ASSERT_TRUE((*session)->remove(options_.root + "/members/0", /*version=*/-1).ok());
  (*member)->step(0);
  EXPECT_EQ((*member)->status().code(), StatusCode::kMembershipLost);
}

/// Somebody else, who says who may use a cluster's znodes.
class Administrator {
 public:
  explicit Administrator(const ZookeeperOptions& options) : root_(options.root) {
    handle_ = ::zookeeper_init(options.servers.c_str(), nullptr, 10'000, nullptr, nullptr, 0);
    const std::string user = "administrator:secret";
    EXPECT_EQ(::zoo_add_auth(handle_, "digest", user.data(), static_cast<int>(user.size()), nullptr, nullptr), ZOK);
  }
  ~Administrator() { ::zookeeper_close(handle_); }
  Administrator(const Administrator&) = delete;
  Administrator& operator=(const Administrator&) = delete;

  void let_use(const ACL_vector& whom) const {
    for (const char* const below : {"", "/configuration", "/members", "/members/0"}) let_use(root_ + below, whom);
  }
  void let_use(const std::string& path, const ACL_vector& whom) const {
    int code = ZCONNECTIONLOSS;
    for (const std::uint64_t end = lifetime_us() + kPatienceUs; code == ZCONNECTIONLOSS && lifetime_us() < end;)
      code = ::zoo_set_acl(handle_, path.c_str(), -1, &whom);
    EXPECT_EQ(code, ZOK) << path;
  }

 private:
  const std::string root_;
  zhandle_t* handle_ = nullptr;
};

/// An administrator makes such a root to let clusters create nothing elsewhere.
TEST_F(Zookeeper, ARootBelowAClosedNodeIsUsed) {
  options_.digest = "granary:secret";
  options_.root = "/closed/granary/bank";
  const Result<std::unique_ptr<Session>> session = Session::open(options_);
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (const char* const path : {"/closed", "/closed/granary", "/closed/granary/bank"}) {
    const auto access = path == options_.root ? Session::Access::kOwn : Session::Access::kAll;
    ASSERT_TRUE((*session)->create(path, "", Session::Kind::kPersistent, access).ok()) << path;
  }
  const Administrator administrator(options_);
  for (const char* const path : {"/closed/granary", "/closed"}) administrator.let_use(path, ZOO_CREATOR_ALL_ACL);
  const Result<std::unique_ptr<Membership>> member = join(0);
  EXPECT_TRUE(member.ok()) << member.status().message();

  options_.root = "/closed/granary/shop";
  const Status missing = join(0).status();
  EXPECT_EQ(missing.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(missing.message(), HasSubstr("make '/closed/granary/shop' there, with the permissions cdrwa for the "
                                           "digest user 'granary'"));
  options_.digest = "";
  EXPECT_THAT(join(0).status().message(), HasSubstr("cdrwa for world:anyone"));
}

bool becomes(const std::function<bool()>& condition, std::uint64_t patience_us = kPatienceUs) {
  const std::uint64_t end = lifetime_us() + patience_us;
  bool held = condition();
  for (; !held && lifetime_us() < end; held = condition()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return held;
}

/// A server answers reads from its own memory, so only a write shows that a quorum still has the mark (I11).
TEST_F(Zookeeper, AMarkThatCanOnlyBeReadKeepsNoFenceOpen) {
  const Result<std::unique_ptr<Membership>> member = join(0);
  ASSERT_TRUE(member.ok()) << member.status().message();
  const MembershipThread thread(**member);
  const Fence& fence = (*member)->fence();
  ASSERT_TRUE(becomes([&] { return fence.open(fence.number()); }));
  Administrator(options_).let_use(ZOO_READ_ACL_UNSAFE);
  EXPECT_TRUE(becomes([&] { return !fence.open(fence.number()); }, std::uint64_t{options_.session_ms} * 4000))
      << "four times as long as a session lasts";
  EXPECT_TRUE((*member)->status().ok()) << (*member)->status().message();
}

/// Its right to commit ends in time, it says why, and it goes on when it may use its znodes again.
TEST_F(Zookeeper, AccessThatIsTakenAwayIsAPause) {
  std::atomic<unsigned> silent{0}, back{0};
  Membership::Listener listener;
  listener.warn = [&](const std::string& warning) {
    if (warning.find("does not accept") != std::string::npos || warning.find("asks for a user") != std::string::npos)
      ++silent;
    if (warning.find("answers again") != std::string::npos) ++back;
  };
  Result<std::unique_ptr<Board>> board = open_zookeeper_board(options_);
  ASSERT_TRUE(board.ok()) << board.status().message();
  const Result<std::unique_ptr<Membership>> member =
      Membership::join(std::move(*board), options_of(0), std::move(listener));
  ASSERT_TRUE(member.ok()) << member.status().message();
  const MembershipThread thread(**member);
  const Fence& fence = (*member)->fence();
  ASSERT_TRUE(becomes([&] { return fence.open(fence.number()); }));
  const Administrator administrator(options_);
  administrator.let_use(ZOO_CREATOR_ALL_ACL);
  EXPECT_TRUE(becomes([&] { return !fence.open(fence.number()); }));
  EXPECT_TRUE(becomes([&] { return silent > 0; })) << "somebody has to hear of it";
  EXPECT_TRUE((*member)->status().ok()) << (*member)->status().message();
  administrator.let_use(ZOO_OPEN_ACL_UNSAFE);
  EXPECT_TRUE(becomes([&] { return fence.open(fence.number()); })) << (*member)->status().message();
  EXPECT_TRUE(becomes([&] { return back > 0; }));
  EXPECT_TRUE((*member)->serve().ok());
}

TEST_F(Zookeeper, AServersRestartIsSurvived) {
  options_.session_ms = 4000;  // a busy machine may take long to start a server, and then to connect again
  const Result<std::unique_ptr<Membership>> member = join(0);
  ASSERT_TRUE(member.ok()) << member.status().message();
  const MembershipThread thread(**member);
  const Fence& fence = (*member)->fence();
  const std::uint64_t version = fence.number();
  const auto becomes = [&](bool open) {
    const std::uint64_t end = lifetime_us() + kPatienceUs;
    while (fence.open(version) != open && lifetime_us() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return fence.open(version) == open;
  };
  ASSERT_TRUE(becomes(true));
  ASSERT_EQ(zookeeper("stop"), 0);
  EXPECT_TRUE(becomes(false)) << "nobody can say whether the session lives";
  EXPECT_TRUE((*member)->status().ok());
  EXPECT_EQ((*member)->serve().code(), StatusCode::kUnavailable);
  ASSERT_EQ(zookeeper("start"), 0);
  EXPECT_TRUE(becomes(true)) << (*member)->status().message();
  const Result<std::unique_ptr<Membership>> other = join(1);
  ASSERT_TRUE(other.ok()) << other.status().message();
  const auto both = [](const Configuration& configuration) { return configuration.members.size() == 2; };
  EXPECT_TRUE((*member)->wait_until(both, kPatienceUs));
}

/// It refuses the old sessions for ever, and never says that they have expired.
TEST_F(Zookeeper, AServerThatHasForgottenEverythingIsALoss) {
  const Result<std::unique_ptr<Membership>> member = join(0);
  ASSERT_TRUE(member.ok()) << member.status().message();
  const MembershipThread thread(**member);
  ASSERT_TRUE((*member)->serve().ok());
  ASSERT_TRUE(wipe_zookeeper());
  (void)(*member)->wait_until([](const Configuration&) { return false; }, kPatienceUs);
  EXPECT_EQ((*member)->status().code(), StatusCode::kMembershipLost);
  EXPECT_THAT((*member)->status().message(), HasSubstr("was wiped"));
}

TEST_F(Zookeeper, WhatBecameOfAnOperationIsFoundOut) {
  using Loss = LossyProxy::Loss;
  using Operation = LossyProxy::Operation;
  LossyProxy proxy(zookeeper_server());
  const std::pair<Operation, const char*> operations[] = {
      {Operation::kCreate, "/members/0"}, {Operation::kCreate, "/configuration"}, {Operation::kSet, "/configuration"}};
  int losses = 0;
  for (const Loss loss : {Loss::kRequest, Loss::kAnswer}) {
    for (const auto& [operation, path] : operations) {
      SCOPED_TRACE(path);
      options_ = zookeeper_options();
      options_.servers = proxy.address();
      proxy.lose(loss, operation, options_.root + path);
      const Result<std::unique_ptr<Membership>> member = join(0);
      ASSERT_TRUE(member.ok()) << member.status().message();
      EXPECT_EQ((*member)->configuration()->version, 1u) << "joined once";
      EXPECT_EQ((*member)->generation(), 1u);
      ASSERT_TRUE((*member)->serve().ok());
      EXPECT_EQ((*member)->configuration()->version, 2u) << "changed once";
      (*member)->step(0);
      EXPECT_TRUE((*member)->status().ok()) << (*member)->status().message();
      EXPECT_EQ(proxy.losses(), ++losses);
    }
  }
}

TEST_F(Zookeeper, AMarkIsTakenAwayByTheNextCallIfTheFirstGotNoAnswer) {
  using Loss = LossyProxy::Loss;
  LossyProxy proxy(zookeeper_server());
  options_.session_ms = kLongSessionMs;  // a mark that goes with its session does so only after this test's looks
  const Result<std::unique_ptr<Session>> other = Session::open(options_);
  ASSERT_TRUE(other.ok()) << other.status().message();
  int losses = 0;
  for (const Loss loss : {Loss::kRequest, Loss::kAnswer}) {
    options_ = zookeeper_options();
    const std::string path = options_.root + "/members/0";
    options_.servers = proxy.address();
    options_.session_ms = kLongSessionMs;
    const Result<std::unique_ptr<Board>> board = open_zookeeper_board(options_);
    ASSERT_TRUE(board.ok()) << board.status().message();
    ASSERT_TRUE((*board)->mark(0, "its first life").ok());
    proxy.lose(loss, LossyProxy::Operation::kDelete, path);
    EXPECT_EQ((*board)->unmark().code(), StatusCode::kUnavailable);
    EXPECT_EQ(proxy.losses(), ++losses);
    const bool next_life = loss == Loss::kAnswer;
    if (next_life) {
      const Status made = (*other)->create(path, "next", Session::Kind::kEphemeral, Session::Access::kOwn);
      EXPECT_TRUE(made.ok()) << made.message();
    }
    EXPECT_TRUE(becomes([&] { return (*board)->unmark().ok(); }));
    const Result<Session::Node> there = (*other)->get(path);
    EXPECT_EQ(there.status().code(), next_life ? StatusCode::kOk : StatusCode::kNotFound) << there.status().message();
  }
}

/// The mark that this node sees is not there any more when its removal arrives, or when a server that lags has learnt
/// what happened meanwhile: somebody has removed it, and the node's next life has made its own.
TEST_F(Zookeeper, AMarkOfTheNextLifeIsNotTakenAway) {
  LossyProxy proxy(zookeeper_server());
  options_.session_ms = kLongSessionMs;
  const Result<std::unique_ptr<Session>> other = Session::open(options_);
  ASSERT_TRUE(other.ok()) << other.status().message();
  for (const auto operation : {LossyProxy::Operation::kDelete, LossyProxy::Operation::kSync}) {
    options_ = zookeeper_options();
    const std::string path = options_.root + "/members/0";
    options_.servers = proxy.address();
    options_.session_ms = kLongSessionMs;
    const Result<std::unique_ptr<Board>> board = open_zookeeper_board(options_);
    ASSERT_TRUE(board.ok()) << board.status().message();
    ASSERT_TRUE((*board)->mark(0, "its first life").ok());
    ASSERT_TRUE((*board)->marks().ok()) << "which confirms the mark, and so changes its version";
    std::atomic<int> times{0};
    proxy.before(operation, path, [&] {
      ++times;
      EXPECT_TRUE((*other)->remove(path, /*version=*/-1).ok());
      EXPECT_TRUE((*other)->create(path, "next", Session::Kind::kEphemeral, Session::Access::kOwn).ok());
    });
    const Status unmarked = (*board)->unmark();
    EXPECT_TRUE(unmarked.ok()) << unmarked.message();
    EXPECT_EQ(times, 1);
    EXPECT_TRUE((*other)->get(path).ok()) << (*other)->get(path).status().message();
  }
}

/// The C client never answers a call that it takes while it learns that the session has expired (ZOOKEEPER-2802). A
/// text as great as this one takes so long to copy that the client learns it meanwhile. Without a bound the call hangs,
/// in a thread that keeps all it needs.
TEST_F(Zookeeper, ACallDuringWhichTheSessionExpiresReturns) {
  const auto proxy = std::make_shared<LossyProxy>(zookeeper_server());
  options_.servers = proxy->address();
  Result<std::unique_ptr<Session>> opened = Session::open(options_);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const std::shared_ptr<Session> session = std::move(*opened);
  proxy->set_cut(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(3 * kSessionMs));
  const auto called = std::make_shared<std::promise<StatusCode>>();
  std::future<StatusCode> code = called->get_future();
  std::thread thread([proxy, session, called] {
    const std::string text(std::size_t{128} << 20, 'x');
    const auto call = [&] { return session->set("/", text, /*version=*/-2).status().code(); };
    proxy->set_cut(false);
    StatusCode answer = call();
    while (answer == StatusCode::kUnavailable) answer = call();
    called->set_value(answer);
  });
  const bool hangs = code.wait_for(std::chrono::microseconds(kPatienceUs)) == std::future_status::timeout;
  hangs ? thread.detach() : thread.join();
  ASSERT_FALSE(hangs);
  EXPECT_EQ(code.get(), StatusCode::kMembershipLost);
}

TEST_F(Zookeeper, GreatTextsAreReadWhole) {
  const Result<std::unique_ptr<Session>> session = Session::open(options_);
  ASSERT_TRUE(session.ok());
  std::string text(300'000, 'x');
  text.back() = 'y';
  const std::string path = "/great" + std::to_string(::getpid());
  ASSERT_TRUE((*session)->create(path, text, Session::Kind::kEphemeral, Session::Access::kAll).ok());
  EXPECT_EQ((*session)->get(path)->text, text);
}

}  // namespace
}  // namespace granary::membership::tests
