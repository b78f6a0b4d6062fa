#pragma once
// Asks a board again if it does not answer while a node starts. Servers that stand still for a few seconds must not end
// a node that does not serve yet, since that node has nothing that others could wait for.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cluster_config/membership/board.h"

namespace granary::membership {

/// Forwards all calls. A change that got no answer may have been made. Then replace() finds another version, and says
/// so.
class PatientBoard final : public Board {
 public:
  /// `patience_us` counts from a call that gets no answer. `give_up` ends it early.
  PatientBoard(std::unique_ptr<Board> board, std::uint64_t patience_us, std::function<bool()> give_up)
      : board_(std::move(board)),
        patience_us_(patience_us),
        give_up_(std::move(give_up)) {}

  /// While one lives, calls of any thread are made again. Otherwise the first answer counts.
  class Patience {
   public:
    explicit Patience(PatientBoard& board) : waiting_(board.waiting_) {
      waiting_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Patience() { waiting_.fetch_sub(1, std::memory_order_relaxed); }
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    std::atomic<unsigned>& waiting_;
  };

  std::string name() const override { return board_->name(); }
  Status mark(NodeId id, const std::string& who) override {
    return ask([&] { return board_->mark(id, who); });
  }
  Status unmark() override {
    return ask([&] { return board_->unmark(); });
  }
  Result<Marks> marks() override {
    return ask([&] { return board_->marks(); });
  }
  Result<Document> read() override {
    return ask([&] { return board_->read(); });
  }
  Result<bool> replace(std::uint64_t version, const std::string& text) override {
    return ask([&] { return board_->replace(version, text); });
  }
  const std::atomic<std::uint64_t>* verdict() const override { return board_->verdict(); }
  void wait(std::uint64_t timeout_us) override { board_->wait(timeout_us); }
  void wake() override { board_->wake(); }
  std::uint64_t linger_us() const override { return board_->linger_us(); }
  std::uint64_t fence_lasts_us() const override { return board_->fence_lasts_us(); }
  std::uint64_t pulse_us() const override { return board_->pulse_us(); }

 private:
  static constexpr std::chrono::milliseconds kPause{20};

  static StatusCode code_of(const Status& status) { return status.code(); }
  template <typename T>
  static StatusCode code_of(const Result<T>& result) {
    return result.status().code();
  }

  template <typename Call>
  auto ask(Call call) -> decltype(call()) {
    auto answer = call();
    const std::uint64_t end = lifetime_us() + patience_us_;
    while (code_of(answer) == StatusCode::kUnavailable && waiting_.load(std::memory_order_relaxed) != 0 &&
           lifetime_us() < end && !give_up_()) {
      std::this_thread::sleep_for(kPause);  // the board's wait() belongs to the thread that steps
      answer = call();
    }
    return answer;
  }

  const std::unique_ptr<Board> board_;
  const std::uint64_t patience_us_;
  const std::function<bool()> give_up_;
  std::atomic<unsigned> waiting_{0};  ///< how many Patience objects live; it publishes nothing
};

}  // namespace granary::membership
