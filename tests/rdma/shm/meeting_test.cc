// How processes meet: names, versions, and what strangers may send.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <latch>
#include <thread>

#include "rdma/shm/bell.h"
#include "rdma/shm/hello.h"
#include "rdma/shm/process.h"
#include "tests/rdma/shm/two_nodes.h"
#include "tests/support/crash_child.h"

namespace granary::rdma::shm {
namespace {

constexpr std::uint64_t kMeetingPatience_us = 60'000'000;  // for processes that wait for a processor

class Meeting : public testing::Test {
 protected:
  Descriptor call(NodeId node) { return connect_to(directory_ / ("node-" + std::to_string(node) + ".sock")).value(); }
  /// The node's answer to a greeting.
  static Result<ReceivedHello> answer(const Descriptor& socket) {
    if (!wait_readable(socket.get(), kMeetingPatience_us)) return Status(StatusCode::kUnavailable, "no answer");
    return receive_hello(socket.get());
  }
  void expect_alive(ShmNode& node) {
    ShmNode other(7, directory_.path());
    ShmWorker worker(other, node.fabric->node().node);
    const Operation add = Operation::fetch_add({.node = 2, .region = 1, .generation = 1}, 1, other.word(0));
    worker.run({&add, 1});
  }

  tests::TemporaryDirectory directory_;
};

TEST_F(Meeting, ANodesNameIsTakenOnce) {
  const ShmNode node(2, directory_.path());
  const auto second = open_shm_fabric({.node = {.node = 2, .generation = 2}, .run_directory = directory_.path()});
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_NE(second.status().message().find("node 2 runs already"), std::string::npos) << second.status().message();
}

TEST_F(Meeting, AKilledNodesNameIsFreeAtOnce) {
  tests::CrashChild child([&](const tests::CrashChild::Report& report) {
    const ShmNode node(2, directory_.path());
    report("up");
    ::pause();
  });
  ASSERT_TRUE(child.run_until("up"));
  child.kill();
  ShmNode next(2, directory_.path());
  expect_alive(next);
}

TEST_F(Meeting, ADirectoryThatIsNotThereIsAnErrorWithItsName) {
  const auto fabric = open_shm_fabric({.node = {.node = 1}, .run_directory = directory_ / "none"});
  ASSERT_FALSE(fabric.ok());
  EXPECT_NE(fabric.status().message().find("none"), std::string::npos) << fabric.status().message();
}

TEST_F(Meeting, ADirectoryWithTooLongANameIsAnError) {
  const std::string deep = directory_ / std::string(100, 'd');
  std::filesystem::create_directory(deep);
  std::filesystem::permissions(deep, std::filesystem::perms::owner_all);
  auto fabric = open_shm_fabric({.node = {.node = 1}, .run_directory = deep});
  ASSERT_TRUE(fabric.ok());
  EXPECT_EQ((*fabric)->listen().code(), StatusCode::kInvalidArgument);
}

TEST_F(Meeting, APrivateRegionCannotBeReached) {
  auto region = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff}).value();
  auto fabric = open_shm_fabric({.node = {.node = 1}, .run_directory = directory_.path()}).value();
  EXPECT_EQ(fabric->register_region({.id = 1}, *region).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(fabric->register_region({.id = 1, .access = Access::kLocal}, *region).ok());
}

TEST_F(Meeting, OneRegionTooManyIsRefusedWithTheLimit) {
  auto fabric = open_shm_fabric({.node = {.node = 1}, .run_directory = directory_.path()}).value();
  auto region = memory::Region::map({.reserve_bytes = 1, .huge_pages = HugePages::kOff, .shared = true}).value();
  for (RegionId id = 1; id < kMostRegions; ++id) ASSERT_TRUE(fabric->register_region({.id = id}, *region).ok()) << id;
  const Status status = fabric->register_region({.id = kMostRegions}, *region);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("peers can reach 32"), std::string::npos) << status.message();
  ASSERT_TRUE(fabric->listen().ok());
  ShmNode other(2, directory_.path());
  EXPECT_TRUE(other.fabric->open_endpoint().value()->connect(1, kMeetingPatience_us).ok()) << "all of them are passed";
}

TEST_F(Meeting, OneEndpointTooManyIsRefusedWithTheLimit) {
  ShmNode node(1, directory_.path());
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (BellId i = 0; i < kMostBells; ++i) endpoints.push_back(node.fabric->open_endpoint().value());
  const auto another = node.fabric->open_endpoint();
  EXPECT_EQ(another.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(another.status().message().find(std::to_string(kMostBells)), std::string::npos);
  endpoints.pop_back();
  EXPECT_TRUE(node.fabric->open_endpoint().ok());
}

TEST_F(Meeting, AnotherVersionIsRefusedWithBothAndGetsNoMemory) {
  ShmNode node(2, directory_.path());
  const Descriptor socket = call(2);
  Hello hello;
  hello.node = 1;
  hello.version = kHelloVersion + 1;
  ASSERT_TRUE(send_hello(socket.get(), hello, {}).ok());
  const Result<ReceivedHello> received = answer(socket);
  ASSERT_TRUE(received.ok()) << received.status().message();
  EXPECT_TRUE(received->files.empty());
  const Status status = check_compatible(hello, received->hello);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("version 4"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("version 5"), std::string::npos) << status.message();
}

TEST_F(Meeting, StrangersThatSendNonsenseAreHungUpAndChangeNothing) {
  ShmNode node(2, directory_.path());
  Hello wrong_magic;
  wrong_magic.magic[0] = 'G';
  Hello too_many;
  too_many.region_count = 60'000;
  Hello unknown_kind;
  unknown_kind.kind = HelloKind{99};
  Hello farewell;  // of one that is no guest
  farewell.kind = HelloKind::kFarewell;
  for (const Hello& hello : {wrong_magic, too_many, unknown_kind, farewell}) {
    const Descriptor socket = call(2);
    ASSERT_TRUE(send_hello(socket.get(), hello, {}).ok());
    EXPECT_EQ(answer(socket).status().code(), StatusCode::kUnavailable) << "hung up";
  }
  for (const std::size_t bytes : {1u, 8u, 500u, 4000u}) {
    const Descriptor socket = call(2);
    const std::string nonsense(bytes, 'x');
    ASSERT_EQ(::write(socket.get(), nonsense.data(), bytes), static_cast<ssize_t>(bytes));
    EXPECT_EQ(answer(socket).status().code(), StatusCode::kUnavailable) << bytes;
  }
  const Descriptor files_unasked = call(2);
  Hello with_file;
  with_file.region_count = 1;
  ASSERT_TRUE(send_hello(files_unasked.get(), with_file, {node.region->fd()}).ok());
  EXPECT_EQ(answer(files_unasked).status().code(), StatusCode::kUnavailable);
  const Descriptor silent = call(2);
  expect_alive(node);
}

/// A caller waits until the process may open files again; meanwhile the node, which cannot let it in, does not look
/// again and again.
TEST_F(Meeting, ANodeWithoutFreeDescriptorsRests) {
  ShmNode node(2, directory_.path());
  const Descriptor first = call(2);
  ASSERT_TRUE(send_hello(first.get(), Hello{.node = 1}, {}).ok());
  ASSERT_TRUE(answer(first).ok());
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  Descriptor caller(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const Descriptor free(::dup(caller.get()));  // every smaller number is taken
  const rlimit none{.rlim_cur = static_cast<rlim_t>(free.get() + 1), .rlim_max = files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (directory_ / "node-2.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  const int called = ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const std::clock_t began = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const std::clock_t took = std::clock() - began;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_EQ(called, 0);
  EXPECT_LT(took, CLOCKS_PER_SEC / 20) << "processor time, of half a second";
  ASSERT_TRUE(send_hello(caller.get(), Hello{.node = 1}, {}).ok());
  EXPECT_TRUE(answer(caller).ok());
}

/// A caller with a key of its own, packet by packet.
class Caller {
 public:
  Caller(Descriptor socket, const ClusterKey& key) : socket_(std::move(socket)), key_(key) {
    mine_.node = 1;
    make_fresh(mine_.challenge);
  }
  Result<ReceivedHello> say(const Hello& hello) {
    const Process self = Process::self().value();
    EXPECT_TRUE(
        send_hello(socket_.get(), hello, hello.passes_process == 1 ? std::vector{self.handle()} : std::vector<int>())
            .ok());
    if (!wait_readable(socket_.get(), kMeetingPatience_us)) return Status(StatusCode::kUnavailable, "no answer");
    return receive_hello(socket_.get());
  }
  Hello greet() { return theirs_ = say(mine_).value().hello; }
  /// The greeting with a proof for the answer to it.
  Hello proven() {
    Hello hello = mine_;
    hello.proof = proof_of(key_, Side::kCaller, mine_, theirs_);
    hello.passes_process = 1;
    return hello;
  }

 private:
  const Descriptor socket_;
  const ClusterKey key_;
  Hello mine_, theirs_;
};

TEST_F(Meeting, OnlyWhoProvesToHaveTheKeyGetsMemoryAndOnce) {
  const ClusterKey key = key_of("secret");
  ShmNode node(2, directory_.path(), 0, key);
  Caller friendly(call(2), key), again(call(2), key), wrong(call(2), key_of("guess"));
  EXPECT_EQ(friendly.greet().region_count, 0) << "nothing before the proof";
  const Hello proof = friendly.proven();
  const Result<ReceivedHello> let_in = friendly.say(proof);
  ASSERT_TRUE(let_in.ok()) << let_in.status().message();
  EXPECT_EQ(let_in->files.size(), 2u);
  EXPECT_FALSE(friendly.say(proof).ok()) << "the same proof on the same connection";
  (void)again.greet();
  EXPECT_FALSE(again.say(proof).ok()) << "an old proof on another connection";
  (void)wrong.greet();
  EXPECT_FALSE(wrong.say(wrong.proven()).ok());
}

TEST_F(Meeting, AnAnswerersOwnProofIsNoProofOfTheCaller) {
  const ClusterKey key = key_of("secret");
  ShmNode node(2, directory_.path(), 0, key);
  Caller mirror(call(2), key);
  Hello reflected = mirror.proven();
  reflected.proof = mirror.greet().proof;
  EXPECT_FALSE(mirror.say(reflected).ok());
}

TEST_F(Meeting, ARunDirectoryThatOthersMayUseIsRefused) {
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0750), 0);
  const auto fabric = open_shm_fabric({.node = {.node = 1}, .run_directory = directory_.path()});
  EXPECT_EQ(fabric.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(fabric.status().message().find("chmod 700"), std::string::npos) << fabric.status().message();
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0700), 0);
}

/// A refusal ends the start of all nodes, while a process that has ended is waited for in its next life.
TEST_F(Meeting, AProcessThatHasEndedIsNotRefusedAsAnImpostor) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Descriptor here(ends[0]), there(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto handle = [&] { return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))); };
  Descriptor lives = handle(), ended = handle(), no_process(::memfd_create("plain", 0));
  EXPECT_EQ(Process::at_other_end(here.get(), std::move(lives)).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Process::at_other_end(here.get(), std::move(no_process)).status().code(), StatusCode::kFailedPrecondition);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(Process::at_other_end(here.get(), std::move(ended)).status().code(), StatusCode::kUnavailable);
}

/// Something that listens where a node should: whatever it answers, connect() ends with an error.
TEST_F(Meeting, AnImpostorsAnswerIsRefused) {
  ShmNode node(1, directory_.path());
  const Descriptor listener = listen_at(directory_ / "node-2.sock").value();
  const Process self = Process::self().value();
  const auto greet_with = [&](const Hello& hello, std::vector<int> files) {
    files.insert(files.begin(), self.handle());
    std::thread impostor([&] {
      if (!wait_readable(listener.get(), kMeetingPatience_us)) return;
      const Descriptor socket(::accept(listener.get(), nullptr, nullptr));
      if (!wait_readable(socket.get(), kMeetingPatience_us)) return;
      const Hello caller = receive_hello(socket.get()).value().hello;
      Hello greeting = hello;
      greeting.region_count = greeting.passes_process = 0;
      greeting.kind = HelloKind::kGreeting;
      greeting.proof = proof_of({}, Side::kAnswerer, caller, greeting);
      (void)send_hello(socket.get(), greeting, {});
      if (!wait_readable(socket.get(), kMeetingPatience_us) || !receive_hello(socket.get()).ok()) return;
      (void)send_hello(socket.get(), hello, files);
      // Whoever has passed its process's pidfd would be killed with its former lives unless it says that it has mapped
      // nothing.
      const Result<ReceivedHello> last = wait_readable(socket.get(), kMeetingPatience_us)
                                             ? receive_hello(socket.get())
                                             : Status(StatusCode::kUnavailable, "it says nothing");
      EXPECT_TRUE(last.ok() && last->hello.kind == HelloKind::kFarewell);
    });
    const Status status = node.fabric->open_endpoint().value()->connect(2, kMeetingPatience_us).status();
    impostor.join();
    return status;
  };
  Hello other_node;
  other_node.node = 3;
  other_node.passes_process = 1;
  EXPECT_NE(greet_with(other_node, {}).message().find("in the place of"), std::string::npos);
  Hello refuses;
  refuses.node = 2;
  refuses.kind = HelloKind::kNoProcess;
  refuses.passes_process = 1;
  EXPECT_NE(greet_with(refuses, {}).message().find("refuses"), std::string::npos);
  Hello lies;
  lies.node = 2;
  lies.passes_process = 1;
  lies.region_count = 1;
  lies.regions[0] = {.bytes = std::uint64_t{1} << 40, .id = 1, .address = {}};
  EXPECT_NE(greet_with(lies, {node.region->fd()}).message().find("smaller than it says"), std::string::npos);
  Descriptor not_sealed(::memfd_create("plain", 0));
  ASSERT_EQ(::ftruncate(not_sealed.get(), 4096), 0);
  lies.regions[0].bytes = 4096;
  EXPECT_NE(greet_with(lies, {not_sealed.get()}).message().find("may shrink"), std::string::npos);
  const Descriptor too_large(::memfd_create("large", MFD_ALLOW_SEALING));
  lies.regions[0].bytes = std::uint64_t{1} << 48;  // more than a process can map
  ASSERT_EQ(::ftruncate(too_large.get(), static_cast<off_t>(lies.regions[0].bytes)), 0);
  ASSERT_EQ(::fcntl(too_large.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  const Status unmapped = greet_with(lies, {too_large.get()});
  EXPECT_EQ(unmapped.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(unmapped.message().find("MiB of region 1"), std::string::npos) << unmapped.message();
  lies.regions[0].bytes = node.region->size();
  EXPECT_NE(greet_with(lies, {node.region->fd()}).message().find("has no bells"), std::string::npos);
}

TEST_F(Meeting, ANodeThatComesLaterIsWaitedFor) {
  ShmNode node(1, directory_.path());
  std::latch met(1);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const ShmNode second(2, directory_.path());
    met.wait();
  });
  EXPECT_TRUE(node.fabric->open_endpoint().value()->connect(2, kMeetingPatience_us).ok());
  met.count_down();
  late.join();
}

}  // namespace
}  // namespace granary::rdma::shm
