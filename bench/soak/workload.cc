#include "bench/harness/fresh_database.h"
#include "bench/soak/workload.h"

#include <string>

#include <fmt/format.h>

#include "bench/harness/database_figures.h"
#include "bench/soak/verdict.h"

namespace granary::bench::soak {

std::vector<std::string> SoakWorkload::transaction_types() const { return soak_types(parameters_.snapshots); }

/// Returns twice the size of what is live, because old versions and garbage of a second or two lie beside it.
std::uint64_t SoakWorkload::estimated_bytes() const {
  const std::uint64_t record = 64 + parameters_.largest_value;
  return 2 * record * (2 * parameters_.keys + settings_.workers * parameters_.queue_length);
}

Status SoakWorkload::load_one(Worker& worker, const Table& table, std::string_view key, Progress& progress) {
  fill(value_, parameters_, random_);
  const RunResult done = worker.run([&](Transaction& t) { static_cast<void>(t.put(table, key, value_)); });
  if (!done.committed()) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("loading failed in table '{}': {}", table.name(), granary::name(done.reason)));
  }
  progress.add(1);
  return {};
}

/// Loads the state that requests would reach after a while: values of all sizes, half of the records that come and go,
/// and full queues. On a slow machine the requests of the first third of a run are too few to reach it.
Status SoakWorkload::load(unsigned /*threads*/, Progress& progress) {
  Result<std::unique_ptr<Database>> opened = open_fresh(settings_.options);
  if (!opened.ok()) return opened.status();
  database_ = std::move(*opened);
  const std::pair<const char*, Table*> wanted[] = {
      {"updated", &tables_.updated}, {"churned", &tables_.churned}, {"queues", &tables_.queues}};
  for (const auto& [name, table] : wanted) {
    Result<Table> created = database_->create_table(name, {.max_value_bytes = parameters_.largest_value});
    if (!created.ok()) return created.status();
    *table = *created;
  }
  Result<Worker> worker = database_->register_worker();
  if (!worker.ok()) return worker.status();
  for (std::uint64_t key = 0; key < parameters_.keys; ++key) {
    const EncodedKey<std::uint64_t> bytes(key);
    Status done = load_one(*worker, tables_.updated, bytes.view(), progress);
    if (done.ok() && key % 2 == 0) done = load_one(*worker, tables_.churned, bytes.view(), progress);
    if (!done.ok()) return done;
  }
  for (std::uint32_t id = 0; id < settings_.workers; ++id) {
    for (std::uint64_t number = 0; number < parameters_.queue_length; ++number) {
      const EncodedKey<std::pair<std::uint32_t, std::uint64_t>> bytes({id, number});
      if (Status done = load_one(*worker, tables_.queues, bytes.view(), progress); !done.ok()) return done;
    }
  }
  return {};
}

Result<std::unique_ptr<Client>> SoakWorkload::make_client(std::uint32_t id) {
  Result<Worker> worker = database_->register_worker();
  if (!worker.ok()) return worker.status();
  return make_soak_client(std::move(*worker), tables_, parameters_, id);
}

StoreFigures SoakWorkload::figures() const { return figures_of(*database_); }

/// Returns how long the memory of what a request has superseded stays in use. Garbage waits for up to two snapshot
/// periods, and is freed some epochs later.
double SoakWorkload::seconds_kept() const {
  constexpr double kEpochsMore = 10;
  const Options& options = settings_.options;
  return (2.0 * options.snapshot_epochs + kEpochsMore) * options.epoch_ms / 1000;
}

/// Judges four numbers of bytes. It allows for the garbage of more requests where the rate has risen: each request
/// leaves at most one version or deleted record, and in the index the place of a deleted record.
std::vector<Finding> SoakWorkload::verify() {
  constexpr double kPlaceBytes = 32;
  const double record_bytes = 64 + (16.0 + parameters_.largest_value) / 2;
  const auto judge = [this](const std::string& what, double bytes, std::uint64_t (*bytes_of)(const Sample&)) {
    return judge_level(what, samples_, bytes_of, seconds_kept() * bytes);
  };
  return {
      judge("memory taken for records and index", record_bytes, [](const Sample& s) { return s.store.memory_bytes; }),
      judge("memory in use by records", record_bytes, [](const Sample& s) { return s.store.records_bytes; }),
      judge("memory in use by the index", kPlaceBytes, [](const Sample& s) { return s.store.index_bytes; }),
      judge("resident memory of the process", record_bytes, [](const Sample& s) { return s.resident_bytes; })};
}

}  // namespace granary::bench::soak
