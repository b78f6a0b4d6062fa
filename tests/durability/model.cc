#include "tests/durability/model.h"

#include <utility>

namespace granary::tests {
namespace {

void apply(State& state, const ModelCommit& commit) {
  for (const ModelWrite& write : commit.writes) {
    if (write.value) {
      state[write.table][write.key] = *write.value;
    } else {
      state[write.table].erase(write.key);
    }
  }
}

std::string text(const std::map<std::string, std::string>& records, const std::string& key) {
  const auto found = records.find(key);
  return found == records.end() ? "nothing" : "'" + found->second.substr(0, 24) + "'";
}

}  // namespace

void Model::add(ModelCommit commit) { commits_.push_back(std::move(commit)); }

State Model::up_to(std::uint64_t epoch) const {
  State state = base_;
  for (const ModelCommit& commit : commits_) {
    if (commit.epoch <= epoch) apply(state, commit);
  }
  return state;
}

std::uint64_t Model::must_survive(std::uint64_t released) const {
  std::uint64_t greatest = 0;
  for (const ModelCommit& commit : commits_) {
    if (commit.epoch <= released) greatest = commit.epoch;
  }
  return greatest;
}

void Model::settle(std::uint64_t epoch) {
  base_ = up_to(epoch);
  commits_.clear();
}

std::string difference(const State& expected, const State& found) {
  for (std::size_t table = 0; table < kModelTables; ++table) {
    for (const auto* const some : {&expected[table], &found[table]}) {
      for (const auto& [key, ignored] : *some) {
        const std::string wanted = text(expected[table], key);
        const std::string got = text(found[table], key);
        if (expected[table].contains(key) && found[table].contains(key) &&
            expected[table].at(key) == found[table].at(key))
          continue;
        return "table " + std::to_string(table) + ", key '" + key + "': expected " + wanted + ", found " + got;
      }
    }
  }
  return "";
}

}  // namespace granary::tests
