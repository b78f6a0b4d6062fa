#include "bench/remote/measure.h"

#include <array>
#include <chrono>
#include <optional>

#include "bench/harness/zipf.h"
#include "bench/remote/nodes.h"
#include "rdma/fiber/rounds.h"
#include "src/cluster/record_access/key_read.h"

namespace granary::bench::remote {
namespace {

using kvstore::remote::LocationCache;
using kvstore::remote::LocationCacheCounters;

constexpr std::size_t kTogether = 16;  // lookups of one round, READs of one chain
constexpr std::uint64_t kTimeout_us = 5'000'000;

/// Of the buffers of lookups that travel together: an odd number of cache lines, so that they do not share cache sets.
std::uint64_t buffer_stride(const kvstore::remote::RemoteTable& table) {
  const std::uint64_t lines = cluster::KeyRead::buffer_bytes(table, sizeof(std::uint64_t)) / base::kCacheLine + 1;
  return (lines | 1) * base::kCacheLine;
}

class Bench {
 public:
  Bench(const Load& load, const kvstore::remote::RemoteTable& table, memory::Region& mine, rdma::Endpoint& endpoint,
        rdma::fiber::Peers& peers)
      : load_(load),
        table_(table),
        mine_(mine),
        endpoint_(endpoint),
        peers_(peers),
        popularity_(load.data.keys, load.theta),
        cache_(load.location_cache) {}

  std::vector<Figure> run() {
    figure("READs of the records", nullptr, [this](Figure& figure) { plain(figure); });
    figure("lookups, no cache", nullptr, [this](Figure& figure) { lookups(figure, nullptr); });
    figure("lookups, cache from empty", &cache_, [this](Figure& figure) { lookups(figure, &cache_); });
    figure("lookups, warm cache", &cache_, [this](Figure& figure) { lookups(figure, &cache_); });
    return std::move(figures_);
  }

 private:
  template <typename Work>
  void figure(const char* what, LocationCache* cache, Work&& work) {
    Figure figure{.what = what};
    counters_.emplace();
    const auto begin = std::chrono::steady_clock::now();
    work(figure);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    figure.nanoseconds = time.count() / static_cast<double>(rounds() * kTogether);
    if (cache != nullptr) {
      figure.hits = counters_->hits;
      figure.misses = counters_->misses;
      figure.stale = counters_->stale;
      figure.replacements = counters_->replacements;
    }
    figures_.push_back(figure);
  }

  std::uint64_t rounds() const { return load_.lookups / kTogether + 1; }
  /// Popular keys lie anywhere, not side by side.
  std::uint64_t next_key(base::Random& random) const {
    std::uint64_t state = popularity_.next(random);
    return base::splitmix64(state) % load_.data.keys;
  }
  char* buffer(std::size_t number) const { return mine_.base() + number * buffer_stride(table_); }

  /// Records lie side by side in the order of their keys, and are as many bytes as lookups read of them.
  void plain(Figure& figure) {
    base::Random random(load_.seed);
    const std::uint64_t first = first_record();
    const std::uint64_t stride = record::shared_block_bytes(sizeof(std::uint64_t), load_.data.value_bytes);
    const auto bytes =
        static_cast<std::uint32_t>(record::shared_record_bytes(sizeof(std::uint64_t), load_.data.value_bytes));
    const rdma::ConnectionId connection = *peers_.find(kOwner);
    std::array<rdma::Operation, kTogether> chain;
    for (std::uint64_t round = 0; round < rounds(); ++round) {
      for (std::size_t i = 0; i < kTogether; ++i) {
        chain[i] = rdma::Operation::read(buffer(i), table_.at(first + next_key(random) * stride), bytes);
      }
      rdma::Completion completion;
      (void)endpoint_.post(connection, chain, rdma::Signal::kYes, 1);
      while (endpoint_.poll({&completion, 1}) == 0) {
      }
    }
    figure.reads = 1;
  }

  std::uint64_t first_record() {
    std::uint64_t offset = 0;
    const std::uint64_t key = 0;
    in_fiber([&](rdma::fiber::Rounds& rounds) {
      kvstore::remote::Lookup lookup(table_, bytes_of(key), buffer(0));
      rounds.run(lookup);
      offset = cluster::RemoteRecord::at_entry(table_.at(lookup.offset()), {}, 0, 0).at.offset;
    });
    return offset;
  }

  void lookups(Figure& figure, LocationCache* cache) {
    base::Random random(load_.seed);
    std::uint64_t reads = 0;
    in_fiber([&](rdma::fiber::Rounds& together) {
      std::array<std::uint64_t, kTogether> keys, next;
      std::array<std::optional<cluster::KeyRead>, kTogether> steps;
      std::array<rdma::fiber::Step*, kTogether> all;
      draw(random, cache, &next);
      for (std::uint64_t round = 0; round < rounds(); ++round) {
        keys = next;
        draw(random, cache, &next);
        for (std::size_t i = 0; i < kTogether; ++i) {
          all[i] = &steps[i].emplace(table_, bytes_of(keys[i]), buffer(i), cache, *counters_);
        }
        together.run(all);
        for (const auto& step : steps) {
          reads += step->lookup_reads() + 1;
          figure.wrong += step->outcome() == cluster::Outcome::kDone ? 0 : 1;
        }
      }
    });
    figure.reads = static_cast<double>(reads) / static_cast<double>(rounds() * kTogether);
  }

  /// The keys of a round, one round ahead: whoever has requests waiting knows what comes.
  void draw(base::Random& random, const LocationCache* cache, std::array<std::uint64_t, kTogether>* keys) const {
    for (std::uint64_t& key : *keys) {
      key = next_key(random);
      if (cache != nullptr) cache->prefetch(kvstore::hash::HashedKey(bytes_of(key)).word);
    }
  }

  template <typename Body>
  void in_fiber(Body&& body) {
    base::ThreadWaiter idle;
    rdma::fiber::FiberEndpoint shared(endpoint_);
    rdma::fiber::Scheduler scheduler([&] { shared.poll(); }, idle);
    scheduler.spawn([&] {
      rdma::fiber::FiberWaiter waiter(scheduler);
      rdma::fiber::Rounds rounds(scheduler, shared, peers_, waiter);
      body(rounds);
    });
    scheduler.run();
  }

  static std::string_view bytes_of(const std::uint64_t& key) {
    return {reinterpret_cast<const char*>(&key), sizeof key};
  }

  const Load& load_;
  const kvstore::remote::RemoteTable table_;
  memory::Region& mine_;
  rdma::Endpoint& endpoint_;
  rdma::fiber::Peers& peers_;
  const Zipf popularity_;
  LocationCache cache_;
  std::optional<LocationCacheCounters> counters_;
  std::vector<Figure> figures_;
};

}  // namespace

Result<std::vector<Figure>> measure(const Load& load) {
  auto nodes = open_nodes(load.provider, load.data, load.run_directory);
  if (!nodes.ok()) return nodes.status();
  if (Status status = listen(*nodes, kTogether * buffer_stride(nodes->table)); !status.ok()) return status;
  rdma::fiber::Peers peers(*nodes->endpoint);
  if (Status status = peers.connect(kOwner, kTimeout_us); !status.ok()) return status;
  return Bench(load, nodes->table, *nodes->buffers, *nodes->endpoint, peers).run();
}

}  // namespace granary::bench::remote
