#include "cluster_config/membership/local/local_board.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cluster_config/membership/local/bells.h"
#include "cluster_config/membership/local/heartbeat.h"
#include "cluster_config/membership/local/membership_files.h"
#include "cluster_config/membership/local/silence.h"
#include "src/base/file.h"
#include "src/base/threads.h"

namespace granary::membership {
namespace {

/// How long a board waits for the next look after a ring or an end. A process that ends lets go of its bell, and a
/// little later or earlier of its mark.
constexpr std::uint64_t kSettleUs = 2'000;
constexpr int kSettleTurns = 10;
/// How often a board looks for changes without being rung: a process that should have rung it may have been killed, or
/// may open no more files.
constexpr std::uint64_t kPulseUs = 100'000;
/// How many beats, and looks at those of others, there are in a time-out. So many in a row must be missed before a node
/// is removed.
constexpr std::uint64_t kBeats = 20;

/// Beats as long as it lives, whatever the node's other threads wait for. It shows that the process has processors.
class Heart {
 public:
  Heart(Heartbeat& heartbeat, std::uint64_t period_us)
      : heartbeat_(heartbeat),
        thread_([this, period_us] { run(std::chrono::microseconds(period_us)); }) {}
  ~Heart() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.notify_all();
    thread_.join();
  }

 private:
  void run(std::chrono::microseconds period) {
    base::name_thread("gr-heartbeat");
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, period, [this] { return stopping_; })) heartbeat_.beat();
  }

  Heartbeat& heartbeat_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;  ///< guarded by mutex_
  std::thread thread_;
};

class LocalBoard final : public Board {
 public:
  LocalBoard(MembershipFiles files, std::uint64_t timeout_us, Bells bells, int alarm)
      : files_(std::move(files)),
        timeout_us_(timeout_us),
        bells_(std::move(bells)),
        alarm_(alarm) {}
  ~LocalBoard() override {
    (void)unmark();
    ::close(alarm_);
  }

  std::string name() const override { return fmt::format("the directory '{}'", files_.directory()); }

  Status mark(NodeId id, const std::string& who) override {
    const Result<int> mark = files_.lock_mark(id, who);
    if (!mark.ok()) return mark.status();
    id_ = id;
    mark_ = *mark;
    marked_by_ = ::getpid();
    const Status beats = begin_heartbeat();
    if (!beats.ok()) (void)unmark();
    bells_.ring_all();
    return beats;
  }
  Status unmark() override {
    heart_.reset();
    if (mark_ < 0) return {};
    MembershipFiles::unlock_mark(std::exchange(mark_, -1), marked_by_);
    bells_.ring_all();
    return {};
  }
  Result<Marks> marks() override;
  /// Returns the word, which is kept until this object ends, as workers may ask for it that long.
  const std::atomic<std::uint64_t>* verdict() const override { return own_ ? &own_->verdict() : nullptr; }

  Result<Document> read() override { return files_.newest(); }
  Result<bool> replace(std::uint64_t version, const std::string& text) override {
    Result<bool> added = files_.add(version, text, id_);
    if (added.ok() && *added) bells_.ring_all();
    return added;
  }

  void wait(std::uint64_t timeout_us) override;
  void wake() override {
    const std::uint64_t one = 1;
    (void)!::write(alarm_, &one, sizeof one);
  }
  std::uint64_t linger_us() const override { return 0; }
  std::uint64_t pulse_us() const override { return std::min(kPulseUs, timeout_us_ / kBeats); }

 private:
  Status begin_heartbeat();
  bool stands_still(NodeId id);

  const MembershipFiles files_;
  const std::uint64_t timeout_us_;
  Bells bells_;
  const int alarm_;             ///< the eventfd of wake()
  std::vector<pollfd> polled_;  ///< only for the waiting thread; kept for its memory
  int settling_ = 0;            ///< only for the waiting thread: how many looks to take soon after a ring or an end
  NodeId id_ = 0;
  int mark_ = -1;
  pid_t marked_by_ = 0;           ///< the process that has made the mark
  std::optional<Heartbeat> own_;  ///< the heartbeat of this node, once it had a mark
  std::optional<Heart> heart_;    ///< beats while the node has its mark
  Silence silence_;               ///< the silence of the other nodes
};

Status LocalBoard::begin_heartbeat() {
  Result<Heartbeat> own = Heartbeat::begin(files_.heartbeat(id_), timeout_us_);
  if (!own.ok()) return own.status();
  own_.emplace(std::move(*own));
  heart_.emplace(*own_, pulse_us());
  return {};
}

/// Returns the marks. The mark of a node that stands still does not count any more once the node is condemned
/// (heartbeat.h).
Result<Marks> LocalBoard::marks() {
  const auto lost = [](std::string why) { return Status(StatusCode::kMembershipLost, std::move(why)); };
  if (mark_ >= 0 && !files_.is_mark(mark_, id_)) return lost(fmt::format("its mark is gone from {}", name()));
  if (mark_ >= 0 && own_->condemned()) {
    return lost(
        fmt::format("this process stood still for {} ms or longer (session_timeout_ms of the cluster file), and "
                    "another node has removed it",
                    timeout_us_ / 1000));
  }
  Result<std::vector<NodeId>> nodes = files_.locked_marks();
  if (!nodes.ok()) return nodes.status();
  std::erase_if(*nodes, [this](NodeId id) { return stands_still(id); });
  return Marks{.nodes = std::move(*nodes), .own_valid_until_us = kForever};
}

/// Whether the node, whose mark is there, is condemned, by this call or before. A heartbeat that cannot be looked at is
/// no standstill.
bool LocalBoard::stands_still(NodeId id) {
  if (mark_ >= 0 && id == id_) return false;
  const Result<Heartbeat> heartbeat = Heartbeat::look(files_.heartbeat(id));
  if (!heartbeat.ok()) return false;
  const std::uint64_t word = heartbeat->word();
  if ((word & Heartbeat::kCondemned) != 0) return true;
  // The node said itself for how long it may stand still. If its file differs from this one's, the longer time counts.
  // Such nodes cannot be members together.
  const std::uint64_t timeout_us = std::max(timeout_us_, heartbeat->timeout_us());
  if (silence_.of(id, word, timeout_us, lifetime_us()) < timeout_us) return false;
  Result<Heartbeat> reached = Heartbeat::reach(files_.heartbeat(id));
  if (!reached.ok() || !reached->condemn(word)) return false;
  bells_.ring_all();
  return true;
}

void LocalBoard::wait(std::uint64_t timeout_us) {
  timeout_us = std::min(timeout_us, settling_ > 0 ? kSettleUs : pulse_us());
  if (settling_ > 0) --settling_;
  polled_.clear();
  polled_.push_back({alarm_, POLLIN, 0});
  bells_.add_to(polled_);
  const timespec timeout{0, static_cast<long>(timeout_us * 1000)};
  if (::ppoll(polled_.data(), polled_.size(), &timeout, nullptr) <= 0) return;
  std::uint64_t count = 0;
  (void)!::read(alarm_, &count, sizeof count);
  if (bells_.take(polled_.data() + 1)) settling_ = kSettleTurns;
}

}  // namespace

Result<std::unique_ptr<Board>> open_local_board(const std::string& run_directory, std::uint64_t timeout_us) {
  Result<MembershipFiles> files = MembershipFiles::open(run_directory);
  if (!files.ok()) return files.status();
  Result<Bells> bells = Bells::hang(files->directory());
  if (!bells.ok()) return bells.status();
  const int alarm = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (alarm < 0) return base::file_error("wait for changes of", files->directory(), errno);
  return std::unique_ptr<Board>(std::make_unique<LocalBoard>(std::move(*files), timeout_us, std::move(*bells), alarm));
}

}  // namespace granary::membership
