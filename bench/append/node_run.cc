#include "bench/append/node_run.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "bench/harness/database_figures.h"
#include "bench/harness/fresh_database.h"

namespace granary::bench::append {
namespace {

class NodeRun {
 public:
  NodeRun(const NodePlace& place, const AppendOptions& options, const std::function<bool()>& stop)
      : place_(place),
        options_(options),
        stop_(stop),
        slots_(place.lives.counts(), options.max_length, place.share) {}

  Result<NodeEnd> run() {
    const Status ready = open();
    if (!ready.ok()) return ready;
    if (Status met = meet_at_start(); !met.ok()) return met;
    Status ended = work_to_the_end();
    // The log's failure explains the other errors: what was not logged cannot be read either.
    if (const Status log = cluster_->database().log_status(); !log.ok()) ended = log;
    if (ended.ok()) ended = place_.journal.status();
    const ClusterFigures elsewhere = figures_of(*cluster_);
    const Status left = cluster_->leave();  // leaving puts all that the clients were told of into the log
    if (ended.ok()) ended = left;
    return NodeEnd{.elsewhere = elsewhere, .ended = std::move(ended)};
  }

 private:
  /// Meets the other nodes at the start. They have met long before a node that comes back.
  Status meet_at_start() {
    if (place_.lives.earlier() == 0) return place_.rendezvous.await(Meeting::kLoaded);
    place_.rendezvous.tell_return();
    return {};
  }
  Status work_to_the_end() {
    if (Status done = run_clients(); !done.ok()) return done;
    // If nodes do not come any more, reading still shows whether the data that they have left are right.
    const Status met = place_.rendezvous.await(Meeting::kMeasured);
    Status read;
    const Status worked =
        on_worker(clients() + place_.share.node, 1, [&](Client& reader) { read = read_everything(reader, slots_); });
    for (const Status& each : {met, worked, read}) {
      if (!each.ok()) return each;
    }
    return place_.rendezvous.await(Meeting::kChecked);
  }

  Status open() {
    auto joined = Cluster::join(place_.cluster);
    if (!joined.ok()) return in_flags_of_node(joined.status());
    cluster_ = std::move(*joined);
    const auto home = [nodes = cluster_->nodes()](std::string_view bytes) {
      const auto key = static_cast<history::Key>(Lists::number_of(bytes));
      return nodes[std::min<std::size_t>(KeySlots::home(key), nodes.size() - 1)];
    };
    TableOptions layout{.max_value_bytes = static_cast<std::uint32_t>(slots_.longest() * sizeof(Element))};
    if (options_.hash) {
      layout.index = IndexKind::kHash;
      layout.expected_keys = slots_.size() + options_.transactions * options_.max_ops / options_.max_length;
    }
    const auto table = cluster_->create_table("lists", layout, Placement{home});
    if (!table.ok()) return table.status();
    clients_place_ = std::make_unique<ClientPlace>(ClientPlace{.database = cluster_->database(),
                                                               .lists = Lists(*table, layout_for(options_)),
                                                               .slots = slots_,
                                                               .options = options_,
                                                               .clients = clients(),
                                                               .earlier_lives = place_.lives.earlier(),
                                                               .journal = &place_.journal,
                                                               .keep = false});
    return cluster_->start();
  }

  Status run_clients() {
    const std::uint32_t workers = options_.workers;
    std::vector<Status> endings(workers);
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < workers; ++i) {
      threads.emplace_back([this, i, workers, &ending = endings[i]] {
        ending = on_worker((place_.share.node * workers + i) * options_.fibers, options_.fibers,
                           [this](Client& client) { work(client); });
      });
    }
    for (std::jthread& thread : threads) thread.join();
    for (const Status& ending : endings) {
      if (!ending.ok()) return ending;
    }
    return cluster_->status();
  }

  void work(Client& client) {
    const auto end = Client::Clock::now() + std::chrono::duration<double>(options_.seconds);
    const std::uint64_t share = (options_.transactions + place_.share.nodes - 1) / place_.share.nodes;
    const auto goes_on = [&] {
      if (stop_() || !place_.journal.status().ok() || !cluster_->status().ok()) return false;
      if (options_.until_stopped) return true;
      return begun_.fetch_add(1, std::memory_order_relaxed) < share &&
             (options_.seconds == 0 || Client::Clock::now() < end);
    };
    while (goes_on()) client.run_one();
  }

  /// Returns the number of clients of all nodes.
  std::uint32_t clients() const { return options_.workers * options_.fibers * place_.share.nodes; }

  /// Runs `body` on a worker of this thread's own, for so many clients together, the first of which has this number.
  Status on_worker(std::uint32_t first_id, std::uint32_t count, const std::function<void(Client&)>& body) {
    auto registered = cluster_->register_worker();
    if (!registered.ok()) return registered.status();
    ClusterWorker& worker = **registered;
    if (count == 1) {
      Client client(worker.worker(), *clients_place_, first_id);
      body(client);
      return {};
    }
    return worker.run_together(count, [&](std::uint32_t i) {
      Client client(worker.worker(), *clients_place_, first_id + i, [&worker] { worker.let_others_run(); });
      body(client);
    });
  }

  const NodePlace& place_;
  const AppendOptions& options_;
  const std::function<bool()>& stop_;
  KeySlots slots_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<ClientPlace> clients_place_;
  std::atomic<std::uint64_t> begun_{0};  // all workers count up; only the sum matters, so relaxed
};

}  // namespace

Result<NodeEnd> run_append_on_node(const NodePlace& place, const AppendOptions& options,
                                   const std::function<bool()>& stop) {
  return NodeRun(place, options, stop).run();
}

}  // namespace granary::bench::append
