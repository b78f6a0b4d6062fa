#include "cluster_config/membership/local/local_board.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "cluster_config/membership/local/membership_files.h"
#include "src/base/file.h"

namespace granary::membership {
namespace {

/// Of other members' doings: a configuration made, a mark locked or closed. Looking at marks is none of these.
constexpr std::uint32_t kEvents = IN_CREATE | IN_CLOSE_WRITE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
/// The event of a file's closing comes a little before its lock is free.
constexpr std::uint64_t kSettleUs = 2'000;
constexpr int kSettleTurns = 10;
/// In case that an event was lost.
constexpr std::uint64_t kPulseUs = 100'000;

class LocalBoard final : public Board {
 public:
  LocalBoard(MembershipFiles files, int events, int alarm) : files_(std::move(files)), events_(events), alarm_(alarm) {}
  ~LocalBoard() override {
    (void)unmark();
    ::close(events_);
    ::close(alarm_);
  }

  std::string name() const override { return fmt::format("the directory '{}'", files_.directory()); }

  Status mark(NodeId id, const std::string& who) override {
    const Result<int> mark = files_.lock_mark(id, who);
    if (!mark.ok()) return mark.status();
    id_ = id;
    mark_ = *mark;
    return {};
  }
  Status unmark() override {
    if (mark_ >= 0) ::close(std::exchange(mark_, -1));
    return {};
  }
  Result<Marks> marks() override {
    if (mark_ >= 0 && !files_.is_mark(mark_, id_)) {
      return Status(StatusCode::kMembershipLost, fmt::format("its mark is gone from {}", name()));
    }
    Result<std::vector<NodeId>> nodes = files_.locked_marks();
    if (!nodes.ok()) return nodes.status();
    return Marks{.nodes = std::move(*nodes), .own_valid_until_us = kForever};
  }

  Result<Document> read() override { return files_.newest(); }
  Result<bool> replace(std::uint64_t version, const std::string& text) override {
    return files_.add(version, text, id_);
  }

  void wait(std::uint64_t timeout_us) override;
  void wake() override {
    const std::uint64_t one = 1;
    (void)!::write(alarm_, &one, sizeof one);
  }
  std::uint64_t linger_us() const override { return 0; }
  std::uint64_t pulse_us() const override { return kPulseUs; }

 private:
  const MembershipFiles files_;
  const int events_;  ///< inotify
  const int alarm_;   ///< eventfd of wake()
  int settling_ = 0;  ///< the waiting thread's: looks to take soon after an event
  NodeId id_ = 0;
  int mark_ = -1;
};

void LocalBoard::wait(std::uint64_t timeout_us) {
  timeout_us = std::min(timeout_us, settling_ > 0 ? kSettleUs : kPulseUs);
  if (settling_ > 0) --settling_;
  std::array<pollfd, 2> polled = {{{events_, POLLIN, 0}, {alarm_, POLLIN, 0}}};
  const timespec timeout{0, static_cast<long>(timeout_us * 1000)};
  if (::ppoll(polled.data(), polled.size(), &timeout, nullptr) <= 0) return;
  alignas(inotify_event) std::array<char, 4096> bytes;
  while (::read(events_, bytes.data(), bytes.size()) > 0) settling_ = kSettleTurns;
  std::uint64_t count = 0;
  (void)!::read(alarm_, &count, sizeof count);
}

}  // namespace

Result<std::unique_ptr<Board>> open_local_board(const std::string& run_directory) {
  Result<MembershipFiles> files = MembershipFiles::open(run_directory);
  if (!files.ok()) return files.status();
  const int events = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  const int alarm = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const std::string directory = files->directory();
  std::unique_ptr<Board> board = std::make_unique<LocalBoard>(std::move(*files), events, alarm);
  if (events < 0 || alarm < 0 || ::inotify_add_watch(events, directory.c_str(), kEvents) < 0) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("{} (the limits are fs.inotify.max_user_instances and RLIMIT_NOFILE)",
                              base::file_error("watch", directory, errno).message()));
  }
  return board;
}

}  // namespace granary::membership
