#include "bench/harness/life_account_json.h"

#include <algorithm>

namespace granary::bench {

namespace {

using Json = nlohmann::ordered_json;

Json sums_json(const WorkerAccount::Sums& sums, std::uint32_t count) {
  Json list = Json::array();
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(sums[i].load(std::memory_order_relaxed));
  return list;
}

void read_sums(const Json& list, WorkerAccount::Sums& sums) {
  for (std::size_t i = 0; i < sums.size() && i < list.size(); ++i)
    sums[i].store(list.at(i).get<std::uint64_t>(), std::memory_order_relaxed);
}

}  // namespace

Json life_json(const LifeAccount& life) {
  const std::uint32_t count = life.sums.load(std::memory_order_relaxed);
  Json workers = Json::array();
  for (const WorkerAccount& worker : life.workers)
    workers.push_back({{"changed", sums_json(worker.changed, count)}, {"open", sums_json(worker.open, count)}});
  return {{"loaded", sums_json(life.loaded, count)}, {"workers", workers}};
}

std::shared_ptr<const LifeAccount> life_of(const Json& json) {
  auto life = std::make_shared<LifeAccount>();
  life->sums.store(static_cast<std::uint32_t>(std::min(json.at("loaded").size(), WorkerAccount::kMostSums)),
                   std::memory_order_relaxed);
  read_sums(json.at("loaded"), life->loaded);
  for (std::size_t i = 0; i < life->workers.size() && i < json.at("workers").size(); ++i) {
    const Json& worker = json.at("workers").at(i);
    read_sums(worker.at("changed"), life->workers[i].changed);
    read_sums(worker.at("open"), life->workers[i].open);
  }
  return life;
}

}  // namespace granary::bench
