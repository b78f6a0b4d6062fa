#include "cluster_config/membership/configuration_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace granary::membership {

/// Reads the configuration, which is empty if there is none, and returns the version of its document.
Result<std::uint64_t> ConfigurationDocument::read(Configuration& configuration) {
  const Result<Document> document = board_->read();
  if (!document.ok() && document.status().code() != StatusCode::kNotFound) return document.status();
  configuration = {};
  if (!document.ok()) return std::uint64_t{0};
  Result<Configuration> parsed = configuration_of(document->text);
  if (!parsed.ok()) {
    return Status(StatusCode::kDamaged,
                  fmt::format("{}: configuration {}: {}. If no node of the cluster runs, remove "
                              "it: the nodes make another one, and recover from their directories",
                              board_->name(), document->version, parsed.status().message()));
  }
  configuration = std::move(*parsed);
  return document->version;
}

Status ConfigurationDocument::amend(Edit edit) {
  const std::lock_guard lock(mutex_);
  while (true) {  // if another member has won the compare-and-set, it reads and edits again
    Configuration configuration;
    const Result<std::uint64_t> version = read(configuration);
    if (!version.ok()) return version.status();
    const Configuration before = configuration;
    if (Status refused = edit(configuration); !refused.ok()) return refused;
    if (configuration != before) {
      count_lives(before, configuration);
      ++configuration.version;
      const Result<bool> replaced = board_->replace(*version, to_text(configuration));
      if (!replaced.ok()) return replaced.status();
      if (!*replaced) continue;
    }
    publish_(std::move(configuration));
    return {};
  }
}

Status ConfigurationDocument::inspect(Edit look) {
  const std::lock_guard lock(mutex_);
  Configuration found;
  if (const Result<std::uint64_t> version = read(found); !version.ok()) return version.status();
  return look(found);
}

Result<bool> ConfigurationDocument::await(std::uint64_t patience_us, FunctionRef<bool()> give_up, Over over) {
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t end = lifetime_us() + patience_us;;) {
    Configuration found;
    if (const Result<std::uint64_t> version = read(found); !version.ok()) return version.status();
    const Result<Marks> marks = board_->marks();
    if (!marks.ok()) return marks.status();
    if (over(found, *marks)) return true;
    if (lifetime_us() >= end) return false;
    if (give_up()) return Status(StatusCode::kUnavailable, "told to give up before it had joined");
    board_->wait(std::min(board_->pulse_us(), kGiveUpLook_us));
  }
}

Status ConfigurationDocument::unmark() {
  const std::lock_guard lock(mutex_);
  return board_->unmark();
}

}  // namespace granary::membership
