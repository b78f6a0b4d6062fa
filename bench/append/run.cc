#include "bench/append/run.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "bench/append/client.h"

namespace granary::bench::append {
namespace {

using Clock = Client::Clock;

void run_threads(Clients& clients, const ClientPlace& place, const std::atomic<bool>* stop) {
  const AppendOptions& options = place.options;
  std::atomic<std::uint64_t> begun{0};  // all workers count up; only the sum matters, so relaxed
  const auto end =
      options.seconds == 0
          ? Clock::time_point::max()
          : place.start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  std::vector<std::thread> threads;
  for (auto& client : clients) {
    threads.emplace_back([&] {
      const auto stopped = [&] { return stop != nullptr && stop->load(std::memory_order_relaxed); };
      while (begun.fetch_add(1, std::memory_order_relaxed) < options.transactions && Clock::now() < end && !stopped())
        client->run_one();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Status read_everything(Client& reader, const KeySlots& slots) {
  constexpr std::size_t kKeysAtOnce = 8;
  const std::vector<history::Key> keys = slots.all();
  for (std::size_t at = 0; at < keys.size(); at += kKeysAtOnce) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(kKeysAtOnce, keys.size() - at));
    if (Status read = reader.read_quietly({first, last}); !read.ok()) return read;
  }
  return {};
}

AppendRun merge(Clients& clients) {
  AppendRun run;
  bool snapshots = false;
  for (const auto& client : clients) {
    snapshots = snapshots || std::any_of(client->noted().begin(), client->noted().end(),
                                         [](const Noted& one) { return one.snapshot; });
  }
  for (auto& client : clients) {
    for (Noted& one : client->noted()) {
      if (snapshots) run.with_snapshots.push_back(one.event);
      if (!one.snapshot) run.transactions.push_back(std::move(one.event));
    }
    client->noted() = {};
  }
  history::sort_by_time(run.transactions);
  history::sort_by_time(run.with_snapshots);
  return run;
}

Result<AppendRun> run_append(Database& database, const AppendOptions& options, const std::atomic<bool>* stop) {
  const auto table = database.create_table("lists", {.index = options.hash ? IndexKind::kHash : IndexKind::kOrdered});
  if (!table.ok()) return table.status();
  KeySlots slots(options.keys, options.max_length);
  const ClientPlace place{.database = database,
                          .lists = Lists(*table),
                          .slots = slots,
                          .options = options,
                          .start = Clock::now(),
                          .clients = options.workers};
  std::vector<Worker> workers(options.workers + std::size_t{1});  // the last one reads at the end
  Clients clients;
  for (std::uint32_t id = 0; id < workers.size(); ++id) {
    auto worker = database.register_worker();
    if (!worker.ok()) return worker.status();
    workers[id] = std::move(worker).value();
    clients.push_back(std::make_unique<Client>(workers[id], place, id));
  }
  std::unique_ptr<Client> reader = std::move(clients.back());
  clients.pop_back();
  run_threads(clients, place, stop);
  static_cast<void>(
      read_everything(*reader, slots));  // only a failed log keeps it from that, of which the database tells
  clients.push_back(std::move(reader));
  return merge(clients);
}

}  // namespace granary::bench::append
