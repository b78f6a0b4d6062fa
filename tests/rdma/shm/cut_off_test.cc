// Over shared memory a process that has mapped a node's memory is fenced by its death only. So whoever holds the memory
// is killed, in whatever state it is, and nobody else. What all providers promise of cut_off(): tests/rdma/conformance.

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "rdma/shm/hello.h"
#include "rdma/shm/process.h"
#include "src/base/shared_words.h"
#include "tests/rdma/shm/two_nodes.h"
#include "tests/support/crash_child.h"

namespace granary::rdma::shm {
namespace {

using tests::CrashChild;

class CutOff : public testing::Test {
 protected:
  static constexpr NodeId kHere = 1;
  static constexpr NodeId kGuest = 2;
  static constexpr std::uint64_t kPatience_us = 10'000'000;

  /// A life of node 2 that is let in as node 1's guest by hand, maps node 1's region 1 and runs `body` with it.
  CrashChild guest(
      const std::function<void(Descriptor socket, std::uint64_t* memory, const CrashChild::Report&)>& body) {
    return CrashChild([this, body](const CrashChild::Report& report) {
      Descriptor socket = call();
      ReceivedHello welcome = be_let_in(socket, Process::self().value().handle());
      void* const memory = ::mmap(nullptr, welcome.hello.regions[1].bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                  welcome.files[1].get(), 0);
      body(std::move(socket), static_cast<std::uint64_t*>(memory), report);
    });
  }
  std::string socket_path() const { return directory_ / ("node-" + std::to_string(kHere) + ".sock"); }
  Descriptor call() {
    Result<Descriptor> socket = connect_to(socket_path());
    for (int i = 0; i < 10'000 && !socket.ok(); ++i) {
      ::usleep(1000);
      socket = connect_to(socket_path());
    }
    return std::move(socket).value();
  }
  static ReceivedHello hear(const Descriptor& socket) {
    EXPECT_TRUE(wait_readable(socket.get(), kPatience_us));
    return receive_hello(socket.get()).value();
  }
  /// The answer to both packets, the second with this pidfd.
  static ReceivedHello be_let_in(const Descriptor& socket, int process) {
    Hello mine;
    mine.node = kGuest;
    mine.generation = 3;
    make_fresh(mine.challenge);
    EXPECT_TRUE(send_hello(socket.get(), mine, {}).ok());
    const Hello theirs = hear(socket).hello;
    mine.proof = proof_of({}, Side::kCaller, mine, theirs);
    mine.passes_process = 1;
    EXPECT_TRUE(send_hello(socket.get(), mine, {process}).ok());
    return hear(socket);
  }
  static void store_for_ever(std::uint64_t* memory) {
    for (std::uint64_t i = 1; true; ++i) base::store_word(memory, i);
  }
  /// Cuts node 2 off, which this child is.
  static void expect_killed(ShmNode& here, CrashChild& child) {
    const Status status = here.fabric->cut_off(kGuest, 3);
    EXPECT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(child.ended());
    EXPECT_TRUE(child.wait().killed);
    const std::uint64_t after = base::load_word(here.word(0));
    ::usleep(20'000);
    EXPECT_EQ(base::load_word(here.word(0)), after);
  }
  /// Returns when node 1 has heard what was said to it before: it hears one after the other.
  void wait_until_heard() { EXPECT_EQ(be_let_in(call(), Process::self().value().handle()).files.size(), 2u); }

  tests::TemporaryDirectory directory_;
};

TEST_F(CutOff, KillsAGuestThatIsStopped) {
  CrashChild child = guest([](Descriptor, std::uint64_t* memory, const CrashChild::Report& report) {
    report("in");
    store_for_ever(memory);
  });
  ShmNode here(kHere, directory_.path());
  ASSERT_TRUE(child.run_until("in"));
  child.signal(SIGSTOP);
  ASSERT_TRUE(child.wait_until_stopped());
  const std::uint64_t stopped = base::load_word(here.word(0));
  expect_killed(here, child);
  EXPECT_EQ(base::load_word(here.word(0)), stopped);
}

TEST_F(CutOff, KillsAGuestThatHasClosedItsSocketAndStoresOn) {
  CrashChild child = guest([](Descriptor socket, std::uint64_t* memory, const CrashChild::Report& report) {
    socket.reset();
    report("closed");
    store_for_ever(memory);
  });
  ShmNode here(kHere, directory_.path());
  ASSERT_TRUE(child.run_until("closed"));
  wait_until_heard();
  expect_killed(here, child);
}

TEST_F(CutOff, SparesAGuestThatHasGivenTheMemoryBack) {
  CrashChild child([this](const CrashChild::Report& report) {
    {
      ShmNode there(kGuest, directory_.path());
      const ShmWorker worker(there, kHere);
    }
    report("left");
    ::pause();
  });
  ShmNode here(kHere, directory_.path());
  ASSERT_TRUE(child.run_until("left"));
  EXPECT_TRUE(here.fabric->cut_off(kGuest, 3).ok());
  child.signal(SIGTERM);
  EXPECT_FALSE(child.wait().killed) << "it ended by the later signal";
}

/// The watcher's thread has to run before it hears a farewell, and nobody waits for that here.
TEST_F(CutOff, SparesWhoHasClosedItsFabricHoweverLateThatIsHeard) {
  for (int i = 0; i < 50; ++i) {
    CrashChild child([this](const CrashChild::Report& report) {
      {
        ShmNode there(kGuest, directory_.path());
        const ShmWorker worker(there, kHere);
        report("up");
        while (base::load_word(there.word(0)) == 0) ::usleep(100);
      }
      report("left");
      ::pause();
    });
    ShmNode here(kHere, directory_.path());
    ASSERT_TRUE(child.run_until("up"));
    ShmWorker worker(here, kGuest);
    const Operation go = Operation::fetch_add({.node = kGuest, .region = 1, .generation = 1}, 1, here.word(0));
    worker.run({&go, 1});
    ASSERT_TRUE(child.run_until("left"));
    EXPECT_TRUE(here.fabric->cut_off(kGuest, 3).ok());
    child.signal(SIGTERM);
    EXPECT_FALSE(child.wait().killed) << "it ended by the later signal";
  }
}

TEST_F(CutOff, KillsAHostThatHasNeverConnected) {
  CrashChild child([this](const CrashChild::Report& report) {
    const ShmNode there(kGuest, directory_.path());
    report("up");
    ::pause();
  });
  ASSERT_TRUE(child.run_until("up"));
  ShmNode here(kHere, directory_.path());
  const ShmWorker worker(here, kGuest);
  expect_killed(here, child);
  EXPECT_FALSE(worker.endpoint->status(worker.connection).ok());
}

TEST_F(CutOff, BreaksConnectionsOfThisProcessAndKillsItNot) {
  ShmNode here(kHere, directory_.path());
  ShmNode there(kGuest, directory_.path());
  const ShmWorker in(there, kHere);
  const ShmWorker out(here, kGuest);
  ASSERT_TRUE(here.fabric->cut_off(kGuest, 1).ok());
  EXPECT_FALSE(out.endpoint->status(out.connection).ok());
  while (in.endpoint->status(in.connection).ok()) ASSERT_TRUE(in.endpoint->sleep(kPatience_us));
  const Status refused = in.endpoint->connect(kHere, kPatience_us).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("has cut off generation 1 of node 2"), std::string::npos) << refused.message();
}

TEST_F(CutOff, WhoPassesNoPidfdOfItselfIsNotLetIn) {
  CrashChild other([](const CrashChild::Report& report) {
    report(std::to_string(::getpid()));
    ::pause();
  });
  ASSERT_TRUE(other.run_until_beginning("", std::chrono::seconds(10)));
  const Descriptor of_other(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(other.lines().front()), 0)));
  const Descriptor of_none(::memfd_create("plain", 0));
  const Process self = Process::self().value();
  const ShmNode here(kHere, directory_.path());
  for (const int passed : {of_none.get(), of_other.get()}) {
    const ReceivedHello answer = be_let_in(call(), passed);
    EXPECT_EQ(answer.hello.kind, HelloKind::kNoProcess);
    EXPECT_TRUE(answer.files.empty());
  }
  EXPECT_EQ(be_let_in(call(), self.handle()).files.size(), 2u);
}

TEST_F(CutOff, SaysThatAProcessOfAnotherPidNamespaceMustBeEndedFromElsewhere) {
  CrashChild child = guest([](Descriptor, std::uint64_t* memory, const CrashChild::Report&) {
    base::store_word(memory, 1);
    ::pause();
  });
  CrashChild enclosed([this](const CrashChild::Report& report) {
    if (::unshare(CLONE_NEWPID) != 0) return report("not allowed");
    const pid_t first = ::fork();  // the first process of the namespace, which sees no other
    if (first != 0) {
      ::waitpid(first, nullptr, 0);
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const ShmNode here(kHere, directory_.path());
    while (base::load_word(here.word(0)) == 0) ::usleep(1000);
    report(here.fabric->cut_off(kGuest, 3).message());
    while (!here.fabric->cut_off(kGuest, 3).ok()) ::usleep(1000);
    report("cut off");
    ::_exit(0);
  });
  ASSERT_TRUE(enclosed.run_until_beginning("no", std::chrono::seconds(10)));
  if (enclosed.lines().front() == "not allowed") GTEST_SKIP() << "no PID namespace may be made here";
  EXPECT_NE(enclosed.lines().front().find("its process in another PID namespace runs, and this one cannot kill it"),
            std::string::npos)
      << enclosed.lines().front();
  child.kill();
  EXPECT_TRUE(enclosed.run_until("cut off"));
}

TEST_F(CutOff, SaysWhichProcessHasNotEndedAndMayBeRepeated) {
  constexpr std::size_t kMuch = std::size_t{256} << 20;  // the system takes a while to have that back
  CrashChild child([this](const CrashChild::Report&) {
    const std::vector<char> memory(kMuch, 1);
    const Descriptor socket = call();
    Hello mine;
    mine.passes_process = 1;
    (void)send_hello(socket.get(), mine, {Process::self().value().handle()});
    ::pause();
  });
  const Descriptor listener = listen_at(socket_path()).value();
  ASSERT_TRUE(wait_readable(listener.get(), kPatience_us));
  const Descriptor socket(::accept(listener.get(), nullptr, nullptr));
  Result<Process> process = Process::at_other_end(socket.get(), std::move(hear(socket).process));
  ASSERT_TRUE(process.ok()) << process.status().message();
  const int number = process->number();
  const Processes processes{std::make_shared<const Process>(std::move(process).value())};
  const Status late = end_processes(kGuest, processes, /*timeout_us=*/1);
  EXPECT_EQ(late.code(), StatusCode::kUnavailable);
  EXPECT_NE(late.message().find("node 2 is not cut off: its process " + std::to_string(number)), std::string::npos)
      << late.message();
  EXPECT_TRUE(end_processes(kGuest, processes, kPatience_us).ok());
  EXPECT_TRUE(child.wait().killed);
}

}  // namespace
}  // namespace granary::rdma::shm
