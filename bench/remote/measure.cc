#include "bench/remote/measure.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "bench/fabric/post_and_wait.h"
#include "bench/harness/histogram.h"
#include "bench/harness/zipf.h"
#include "bench/remote/nodes.h"
#include "bench/remote/peer_reads.h"
#include "kvstore/remote/header_sweep.h"
#include "rdma/fiber/rounds.h"
#include "src/base/tsc_clock.h"
#include "src/cluster/record_access/key_read.h"

namespace granary::bench::remote {
namespace {

using kvstore::remote::LocationCache;
using kvstore::remote::LocationCacheCounters;

constexpr std::size_t kTogether = 16;  // how many lookups a round has, and how many READs a chain
constexpr std::uint64_t kTimeout_us = 5'000'000;

constexpr std::uint64_t kTouchStep = 4096;

/// Returns the distance between the buffers of lookups that travel together. It is an odd number of cache lines, so
/// that the buffers do not share cache sets.
std::uint64_t buffer_stride(const Load& load, const Tables& tables) {
  std::uint64_t bytes = cluster::KeyRead::buffer_bytes(tables.ours, sizeof(std::uint64_t));
  if (load.data.peers) {
    for (const PeerTable& table : {tables.peers.hopscotch, tables.peers.inlined})
      bytes = std::max<std::uint64_t>(bytes, HopscotchRead::buffer_bytes(table));
  }
  const std::uint64_t lines = bytes / base::kCacheLine + 1;
  return (lines | 1) * base::kCacheLine;
}

unsigned reads_of(const cluster::KeyRead& step) { return step.lookup_reads() + 1; }
unsigned reads_of(const PeerRead& step) { return step.reads(); }

/// The way in which a figure's operations are done.
struct Pass {
  std::uint64_t number = 0;  ///< differs from all other passes', so that each draws keys that no cache has seen
  std::uint64_t rounds = 0;
  std::size_t together = kTogether;  ///< operations in each round
  Histogram* ticks = nullptr;        ///< takes the time of each round; nullptr if rounds are not timed
};

class RemoteBench {
 public:
  RemoteBench(const Load& load, const Nodes& nodes, rdma::fiber::Peers& peers)
      : load_(load),
        tables_(nodes.tables),
        table_(nodes.tables.ours),
        stride_(buffer_stride(load, nodes.tables)),
        mine_(*nodes.buffers),
        endpoint_(*nodes.endpoint),
        peers_(peers),
        popularity_(load.data.keys, load.theta),
        cache_(load.location_cache),
        end_(load.signals) {}

  Result<std::vector<LookupFigure>> run() {
    touch();
    if (!failure_.ok()) return failure_;
    figure("READs of the records", nullptr, kAlso,
           [this](LookupFigure& figure, const Pass& pass) { plain(figure, pass); });
    ours("lookups, no cache", nullptr, kAlso);
    ours("lookups, cache from empty", &cache_, kNever);
    ours("lookups, warm cache", &cache_, kAlso);
    fill_cache();
    ours("lookups, full cache", &cache_, kAlso);
    if (load_.data.peers) {
      theirs<CuckooRead>("cuckoo, 3 (Pilaf)", tables_.peers.cuckoo);
      theirs<HopscotchRead>("hopscotch, 8 (FaRM)", tables_.peers.hopscotch);
      theirs<HopscotchRead>("hopscotch, 8 (FaRM), values in the slots", tables_.peers.inlined);
    }
    if (!failure_.ok()) return failure_;
    return std::move(figures_);
  }

 private:
  enum Alone { kAlso, kNever };  ///< whether operations are also done one at a time

  template <typename Work>
  void figure(const char* what, LocationCache* cache, Alone alone, Work&& work) {
    LookupFigure figure{.what = what};
    counters_.emplace();
    const auto begin = std::chrono::steady_clock::now();
    work(figure, Pass{.number = ++passes_, .rounds = rounds()});
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    figure.nanoseconds = time.count() / static_cast<double>(rounds() * kTogether);
    figure.reads /= static_cast<double>(rounds() * kTogether);
    if (cache != nullptr) {
      figure.hits = counters_->hits;
      figure.misses = counters_->misses;
      figure.stale = counters_->stale;
      figure.replacements = counters_->replacements;
    }
    if (alone == kAlso) {
      Histogram ticks;
      LookupFigure again;
      work(again, Pass{.number = ++passes_, .rounds = rounds(), .together = 1, .ticks = &ticks});
      figure.alone_p50_ns = clock_.nanoseconds(ticks.percentile(50));
      figure.alone_p99_ns = clock_.nanoseconds(ticks.percentile(99));
      figure.wrong += again.wrong;
    }
    if (end_.requested() || !failure_.ok()) return;  // the figure was cut short
    figures_.push_back(figure);
    end_.have_figure();
  }

  void ours(const char* what, LocationCache* cache, Alone alone) {
    figure(what, cache, alone, [&](LookupFigure& figure, const Pass& pass) {
      lookups<cluster::KeyRead>(figure, pass, cache, [&](auto& step, const std::uint64_t& key, char* buffer) {
        return &step.emplace(table_, bytes_of(key), buffer, cache, *counters_);
      });
    });
  }

  template <typename Read>
  void theirs(const char* what, const PeerTable& table) {
    figure(what, nullptr, kAlso, [&](LookupFigure& figure, const Pass& pass) {
      lookups<Read>(figure, pass, nullptr, [&](auto& step, const std::uint64_t& key, char* buffer) {
        return &step.emplace(table, table_, key, buffer);
      });
    });
  }

  std::uint64_t rounds() const { return load_.lookups / kTogether + 1; }
  std::uint64_t next_key(base::Random& random) const { return popularity_.next_scrambled(random); }
  char* buffer(std::size_t number) const { return mine_.base() + number * stride_; }

  void post_and_wait(std::span<const rdma::Operation> chain) {
    const auto connection = peers_.find(kOwner);
    const rdma::PostResult done =
        connection ? fabric::post_and_wait(endpoint_, *connection, chain) : rdma::PostResult::kBroken;
    if (done != rdma::PostResult::kPosted) [[unlikely]]
      failure_ = fabric::failure_of(done);
  }

  /// READs every page of the owner once, so that no figure has the time in which the system maps it.
  void touch() {
    std::array<rdma::Operation, kTogether> chain;
    for (std::uint64_t begin = 0; begin < tables_.bytes && failure_.ok(); begin += kTogether * kTouchStep) {
      std::size_t length = 0;
      for (std::uint64_t at = begin; at < tables_.bytes && length < kTogether; at += kTouchStep)
        chain[length++] = rdma::Operation::read(buffer(0), table_.at(at), base::kWord);
      post_and_wait(std::span(chain).first(length));
    }
  }

  /// Has the cache learn all places by READs of the main header, as nodes do beside their first look-ups. A cache that
  /// has no room for all keys keeps what it has.
  void fill_cache() {
    kvstore::remote::HeaderSweep sweep(table_, cache_);
    std::vector<rdma::Operation> chain;
    while (const auto piece = failure_.ok() && !end_.requested() ? sweep.next() : std::nullopt) {
      chain.clear();
      sweep.append(*piece, mine_.base(), chain);
      post_and_wait(chain);
      if (failure_.ok()) sweep.take(*piece, reinterpret_cast<const kvstore::hash::Bucket*>(mine_.base()));
    }
  }

  /// Measures plain READs of records. They lie side by side in the order of their keys, and a READ has as many bytes as
  /// lookups read of them.
  void plain(LookupFigure& figure, const Pass& pass) {
    base::Random random(load_.seed, pass.number);
    const std::uint64_t first = first_record();
    const std::uint64_t stride = record::shared_block_bytes(sizeof(std::uint64_t), load_.data.value_bytes);
    const auto bytes =
        static_cast<std::uint32_t>(record::shared_record_bytes(sizeof(std::uint64_t), load_.data.value_bytes));
    std::array<rdma::Operation, kTogether> chain;
    for (std::uint64_t round = 0; round < pass.rounds && failure_.ok() && !end_.requested_at(round); ++round) {
      for (std::size_t i = 0; i < pass.together; ++i)
        chain[i] = rdma::Operation::read(buffer(i), table_.at(first + next_key(random) * stride), bytes);
      const std::uint64_t begin = clock_of(pass);
      post_and_wait(std::span(chain).first(pass.together));
      if (pass.ticks != nullptr) pass.ticks->record(clock_.ticks() - begin);
    }
    figure.reads = static_cast<double>(pass.rounds * pass.together);
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

  /// Measures lookups. `make` begins the step of a key and returns its address.
  template <typename Read, typename Make>
  void lookups(LookupFigure& figure, const Pass& pass, const LocationCache* cache, Make&& make) {
    base::Random random(load_.seed, pass.number);
    std::uint64_t reads = 0;
    in_fiber([&](rdma::fiber::Rounds& together) {
      std::array<std::uint64_t, kTogether> keys{}, next{};
      std::array<std::optional<Read>, kTogether> steps;
      std::array<rdma::fiber::Step*, kTogether> all{};
      draw(random, cache, std::span(next).first(pass.together));
      for (std::uint64_t round = 0; round < pass.rounds && !end_.requested_at(round); ++round) {
        keys = next;
        draw(random, cache, std::span(next).first(pass.together));
        const std::uint64_t begin = clock_of(pass);
        for (std::size_t i = 0; i < pass.together; ++i) all[i] = make(steps[i], keys[i], buffer(i));
        together.run(std::span(all).first(pass.together));
        if (pass.ticks != nullptr) pass.ticks->record(clock_.ticks() - begin);
        for (std::size_t i = 0; i < pass.together; ++i) {
          reads += reads_of(*steps[i]);
          figure.wrong += steps[i]->outcome() == cluster::AccessOutcome::kDone ? 0 : 1;
        }
      }
    });
    figure.reads = static_cast<double>(reads);
  }
  std::uint64_t clock_of(const Pass& pass) const { return pass.ticks != nullptr ? clock_.ticks() : 0; }

  /// Draws the keys of a round, one round ahead, and prefetches their places in the cache. A system that has requests
  /// waiting can do the same.
  void draw(base::Random& random, const LocationCache* cache, std::span<std::uint64_t> keys) const {
    for (std::uint64_t& key : keys) {
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
  const Tables& tables_;
  const kvstore::remote::RemoteTable& table_;
  const std::uint64_t stride_;
  memory::Region& mine_;
  rdma::Endpoint& endpoint_;
  rdma::fiber::Peers& peers_;
  const Zipf popularity_;
  LocationCache cache_;
  EarlyEnd end_;
  std::uint64_t passes_ = 0;
  Status failure_;  ///< tells why a chain has failed
  const base::TscClock clock_ = base::TscClock::calibrated();
  std::optional<LocationCacheCounters> counters_;
  std::vector<LookupFigure> figures_;
};

}  // namespace

Result<std::vector<LookupFigure>> measure(const Load& load) {
  auto nodes = open_nodes(load.provider, load.data, load.run_directory);
  if (!nodes.ok()) return nodes.status();
  const std::uint64_t room = std::max<std::uint64_t>(kTogether * buffer_stride(load, nodes->tables),
                                                     kvstore::remote::HeaderSweep::kPieceBytes);
  if (Status status = listen(*nodes, room); !status.ok()) return status;
  rdma::fiber::Peers peers(*nodes->endpoint);
  if (Status status = peers.connect(kOwner, kTimeout_us); !status.ok()) return status;
  return RemoteBench(load, *nodes, peers).run();
}

}  // namespace granary::bench::remote
