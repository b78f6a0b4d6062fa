#include "bench/fabric/measure.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "bench/fabric/nodes.h"
#include "bench/fabric/post_and_wait.h"
#include "bench/harness/histogram.h"
#include "rdma/fiber/fabric_wait.h"
#include "src/base/random.h"
#include "src/base/tsc_clock.h"

namespace granary::bench::fabric {
namespace {

using namespace rdma;

constexpr std::size_t kLongest = 16;   // the longest chain
constexpr std::uint64_t kSlot = 4096;  // bytes of local memory for each operation under way
constexpr std::uint64_t kTouchStep = 4096;
constexpr std::uint64_t kTimedPart = 4;   // one operation in this many is run again with a clock
constexpr std::uint64_t kRingPart = 100;  // one operation in this many is a ring, which takes so much longer
constexpr std::uint64_t kLongSleep_us = 10'000'000;
constexpr std::array kSweep{1u, 2u, 4u, 8u, 16u};

std::string chains_of(std::size_t length) { return length == 1 ? "one by one" : fmt::format("chains of {}", length); }

class FabricBench {
 public:
  FabricBench(const Load& load, Nodes& nodes)
      : load_(load),
        nodes_(nodes),
        local_(nodes.here->base()),
        target_(nodes.there->base()),
        places_(nodes.there->size() / kSlot),
        random_(load.seed),
        end_(load.signals) {}

  Result<std::vector<OperationFigure>> run() {
    touch();
    for (const std::uint32_t bytes : {64u, 256u, 1024u}) {
      for (const std::size_t length : kSweep) {
        if (bytes != 64 && length != 1 && length != kLongest) continue;
        copies(bytes, length);
        operations(OperationKind::kRead, bytes, length);
        operations(OperationKind::kWrite, bytes, length);
      }
    }
    for (const std::size_t length : {std::size_t{1}, kLongest}) operations(OperationKind::kCompareSwap, 8, length);
    for (const std::size_t fibers : kSweep) in_fibers(fibers);
    rings();
    if (!failure_.ok()) return failure_;
    return std::move(figures_);
  }

 private:
  /// Returns a random place, which is known only when the word at `after` (always zero) has been loaded.
  std::uint64_t place_after(const char* after) {
    std::uint64_t zero;
    std::memcpy(&zero, after, sizeof zero);
    return (random_.below(places_) + zero) * kSlot;
  }
  std::uint64_t place() { return random_.below(places_) * kSlot; }

  /// Reaches every page once, by operations and by the processor, so that no figure includes the time in which the
  /// system maps it.
  /// maps it.
  void touch() {
    std::array<Operation, kLongest> chain;
    for (std::uint64_t begin = 0; begin < nodes_.there->size(); begin += kLongest * kTouchStep) {
      std::size_t length = 0;
      for (std::uint64_t at = begin; at < nodes_.there->size() && length < kLongest; at += kTouchStep) {
        static_cast<void>(*static_cast<const volatile char*>(target_ + at));
        chain[length] = operation_at(OperationKind::kRead, at, sizeof(std::uint64_t), length);
        ++length;
      }
      post_and_wait(std::span(chain).first(length));
    }
  }
  /// Whether a loop is to end at this turn: a signal has asked for it, or an operation has failed.
  bool over_at(std::uint64_t turn) const { return !failure_.ok() || end_.requested_at(turn); }

  template <typename Work>
  void figure(const char* operation, std::uint32_t bytes, std::size_t length, Work&& work) {
    const std::uint64_t turns = std::max<std::uint64_t>(load_.operations / length, 1);
    figure({operation, bytes, chains_of(length)}, length, turns, work);
  }
  /// Measures a figure. `work` does a turn of `length` operations. It runs in two loops, the first without a clock.
  template <typename Work>
  void figure(OperationFigure result, std::size_t length, std::uint64_t turns, Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t turn = 0; turn < turns && !over_at(turn); ++turn) work();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    Histogram ticks;
    std::uint64_t last = clock_.ticks();
    for (std::uint64_t turn = 0; turn < std::max<std::uint64_t>(turns / kTimedPart, 1); ++turn) {
      if (over_at(turn)) return;
      work();
      const std::uint64_t now = clock_.ticks();
      ticks.record(now - last);
      last = now;
    }
    result.nanoseconds = time.count() / static_cast<double>(turns * length);
    result.length = length;
    result.p50_ns = clock_.nanoseconds(ticks.percentile(50));
    result.p99_ns = clock_.nanoseconds(ticks.percentile(99));
    add(std::move(result));
  }
  /// Adds a figure, unless it was cut short.
  void add(OperationFigure result) {
    if (end_.requested() || !failure_.ok()) return;
    figures_.push_back(std::move(result));
    end_.have_figure();
  }

  void copies(std::uint32_t bytes, std::size_t length) {
    figure("memcpy", bytes, length, [&] {
      if (length == 1) {
        std::memcpy(local_, target_ + place_after(local_), bytes);
        return;
      }
      for (std::size_t slot = 0; slot < length; ++slot) std::memcpy(local_ + slot * kSlot, target_ + place(), bytes);
    });
  }

  Operation operation_at(OperationKind kind, std::uint64_t offset, std::uint32_t bytes, std::size_t slot) const {
    const RemoteAddress at = nodes_.first.plus(offset);
    char* const mine = local_ + slot * kSlot;
    if (kind == OperationKind::kRead) return Operation::read(mine, at, bytes);
    if (kind == OperationKind::kWrite) return Operation::write(at, mine, bytes);
    return Operation::compare_swap(at, 0, 0, reinterpret_cast<std::uint64_t*>(mine));
  }

  void post_and_wait(std::span<const Operation> chain) {
    const PostResult done = fabric::post_and_wait(*nodes_.endpoint, nodes_.connection, chain);
    if (done != PostResult::kPosted) [[unlikely]]
      failure_ = failure_of(done);
  }

  void operations(OperationKind kind, std::uint32_t bytes, std::size_t length) {
    constexpr const char* kNames[] = {"READ", "WRITE", "CAS"};
    std::array<Operation, kLongest> chain;
    figure(kNames[static_cast<int>(kind)], bytes, length, [&] {
      if (length == 1) {
        chain[0] = operation_at(kind, place_after(local_), bytes, 0);
      } else {
        for (std::size_t slot = 0; slot < length; ++slot) chain[slot] = operation_at(kind, place(), bytes, slot);
      }
      post_and_wait(std::span(chain).first(length));
    });
  }

  void in_fibers(std::size_t fibers) {
    fiber::FiberEndpoint shared(*nodes_.endpoint);
    base::ThreadWaiter idle;
    fiber::Scheduler scheduler([&] { shared.poll(); }, idle);
    const std::uint64_t each = load_.operations / fibers + 1;
    for (std::size_t slot = 0; slot < fibers; ++slot) {
      scheduler.spawn([&, slot] {
        fiber::Chains chains(scheduler, shared);
        for (std::uint64_t i = 0; i < each && !over_at(i); ++i) {
          const Operation read = operation_at(OperationKind::kRead, place(), 64, slot);
          const PostResult posted = chains.post(nodes_.connection, {&read, 1});
          if (!chains.wait() || posted != PostResult::kPosted) [[unlikely]]
            failure_ = failure_of(posted == PostResult::kPosted ? PostResult::kBroken : posted);
        }
      });
    }
    const auto begin = std::chrono::steady_clock::now();
    scheduler.run();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    add({"READ", 64, fmt::format("{} fiber{}", fibers, fibers == 1 ? "" : "s"), 1,
         time.count() / static_cast<double>(each * fibers)});
  }

  /// Measures two workers that ring each other and sleep in between. This is the least cost of a message to a worker
  /// that has nothing to do.
  /// least.
  void rings() {
    std::atomic<bool> over{false};
    std::thread answerer([&] {
      while (nodes_.answerer->sleep(kLongSleep_us) && !over.load(std::memory_order_relaxed))
        (void)nodes_.answerer->ring(nodes_.back, nodes_.endpoint->bell());
    });
    const std::uint64_t turns = std::max<std::uint64_t>(load_.operations / kRingPart, 1);
    figure({"ring", 0, "asleep, round trip"}, 1, turns, [&] {
      (void)nodes_.endpoint->ring(nodes_.connection, nodes_.answerer->bell());
      (void)nodes_.endpoint->sleep(kLongSleep_us);
    });
    over.store(true, std::memory_order_relaxed);
    (void)nodes_.endpoint->ring(nodes_.connection, nodes_.answerer->bell());
    answerer.join();
  }

  const Load& load_;
  Nodes& nodes_;
  char* const local_;
  char* const target_;
  const std::uint64_t places_;
  const base::TscClock clock_ = base::TscClock::calibrated();
  base::Random random_;
  EarlyEnd end_;
  Status failure_;  ///< why an operation has failed
  std::vector<OperationFigure> figures_;
};

OperationFigure figure_of(const std::vector<OperationFigure>& figures, std::string_view operation, std::size_t length) {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const OperationFigure& figure) {
    return figure.operation == operation && figure.bytes == 64 && figure.how == chains_of(length);
  });
  return found == figures.end() ? OperationFigure{} : *found;
}

}  // namespace

Result<std::vector<OperationFigure>> measure(const Load& load) {
  Result<Nodes> nodes = open_nodes(load.provider, load.region_bytes, kLongest * kSlot, load.run_directory);
  if (!nodes.ok()) return nodes.status();
  return FabricBench(load, *nodes).run();
}

std::vector<Comparison> compare(const std::vector<OperationFigure>& figures) {
  const double copy = figure_of(figures, "memcpy", 1).p50_ns;
  const double copies = figure_of(figures, "memcpy", kLongest).nanoseconds;
  std::vector<Comparison> all{{"p50 of a READ of 64 bytes, beside a dependent copy",
                               figure_of(figures, "READ", 1).p50_ns, copy, 1.25 * copy + 20},
                              {"mean of READs of 64 bytes in chains of 16, beside memcpy",
                               figure_of(figures, "READ", kLongest).nanoseconds, copies, copies / 0.6}};
  std::erase_if(all, [](const Comparison& one) { return one.ours == 0 || one.plain == 0; });
  return all;
}

}  // namespace granary::bench::fabric
