#pragma once
// A node with a few records, which answers what messages ask. Every input finds it as the one before did: what an input
// has left is garbage, and is collected, and nothing that it says may change a record or stay for ever.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <granary/granary.h>

#include "src/base/check.h"
#include "src/base/shared_words.h"
#include "src/db/engine.h"
#include "src/cluster/messages/layout.h"
#include "src/cluster/messages/owner.h"
#include "src/record/shared_record.h"

namespace granary::fuzz {

class AskedNode {
 public:
  /// Of the record that another node has locked (tests/cluster/messages/samples.h names it, and the keys).
  static constexpr record::StateWord kHolder = 0xffff000000000001;
  static constexpr record::TidWord kItsOwn = 1;

  AskedNode()
      : database_(Database::open(options()).value()),
        hashed_(make("hashed", IndexKind::kHash)),
        ordered_(make("ordered", IndexKind::kOrdered)),
        by_letter_(database_->create_index(ordered_, "by letter", {.parts = {{.length = 1}}}).value()),
        local_(database_->create_table("local").value()),
        worker_(database_->register_worker().value()),
        owners_(database_->register_worker().value()),
        tables_(engine().schema().tables()),
        owner_(*owners_.core(), *engine().epochs().acquire_slot(), tables_, engine().region(),
               cluster::messages::MailboxLayout{}.most_bytes) {
    for (const Table& table : {hashed_, ordered_, local_}) {
      for (const std::string key : {"key", "a", "c", "removed", "8 bytes!", ""}) put(table, key, "value of " + key);
      put(table, "key", "a newer value");
    }
    base::always_check(procedures_.add<std::uint64_t, std::uint64_t>("payment", pay).ok(), "it is the first");
    lock(hashed_, "c");
    collect();
    for (const Table& table : {hashed_, ordered_}) remove(table, "removed");
    wanted_ = contents();
  }

  /// Answers, and tidies up.
  template <typename Request>
  void ask(const Request& request) {
    typename Request::Answer answer;
    static_cast<void>(owner_.answer(request, answer));
    owner_.rest();
    tidy();
  }
  /// `kItsOwn` is the TID word of the key's record, which nobody guesses.
  void ask(const cluster::messages::NoteRemoved& request) {
    cluster::messages::NoteRemoved said = request;
    cluster::messages::FindRecordAnswer place;
    const cluster::messages::FindRecord where{.table = request.table, .key = request.key};
    if (said.tid == kItsOwn && owner_.answer(where, place) == cluster::messages::ReplyStatus::kDone)
      said.tid = place.record.tid;
    ask<cluster::messages::NoteRemoved>(said);
  }
  /// The borrower dies with all that it was lent.
  void ask(const cluster::messages::LendBlocks& request) {
    constexpr cluster::messages::Borrower kBorrower{.node = 2, .worker = 1};
    cluster::messages::LendBlocksAnswer answer;
    static_cast<void>(owner_.answer(request, answer, kBorrower));
    owner_.forget(kBorrower.node);
    owner_.rest();
    tidy();
  }
  void ask(const cluster::messages::Call& request) {
    std::string reply;
    static_cast<void>(procedures_.call(worker_, request.procedure, request.arguments, reply));
  }

 private:
  static Options options() {
    Options options;
    options.background = Background::kManual;
    options.snapshot_epochs = 1;
    options.memory_limit_bytes = std::uint64_t{64} << 20;
    options.huge_pages = HugePages::kOff;
    options.shared_memory = true;
    return options;
  }
  static void pay(Transaction&, const std::uint64_t& amount, std::uint64_t& paid) { paid = amount; }

  db::Engine& engine() { return database_->engine(); }
  Table make(std::string_view name, IndexKind kind) {
    return database_->create_table(name, {.max_value_bytes = 100, .index = kind, .expected_keys = 100, .shared = true})
        .value();
  }
  void put(const Table& table, std::string_view key, std::string_view value) {
    base::always_check(worker_.run([&](Transaction& t) { (void)t.put(table, key, value); }).committed(), "alone");
  }
  void remove(const Table& table, std::string_view key) {
    base::always_check(worker_.run([&](Transaction& t) { (void)t.remove(table, key); }).committed(), "alone");
  }
  /// As a node that is about to write it.
  void lock(const Table& table, std::string_view key) {
    auto* const record = record::record_of(table.core()->index().find(key).value);
    base::store_word(&record::shared_of(*record).state_word, kHolder);
  }

  void collect() {
    for (int turn = 0; turn < 4; ++turn) {  // what is freed may leave more: versions, then records, then nodes
      for (int epochs = 0; epochs < 3; ++epochs) database_->step();
      worker_.collect_garbage();
      owners_.collect_garbage();
    }
  }
  void tidy() {
    collect();
    base::always_check(contents() == wanted_, "who asks changes nothing that is there");
    base::always_check(database_->statistics().version_bytes == 0, "what was kept for nobody goes");
  }

  std::string contents() {
    std::string all;
    (void)worker_.run([&](Transaction& t) {
      all.clear();
      for (const Table& table : {hashed_, ordered_, local_}) {
        for (const std::string key : {"key", "a", "removed", "8 bytes!", ""}) {
          std::string value = "(none)";
          (void)t.get(table, key, value);
          all += key + "=" + value + " ";
        }
      }
      for (const Table& table : {ordered_, local_}) {
        (void)t.scan(table, {}, [&](std::string_view key, std::string_view value) {
          all.append(key).append("=").append(value).append(" ");
          return true;
        });
      }
      (void)t.scan(by_letter_, {}, [&](std::string_view key, std::string_view value) {
        all.append(key).append("=").append(value).append(" ");
        return true;
      });
    });
    return all;
  }

  std::unique_ptr<Database> database_;
  Table hashed_, ordered_;
  Index by_letter_;
  Table local_;
  Worker worker_, owners_;
  const std::vector<txn::TableCore*> tables_;
  cluster::messages::Owner owner_;
  Procedures procedures_;
  std::string wanted_;
};

}  // namespace granary::fuzz
