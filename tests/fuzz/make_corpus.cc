// Makes the inputs that fuzzers begin with, from what the writers write:
//
//   fuzz_make_corpus DIRECTORY
//
// DIRECTORY/TARGET gets them and loses those of before; inputs named found-... stay.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <granary/granary.h>

#include "recovery/checkpoint/partition_file.h"
#include "recovery/manifest_text.h"
#include "src/base/check.h"
#include "src/cluster/messages/frame.h"
#include "src/log/lock_ahead.h"
#include "src/log/ring.h"
#include "src/record/state_word.h"
#include "src/watch/node_document.h"
#include "tests/cluster/messages/samples.h"
#include "tests/recovery/segment_builder.h"
#include "tests/support/fault_files.h"
#include "tests/support/manual_database.h"
#include "tests/support/temporary_directory.h"
#include "tests/watch/reports.h"

namespace granary {
namespace {

namespace fs = std::filesystem;
using recovery::checkpoint::BlockBuffer;
using recovery::checkpoint::PartitionFile;
using tests::FaultFiles;

constexpr char kAsItIs = 0, kMended = 1;  // the first byte of an input; for http: to a server, from a node

class Corpus {
 public:
  explicit Corpus(fs::path directory) : directory_(std::move(directory)) {
    for (const char* const target : {"segment", "manifest", "checkpoint", "ring", "locks", "message", "http"}) {
      fs::create_directories(directory_ / target);
      for (const auto& entry : fs::directory_iterator(directory_ / target)) {
        if (!entry.path().filename().string().starts_with("found-")) fs::remove(entry.path());
      }
    }
  }

  void add(const std::string& target, const std::string& name, char first, const std::string& bytes) const {
    std::ofstream file(directory_ / target / name, std::ios::binary);
    file.put(first).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    base::always_check(file.good(), "the corpus can be written");
  }

 private:
  const fs::path directory_;
};

/// One opening: a table and its index, a table without one, a few transactions in several epochs.
void use_database(const Options& options, FaultFiles& files, bool checkpoint) {
  const auto database = Database::open(options, files).value();
  const Table table = database->create_table("accounts").value();
  const IndexOptions by_name{.parts = {{.length = 4, .encoding = IndexEncoding::kText}}, .unique = true};
  base::always_check(database->create_index(table, "by name %", by_name).ok(), "the table is empty or recovered");
  const Table plain = database->create_table("plain").value();
  Worker worker = database->register_worker().value();
  for (int i = 0; i < 12; ++i) {
    Transaction t = worker.begin();
    const std::string number = std::to_string(i);
    base::always_check(
        t.put(table, "key " + number, number + std::string(i == 5 ? 300 : 6, 'v')) == Outcome::kOk &&
            (i % 4 != 3 || t.remove(table, "key " + std::to_string(i - 1)) == Outcome::kOk) &&
            (i % 3 == 0 ? t.put(plain, "whole", std::string(30, 'w'))
                        : t.update_part(plain, "whole", static_cast<std::size_t>(i), "part")) == Outcome::kOk &&
            t.commit().committed(),
        "nobody else is there");
    database->step();
  }
  if (checkpoint) base::always_check(database->checkpoint().ok(), "memory has room");
}

/// What a database leaves that was opened twice.
std::unique_ptr<FaultFiles> used_twice(LogCompression compression, bool checkpoint) {
  const tests::TemporaryDirectory rings;
  auto files = std::make_unique<FaultFiles>();
  Options options = tests::manual_options();
  options.directory = "/db";
  options.reliable_directory = rings.path();
  options.log_compression = compression;
  for (int opening = 0; opening < 2; ++opening) use_database(options, *files, checkpoint);
  return files;
}

void add_segments(const Corpus& corpus, LogCompression compression, const std::string& name) {
  const auto files = used_twice(compression, /*checkpoint=*/false);
  int found = 0;
  for (const std::string& path : files->paths()) {
    if (!path.ends_with(".glog")) continue;
    corpus.add("segment", name + "-" + std::to_string(found), found == 0 ? kAsItIs : kMended, files->contents(path));
    ++found;
  }
}

void add_manifest(const Corpus& corpus, bool checkpoint) {
  const auto files = used_twice(LogCompression::kNone, checkpoint);
  auto manifest = recovery::read_manifest(*files, "/db").value();
  manifest.reliable_directory = "rings";  // instead of what tells about this machine
  manifest.boot = "boot";
  manifest.instance = manifest.database;
  corpus.add("manifest", checkpoint ? "with-checkpoint" : "without-checkpoint", kMended,
             recovery::manifest_text(manifest));
  if (!checkpoint) return;
  const auto id = static_cast<std::uint32_t>(manifest.tables.size());
  manifest.tables.push_back({.id = id, .name = "hashed", .max_value_bytes = 8, .base = {}, .hash_keys = 1000});
  corpus.add("manifest", "with-hash-table", kMended, recovery::manifest_text(manifest));
}

void add_record(BlockBuffer& block, std::uint64_t epoch, const std::string& key, const std::string& value) {
  const std::span<char> place = block.value_place(key.size(), value.size());
  std::copy(value.begin(), value.end(), place.begin());
  block.add(record::make_tid(epoch, 1), key, value.size());
}

void add_checkpoint(const Corpus& corpus, std::uint32_t blocks) {
  FaultFiles files;
  base::always_check(files.make_directory("c").ok(), "memory has room");
  recovery::checkpoint::FileHeader header;
  header.database = tests::kDatabase;
  header.epoch = 25;
  header.stamp = 1;
  const auto file = PartitionFile::create(files, "c", header, 0).value();
  for (std::uint32_t i = 0; i < blocks; ++i) {
    BlockBuffer block;
    block.begin(i * 3);
    add_record(block, 5 + i, "a", "1");
    add_record(block, 6, "", std::string(50 * i, 'v'));
    base::always_check(file->append(block).ok(), "memory has room");
  }
  base::always_check(file->finish().ok(), "memory has room");
  corpus.add("checkpoint", std::to_string(blocks) + "-blocks", blocks == 1 ? kAsItIs : kMended,
             files.contents(files.paths().front()));
}

/// A ring's header and what stands in it (ring_fuzz.cc).
void add_ring(const Corpus& corpus, int transactions) {
  constexpr std::size_t kPage = 4096;
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "ring-0000";
  {
    const auto ring = log::Ring::create(path, {tests::kDatabase, 1, 0}, kPage).value();
    ring->note_rings(1);
    for (int i = 0; i < transactions; ++i) {
      const std::string body =
          tests::body_of({{0, "key " + std::to_string(i), "value"},
                          {1, "gone", std::nullopt},
                          {.table = 0, .key = "k", .value = "part", .part = log::PartHeader{3, 9}}});
      const std::string entry = tests::entry_of(record::make_tid(7, i + 1u), log::EntryKind::kTransaction, body);
      std::copy(entry.begin(), entry.end(), ring->at_tail());
      ring->publish(entry.size());
      if (i == 0) {
        ring->drained(entry.size());
        ring->give_room({0, 64 + entry.size()});
      }
    }
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.erase(sizeof(log::RingHeader), kPage - sizeof(log::RingHeader));
  corpus.add("ring", std::to_string(transactions) + "-transactions", kMended,
             bytes.substr(0, bytes.find_last_not_of('\0') + 1));
}

/// A ring's tail and its lock-ahead record (locks_fuzz.cc).
void add_locks(const Corpus& corpus, int transactions) {
  constexpr std::uint64_t kSlots = 4, kTail = 64;
  std::string bytes(sizeof kTail + kSlots * (sizeof(log::SlotHeader) + log::kLockBlockBytes), '\0');
  std::copy_n(reinterpret_cast<const char*>(&kTail), sizeof kTail, bytes.data());
  log::LockAheadArea area(bytes.data() + sizeof kTail, kSlots);
  for (int i = 0; i < transactions; ++i) {
    log::NamedLocks record(&area);
    const std::string key(i == 0 ? 300 : 6, 'k');
    base::always_check(record.reserve(2 * log::named_bytes(key.size())), "there is room");
    for (const std::uint32_t node : {1u, 2u})
      record.add({record::x_lock_word({.node = 3, .generation = 1, .worker = 0, .sequence = node}), node, 7, key});
    record.publish();
    if (i == 1) record.announce_decision(record::make_tid(7, 1), kTail);
  }
  for (const char first : {kAsItIs, kMended}) {
    corpus.add("locks", std::to_string(transactions) + (first == kMended ? "-transactions-mended" : "-transactions"),
               first, bytes.substr(0, bytes.find_last_not_of('\0') + 1));
  }
}

void add_messages(const Corpus& corpus) {
  using namespace cluster::messages;
  for_each_sample([&](const auto& request, const auto& answer) {
    const std::string number = std::to_string(static_cast<int>(request.kType));
    corpus.add("message", number + "-request", kAsItIs, encode_request(request));
    corpus.add("message", number + "-answer", kMended, encode(request.kType, answer));
  });
}

void add_http(const Corpus& corpus) {
  const std::string end = " HTTP/1.1\r\nHost: 127.0.0.1:9461\r\n";
  corpus.add("http", "get", kAsItIs, "GET /metrics?a=b" + end + "Accept: text/plain\r\nConnection: close\r\n\r\n");
  corpus.add("http", "head", kAsItIs, "HEAD /status.json" + end + "Authorization: Bearer token\r\n\r\n");
  corpus.add("http", "two", kAsItIs, "GET /a" + end + "\r\nGET /b" + end + "Content-Length: 1\r\n\r\nx");
  watch::NodeReport report = watch::tests::serving(2);
  corpus.add("http", "serving", kMended, watch::text_of(watch::node_document(report, {.seconds = 1, .commits = 5})));
  watch::tests::kill(report, 3, 2);
  report.log_trouble = "the device is full";
  corpus.add("http", "trouble", kMended, watch::text_of(watch::node_document(report, {})));
}

void make(const Corpus& corpus) {
  add_segments(corpus, LogCompression::kNone, "plain");
  add_segments(corpus, LogCompression::kLz4, "lz4");
  add_segments(corpus, LogCompression::kZstd, "zstd");
  for (const bool checkpoint : {false, true}) add_manifest(corpus, checkpoint);
  for (const std::uint32_t blocks : {0, 1, 3}) add_checkpoint(corpus, blocks);
  for (const int transactions : {0, 4}) add_ring(corpus, transactions);
  for (const int transactions : {0, 1, 2}) add_locks(corpus, transactions);
  add_messages(corpus);
  add_http(corpus);
}

}  // namespace
}  // namespace granary

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]), 2;
  granary::make(granary::Corpus(argv[1]));
  return 0;
}
