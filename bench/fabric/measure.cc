#include "bench/fabric/measure.h"

#include <array>
#include <chrono>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "rdma/fiber/fabric_wait.h"
#include "rdma/shm/shm_fabric.h"
#include "src/base/random.h"

namespace granary::bench::fabric {
namespace {

using namespace rdma;

constexpr std::size_t kChain = 16;
constexpr NodeId kHere = 1;
constexpr NodeId kThere = 2;
constexpr std::uint64_t kTimeout_us = 1'000'000;
constexpr std::uint64_t kSlot = 4096;  // of local memory, for each operation under way

struct Node {
  std::unique_ptr<memory::Region> region;
  std::unique_ptr<Fabric> fabric;
};

Result<Node> open_node(NodeId id, std::uint64_t bytes, const std::string& run_directory) {
  auto region = memory::Region::map({.reserve_bytes = bytes, .prefault_bytes = bytes, .shared = true});
  if (!region.ok()) return region.status();
  auto fabric = shm::open_shm_fabric({.node = {.node = id}, .run_directory = run_directory});
  if (!fabric.ok()) return fabric.status();
  if (Status status = (*fabric)->register_region({.id = 1}, **region); !status.ok()) return status;
  if (Status status = (*fabric)->listen(); !status.ok()) return status;
  return Node{std::move(region).value(), std::move(fabric).value()};
}

class Bench {
 public:
  Bench(const Load& load, Node& here, Node& there, Endpoint& endpoint, ConnectionId connection)
      : load_(load),
        local_(here.region->base()),
        target_(there.region->base()),
        places_(there.region->size() / kSlot),
        endpoint_(endpoint),
        connection_(connection),
        random_(load.seed) {}

  std::vector<Figure> run() {
    for (const std::uint32_t bytes : {64u, 256u, 1024u}) {
      copies(bytes);
      for (const OperationKind kind : {OperationKind::kRead, OperationKind::kWrite}) operations(kind, bytes);
    }
    operations(OperationKind::kCompareSwap, 8);
    for (const std::size_t fibers : {1u, 4u, 16u}) in_fibers(fibers);
    return std::move(figures_);
  }

 private:
  /// A random place, which is known only when the word at `after` (always zero) has been loaded.
  std::uint64_t place_after(const char* after) {
    std::uint64_t zero;
    std::memcpy(&zero, after, sizeof zero);
    return (random_.below(places_) + zero) * kSlot;
  }

  template <typename Work>
  void figure(const char* operation, std::uint32_t bytes, std::string how, Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t count = work();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    figures_.push_back({operation, bytes, std::move(how), time.count() / static_cast<double>(count)});
  }

  void copies(std::uint32_t bytes) {
    figure("memcpy", bytes, "one by one", [&] {
      for (std::uint64_t i = 0; i < load_.operations; ++i) std::memcpy(local_, target_ + place_after(local_), bytes);
      return load_.operations;
    });
    figure("memcpy", bytes, fmt::format("chains of {}", kChain), [&] {
      for (std::uint64_t i = 0; i < load_.operations; ++i) {
        std::memcpy(local_ + i % kChain * kSlot, target_ + random_.below(places_) * kSlot, bytes);
      }
      return load_.operations;
    });
  }

  Operation operation_at(OperationKind kind, std::uint64_t offset, std::uint32_t bytes, std::size_t slot) const {
    const RemoteAddress at{.node = kThere, .region = 1, .generation = 1, .offset = offset};
    char* const mine = local_ + slot * kSlot;
    if (kind == OperationKind::kRead) return Operation::read(mine, at, bytes);
    if (kind == OperationKind::kWrite) return Operation::write(at, mine, bytes);
    return Operation::compare_swap(at, 0, 0, reinterpret_cast<std::uint64_t*>(mine));
  }

  void post_and_wait(std::span<const Operation> chain) {
    Completion completion;
    (void)endpoint_.post(connection_, chain, Signal::kYes, 0);
    while (endpoint_.poll({&completion, 1}) == 0) {
    }
  }

  void operations(OperationKind kind, std::uint32_t bytes) {
    constexpr const char* kNames[] = {"READ", "WRITE", "CAS"};
    const char* const name = kNames[static_cast<int>(kind)];
    figure(name, bytes, "one by one", [&] {
      for (std::uint64_t i = 0; i < load_.operations; ++i) {
        const Operation operation = operation_at(kind, place_after(local_), bytes, 0);
        post_and_wait({&operation, 1});
      }
      return load_.operations;
    });
    figure(name, bytes, fmt::format("chains of {}", kChain), [&] {
      std::array<Operation, kChain> chain;
      const std::uint64_t chains = load_.operations / kChain + 1;
      for (std::uint64_t i = 0; i < chains; ++i) {
        for (std::size_t slot = 0; slot < kChain; ++slot) {
          chain[slot] = operation_at(kind, random_.below(places_) * kSlot, bytes, slot);
        }
        post_and_wait(chain);
      }
      return chains * kChain;
    });
  }

  void in_fibers(std::size_t fibers) {
    figure("READ", 64, fmt::format("{} fiber{}", fibers, fibers == 1 ? "" : "s"), [&] {
      fiber::FiberEndpoint shared(endpoint_);
      base::ThreadWaiter idle;
      fiber::Scheduler scheduler([&] { shared.poll(); }, idle);
      const std::uint64_t each = load_.operations / fibers + 1;
      for (std::size_t slot = 0; slot < fibers; ++slot) {
        scheduler.spawn([&, slot] {
          fiber::Chains chains(scheduler, shared);
          for (std::uint64_t i = 0; i < each; ++i) {
            const Operation read = operation_at(OperationKind::kRead, random_.below(places_) * kSlot, 64, slot);
            (void)chains.post(connection_, {&read, 1});
            (void)chains.wait();
          }
        });
      }
      scheduler.run();
      return each * fibers;
    });
  }

  const Load& load_;
  char* const local_;
  char* const target_;
  const std::uint64_t places_;
  Endpoint& endpoint_;
  const ConnectionId connection_;
  base::Random random_;
  std::vector<Figure> figures_;
};

}  // namespace

Result<std::vector<Figure>> measure(const Load& load) {
  Result<Node> there = open_node(kThere, load.region_bytes, load.run_directory);
  if (!there.ok()) return there.status();
  Result<Node> here = open_node(kHere, kChain * kSlot, load.run_directory);
  if (!here.ok()) return here.status();
  auto endpoint = here->fabric->open_endpoint();
  if (!endpoint.ok()) return endpoint.status();
  const Result<ConnectionId> connection = (*endpoint)->connect(kThere, kTimeout_us);
  if (!connection.ok()) return connection.status();
  return Bench(load, *here, *there, **endpoint, *connection).run();
}

}  // namespace granary::bench::fabric
