#include "rdma/verbs/probe.h"

#include <atomic>
#include <bit>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "rdma/verbs/cm_events.h"
#include "src/base/tsc_clock.h"

namespace granary::rdma::verbs {
namespace {

constexpr std::uint64_t kConnect_us = 10'000'000;
constexpr std::uint64_t kAnswer_us = 10'000'000;
constexpr std::uint64_t kTry_us = 10'000;
constexpr std::size_t kLineWords = 8;

Status unfit(std::string_view what) {
  return Status(
      StatusCode::kUnavailable,
      fmt::format("this RDMA device cannot be used: {}; update its firmware and driver, or take another device", what));
}

class Probe {
 public:
  Probe(Fabric& fabric, memory::Region& region, bool tolerant)
      : fabric_(fabric),
        tolerant_(tolerant),
        line_(reinterpret_cast<std::uint64_t*>(region.base())),
        buffer_(line_ + 512) {}

  Status run() {
    auto endpoint = fabric_.open_endpoint();
    if (!endpoint.ok()) return endpoint.status();
    endpoint_ = std::move(endpoint).value();
    const Result<ConnectionId> connection = endpoint_->connect(fabric_.node().node, kConnect_us);
    if (!connection.ok()) return connection.status();
    connection_ = *connection;
    Status status = atomics_work();
    if (status.ok() && !tolerant_) status = failed_swap_writes_nothing();
    if (status.ok()) status = words_ascend();
    return status;
  }

 private:
  RemoteAddress line() const { return {fabric_.node().node, kOwnRegion, fabric_.node().generation, 0}; }
  std::atomic_ref<std::uint64_t> word(std::size_t n) { return std::atomic_ref(line_[n]); }

  Status do_now(const Operation& operation) {
    if (endpoint_->post(connection_, {&operation, 1}, Signal::kYes, 0) != PostResult::kPosted)
      return endpoint_->status(connection_);
    Completion done;
    for (const std::uint64_t end = base::monotonic_us() + kAnswer_us; endpoint_->poll({&done, 1}) == 0;) {
      if (base::monotonic_us() > end) return unfit("an operation on this node's own memory did not complete");
    }
    return endpoint_->status(connection_);
  }

  Status atomics_work() {
    word(0).store(5);
    for (const auto& [operation, after] : {std::pair(Operation::compare_swap(line(), 4, 9, buffer_), 5u),
                                           std::pair(Operation::compare_swap(line(), 5, 9, buffer_), 9u),
                                           std::pair(Operation::fetch_add(line(), 3, buffer_), 12u)}) {
      const std::uint64_t before = word(0).load();
      if (Status status = do_now(operation); !status.ok()) return status;
      if (buffer_[0] != before || word(0).load() != after) return unfit("its remote atomics give wrong results");
    }
    return {};
  }

  /// Repeats an operation for a while, during which another thread calls `disturb` all the time. `check` is called
  /// after each.
  Status while_disturbed(const Operation& operation, const std::function<void()>& disturb,
                         const std::function<Status()>& check) {
    std::atomic<bool> over{false};
    std::thread disturber([&] {
      while (!over.load(std::memory_order_relaxed)) disturb();
    });
    Status status;
    for (const std::uint64_t end = base::monotonic_us() + kTry_us; status.ok() && base::monotonic_us() < end;) {
      status = do_now(operation);
      if (status.ok()) status = check();
    }
    over.store(true, std::memory_order_relaxed);
    disturber.join();
    return status;
  }

  Status failed_swap_writes_nothing() {
    std::uint64_t stored = 0;
    std::atomic<bool> lost{false};
    return while_disturbed(
        Operation::compare_swap(line(), ~std::uint64_t{0}, 0, buffer_),
        [&] {
          word(0).store(++stored, std::memory_order_release);
          for (int again = 0; again < 8; ++again) {
            if (word(0).load(std::memory_order_acquire) != stored) lost.store(true, std::memory_order_relaxed);
          }
        },
        [&] {
          return lost.load(std::memory_order_relaxed)
                     ? unfit(
                           "a compare-and-swap that fails stores back what it found, over what was written meanwhile "
                           "(Soft-RoCE of Linux 6.1 does; docs/rdma.md)")
                     : Status();
        });
  }

  Status words_ascend() {
    for (std::size_t n = 0; n < kLineWords; ++n) word(n).store(0);
    std::uint32_t round = 0;
    return while_disturbed(
        Operation::read(buffer_, line(), kLineWords * sizeof(std::uint64_t)),
        [&] {
          // Both halves are alike, and the last word is stored first. So a reader in ascending order never sees a word
          // that is older than the one before it.
          ++round;
          for (std::size_t n = kLineWords; n-- > 0;)
            word(n).store(std::uint64_t{round} << 32 | round, std::memory_order_release);
        },
        [&] {
          for (std::size_t n = 0; n < kLineWords; ++n) {
            if (buffer_[n] != std::rotl(buffer_[n], 32)) return unfit("a READ tears words of 8 bytes");
            if (n > 0 && buffer_[n] < buffer_[n - 1])
              return unfit("a READ within a cache line does not load its words in ascending order");
          }
          return Status();
        });
  }

  Fabric& fabric_;
  const bool tolerant_;
  std::uint64_t* const line_;
  std::uint64_t* const buffer_;
  std::unique_ptr<Endpoint> endpoint_;
  ConnectionId connection_ = 0;
};

}  // namespace

Status probe(Fabric& fabric, OwnRegion& own, bool tolerant) { return Probe(fabric, own.region(), tolerant).run(); }

}  // namespace granary::rdma::verbs
