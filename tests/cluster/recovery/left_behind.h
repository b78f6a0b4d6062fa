#pragma once
// A copy of what a node that dies leaves on its host, and the parts with which another node settles it.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <granary/function_ref.h>
#include <gtest/gtest.h>

#include "recovery/dead_log.h"
#include "recovery/entry_check.h"
#include "src/cluster/recovery/settle_all.h"
#include "src/cluster/transaction/reach.h"
#include "tests/support/ring_directory.h"

namespace granary::cluster::test {

class LeftBehind {
 public:
  /// Copies the node's directory as it is at this moment. The node may go on with its own.
  void copy(const std::string& directory) {
    directory_ = std::make_unique<tests::RingDirectory>();
    std::filesystem::copy(directory, directory_->path() + "/db", std::filesystem::copy_options::recursive);
  }
  bool copied() const { return directory_ != nullptr; }

  /// Reads the copy.
  void read() {
    base::FileSystem& files = base::system_files();
    const recovery::Manifest manifest = recovery::read_manifest(files, directory_->path() + "/db").value();
    survey_.rings = recovery::find_rings(manifest).value();
    ASSERT_FALSE(survey_.rings.rings.empty()) << survey_.rings.note;
    survey_.scan = recovery::scan_logs(files, manifest, {}).value();
    auto debts = recovery::read_debts(files, manifest, survey_);
    ASSERT_TRUE(debts.ok()) << debts.status().message();
    debts_ = std::move(*debts);
  }
  const std::vector<log::Debt>& debts() const { return debts_; }
  /// Calls `visit` for each write of the transactions in the rings, with the transaction's TID.
  void each_write(FunctionRef<void(record::TidWord, const log::Write&)> visit) const {
    for (const recovery::RingEntries& ring : survey_.rings.entries()) {
      recovery::EntryList entries(ring.entries);
      for (recovery::Entry entry; entries.next(&entry);) {
        log::WriteReader writes(entry.body);
        for (log::Write write; writes.next(&write);) visit(entry.header.tid(), write);
      }
    }
  }

 private:
  std::unique_ptr<tests::RingDirectory> directory_;
  recovery::LogSurvey survey_;
  std::vector<log::Debt> debts_;
};

/// Returns the parts of a worker of the recoverer. Who lives is what that worker's node knows.
inline SettleParts settle_parts(Reach& reach, std::span<char> room, std::function<bool()> may_act) {
  return {.scheduler = reach.scheduler,
          .endpoint = reach.endpoint,
          .peers = reach.peers,
          .waiter = reach.waiter,
          .messenger = reach.messenger,
          .room = room,
          .connect_timeout_us = reach.connect_timeout_us,
          .lives = reach.lives,
          .may_act = std::move(may_act)};
}

}  // namespace granary::cluster::test
