// Measures checkpoints alone: writes one of a table that nobody uses, verifies it, and loads it into an empty database.
//
//   granary_checkpoint_bench [records] [value bytes] [threads] [directory]

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <granary/granary.h>

#include "recovery/checkpoint/reader.h"
#include "recovery/checkpoint/writer.h"
#include "src/db/engine.h"

namespace granary::bench {
namespace {

namespace checkpoint = recovery::checkpoint;

/// The processor time of this process.
struct Processor {
  double user = 0, kernel = 0;  ///< in seconds

  static Processor now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
  }
};

template <typename Work>
void measure(const char* what, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  const Processor before = Processor::now();
  const Result<checkpoint::Contents> done = work();
  const Processor after = Processor::now();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!done.ok()) {
    fmt::print("{}: {}\n", what, done.status().message());
    std::exit(1);
  }
  const auto records = static_cast<double>(done->records) / 1e6;
  const auto gigabytes = static_cast<double>(done->file_bytes) / 1e9;
  const double user = after.user - before.user, kernel = after.kernel - before.kernel;
  const double processor = user + kernel;
  fmt::print(
      "{:<8} {:>6.2f} s: {:>6.2f} M records/s {:>6.2f} GB/s; a core: {:>6.2f} M records/s {:>6.2f} GB/s; "
      "user {:.3f} s, kernel {:.3f} s a M records\n",
      what, seconds, records / seconds, gigabytes / seconds, records / processor, gigabytes / processor, user / records,
      kernel / records);
}

Options options() {
  Options options;
  options.background = Background::kManual;
  options.max_open_epochs = 0;
  return options;
}

std::string key_of(std::uint64_t number) {
  const std::uint64_t word = __builtin_bswap64(number);
  return {reinterpret_cast<const char*>(&word), sizeof word};
}

void fill(Database& database, const Table& table, std::uint64_t records, std::size_t value_bytes) {
  constexpr std::uint64_t kBatch = 1000;
  Worker worker = database.register_worker().value();
  const std::string value(value_bytes, 'v');
  for (std::uint64_t i = 0; i < records; i += kBatch) {
    const RunResult done = worker.run([&](Transaction& t) {
      for (std::uint64_t j = i; j < std::min(records, i + kBatch); ++j)
        static_cast<void>(t.put(table, key_of(j), value));
    });
    if (!done.committed()) std::exit(1);
  }
  for (std::uint32_t i = 0; i < 2 * database.options().snapshot_epochs + 1; ++i) database.step();
}

int run(std::uint64_t records, std::size_t value_bytes, std::uint32_t threads, const std::string& directory) {
  checkpoint::WriteOptions write;
  write.files = &base::system_files();
  write.directory = directory;
  write.partitions = threads;
  write.threads = threads;
  checkpoint::ReadOptions read;
  read.files = write.files;
  read.directory = directory;
  {
    auto database = Database::open(options()).value();
    const Table table = database->create_table("t").value();
    fill(*database, table, records, value_bytes);
    txn::WorkerCore* const worker = database->engine().workers().take().value();
    txn::TableCore* const tables[] = {table.core()};
    measure("write", [&] {
      const auto pin = checkpoint::SnapshotPin::take(worker->shared().epochs);
      return checkpoint::write_checkpoint(write, worker->shared(), *pin, tables);
    });
    database->engine().workers().give_back(worker);
  }
  measure("verify", [&] { return checkpoint::verify_checkpoint(read, threads); });
  {
    auto database = Database::open(options()).value();
    const Table table = database->create_table("t").value();
    std::vector<txn::WorkerCore*> workers;
    std::vector<cc::WorkerState*> states;
    for (std::uint32_t i = 0; i < threads; ++i) {
      workers.push_back(database->engine().workers().take().value());
      states.push_back(&workers.back()->state());
    }
    txn::TableCore* const tables[] = {table.core()};
    measure("load", [&] { return checkpoint::load_checkpoint(read, tables, states); });
    for (txn::WorkerCore* worker : workers) database->engine().workers().give_back(worker);
  }
  return checkpoint::remove_checkpoint(*write.files, directory).ok() ? 0 : 1;
}

}  // namespace
}  // namespace granary::bench

int main(int argc, char** argv) {
  const std::uint64_t records = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000;
  const std::size_t value_bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  const auto threads = static_cast<std::uint32_t>(argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 1);
  return granary::bench::run(records, value_bytes, threads, argc > 4 ? argv[4] : "checkpoint_bench.tmp");
}
