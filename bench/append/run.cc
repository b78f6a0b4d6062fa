#include "bench/append/run.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <span>
#include <thread>

#include "bench/append/client.h"

namespace granary::bench::append {
namespace {

using Clock = Client::Clock;

/// Runs each worker, with its clients, on a thread of its own.
void run_threads(std::span<Worker> workers, Clients& clients, const ClientPlace& place,
                 const std::function<bool()>& stop) {
  const AppendOptions& options = place.options;
  std::atomic<std::uint64_t> begun{0};  // all workers count up; only the sum matters, so relaxed
  const auto end =
      options.seconds == 0
          ? Clock::time_point::max()
          : place.start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  const auto stopped = [&] { return (stop && stop()) || (place.journal != nullptr && !place.journal->status().ok()); };
  const auto work = [&](Client& client) {
    while (begun.fetch_add(1, std::memory_order_relaxed) < options.transactions && Clock::now() < end && !stopped())
      client.run_one();
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    threads.emplace_back([&, i] {
      if (options.fibers == 1) return work(*clients[i]);
      workers[i].run_together(options.fibers, [&](std::size_t f) { work(*clients[i * options.fibers + f]); });
    });
  }
  for (std::jthread& thread : threads) thread.join();
}

}  // namespace

Status read_everything(Client& reader, const KeySlots& slots) {
  constexpr std::size_t kKeysAtOnce = 8;
  const std::vector<history::Key> keys = slots.all();
  Status first_error;
  for (std::size_t at = 0; at < keys.size(); at += kKeysAtOnce) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(kKeysAtOnce, keys.size() - at));
    if (Status read = reader.read_quietly({first, last}); !read.ok() && first_error.ok()) first_error = std::move(read);
  }
  return first_error;
}

ListLayout layout_for(const AppendOptions& options) {
  return {.moves = options.move_share != 0, .lasts = options.last_share != 0};
}

AppendRun merge(Clients& clients) {
  history::History all;
  for (auto& client : clients) {
    std::move(client->noted().begin(), client->noted().end(), std::back_inserter(all));
    client->noted() = {};
  }
  history::sort_by_time(all);
  return runs_of(std::move(all));
}

AppendRun runs_of(history::History all) {
  AppendRun run;
  run.transactions = history::without_snapshots(all);
  if (run.transactions.size() != all.size()) run.with_snapshots = std::move(all);
  return run;
}

Result<AppendRun> run_append(Database& database, const AppendOptions& options, const std::function<bool()>& stop,
                             Journal* journal) {
  const auto table = database.create_table("lists", {.index = options.hash ? IndexKind::kHash : IndexKind::kOrdered});
  if (!table.ok()) return table.status();
  KeySlots slots(options.keys, options.max_length);
  const ClientPlace place{.database = database,
                          .lists = Lists(*table, layout_for(options)),
                          .slots = slots,
                          .options = options,
                          .start = Clock::now(),
                          .clients = options.workers * options.fibers,
                          .journal = journal};
  std::vector<Worker> workers(options.workers + std::size_t{1});  // the last one reads at the end
  Clients clients;
  for (Worker& worker : workers) {
    auto registered = database.register_worker();
    if (!registered.ok()) return registered.status();
    worker = std::move(registered).value();
  }
  for (std::uint32_t id = 0; id < place.clients; ++id) {
    Worker& worker = workers[id / options.fibers];
    LetOthersRun let_others_run;
    if (options.fibers != 1) let_others_run = [&worker] { worker.let_others_run(); };
    clients.push_back(std::make_unique<Client>(worker, place, id, std::move(let_others_run)));
  }
  auto reader = std::make_unique<Client>(workers.back(), place, place.clients);
  run_threads(std::span(workers).first(options.workers), clients, place, stop);
  const Status read = read_everything(*reader, slots);
  clients.push_back(std::move(reader));
  AppendRun run = merge(clients);
  run.ended = database.log_status();  // set first, as it explains why lists cannot be read
  if (run.ended.ok()) run.ended = read;
  if (run.ended.ok() && journal != nullptr) run.ended = journal->status();
  return run;
}

}  // namespace granary::bench::append
