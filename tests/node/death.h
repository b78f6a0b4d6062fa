#pragma once
// Where a node's process ends, and what its rings say afterwards that it held.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "recovery/lock_ahead.h"
#include "recovery/manifest.h"
#include "recovery/surviving_rings.h"
#include "src/base/file.h"
#include "src/base/test_hooks.h"
#include "src/record/state_word.h"
#include "tests/node/local_cluster.h"

namespace granary::tests {

/// When a sync point is passed for the nth time, from 0; `after`: since that one was passed first.
struct Death {
  std::string point;
  std::uint64_t nth = 0;
  std::string after = {};
};

/// For the name of a test.
inline std::string name_of(const Death& death) {
  std::string name = death.point;
  if (death.nth != 0) name += "." + std::to_string(death.nth);
  if (!death.after.empty()) name += ".after." + death.after;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

/// A sync hook for one thread, which then does this.
inline base::SyncHook at(const Death& death, std::function<void()> action) {
  return [death, action = std::move(action), counts = death.after.empty(),
          passed = std::uint64_t{0}](std::string_view point) mutable {
    if (counts && point == death.point && passed++ == death.nth) action();
    counts |= point == death.after;
  };
}
inline void die() { ::kill(::getpid(), SIGKILL); }

inline std::string data_directory(const ClusterFile& file, NodeNumber node) {
  return std::filesystem::path(file.path()).parent_path() / "data" / ("node-" + std::to_string(node));
}
inline recovery::Manifest manifest_of(const ClusterFile& file, NodeNumber node) {
  auto manifest = recovery::read_manifest(base::system_files(), data_directory(file, node));
  EXPECT_TRUE(manifest.ok()) << manifest.status().message();
  return manifest.ok() ? std::move(*manifest) : recovery::Manifest();
}

/// "key=word" of an account that is locked.
inline std::string lock_line(std::string_view key, record::StateWord word) {
  std::uint64_t account = 0;
  EXPECT_TRUE(decode_key(key, account));
  return fmt::format("{}={:x}", account, word);
}
/// What a dead node's rings name, and whether its transaction was decided.
inline std::map<std::string, bool> locks_in_rings(const ClusterFile& file, NodeNumber node) {
  const auto rings = recovery::find_rings(manifest_of(file, node));
  EXPECT_TRUE(rings.ok() && !rings->rings.empty());
  std::map<std::string, bool> named;
  for (const auto& ring : rings->rings) {
    const auto unfinished = recovery::read_lock_ahead(*ring);
    EXPECT_TRUE(unfinished.ok()) << unfinished.status().message();
    for (const recovery::UnfinishedTransaction& one : *unfinished) {
      for (const log::NamedLock& lock : one.locks) {
        EXPECT_EQ(record::holder_of(lock.word).node, node);
        EXPECT_EQ(lock.table, 0u);
        named[lock_line(lock.key, lock.word)] = one.tid.has_value();
      }
    }
  }
  return named;
}

}  // namespace granary::tests
