#include "bench/harness/fresh_database.h"
#include "bench/soak/workload.h"

#include <string>

#include <fmt/format.h>

#include "bench/harness/database_figures.h"
#include "bench/soak/verdict.h"

namespace granary::bench::soak {

std::vector<std::string> SoakWorkload::transaction_types() const { return soak_types(parameters_.snapshots); }

/// Twice what is live: old versions and garbage of a second or two lie beside it.
std::uint64_t SoakWorkload::estimated_bytes() const {
  const std::uint64_t record = 64 + parameters_.largest_value;
  return 2 * record * (2 * parameters_.keys + settings_.workers * parameters_.queue_length);
}

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
  const std::string value(parameters_.largest_value / 2 + 8, 'v');
  for (std::uint64_t key = 0; key < parameters_.keys; ++key) {
    const EncodedKey<std::uint64_t> bytes(key);
    const RunResult done =
        worker->run([&](Transaction& t) { static_cast<void>(t.put(tables_.updated, bytes.view(), value)); });
    if (!done.committed())
      return Status(StatusCode::kResourceExhausted,
                    fmt::format("loading failed after {} keys: {}", key, granary::name(done.reason)));
    progress.add(1);
  }
  return {};
}

Result<std::unique_ptr<Client>> SoakWorkload::make_client(std::uint32_t id) {
  Result<Worker> worker = database_->register_worker();
  if (!worker.ok()) return worker.status();
  return make_soak_client(std::move(*worker), tables_, parameters_, id);
}

StoreFigures SoakWorkload::figures() const { return figures_of(*database_); }

std::vector<Finding> SoakWorkload::verify() {
  return {
      judge_level("memory taken for records and index", samples_, [](const Sample& s) { return s.store.memory_bytes; }),
      judge_level("memory in use by records", samples_, [](const Sample& s) { return s.store.records_bytes; }),
      judge_level("memory in use by the index", samples_, [](const Sample& s) { return s.store.index_bytes; }),
      judge_level("resident memory of the process", samples_, [](const Sample& s) { return s.resident_bytes; })};
}

}  // namespace granary::bench::soak
