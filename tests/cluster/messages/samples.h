#pragma once
// A request and an answer of each kind, with something in every member.

#include "src/cluster/messages/frame.h"

namespace granary::cluster::messages {

/// An answer without a body.
inline std::string refusal(RequestType type, ReplyStatus status) {
  std::string message;
  encode_refusal(type, status, message);
  return message;
}

/// Calls `each` with a request and an answer of every kind.
void for_each_sample(auto&& each) {
  each(Describe{.from = 1},
       DescribeAnswer{.region_base = 0x7f0000000000,
                      .protocol = "silo",
                      .tables = {{.id = 1,
                                  .kind = TableKind::kHash,
                                  .base = 0,
                                  .name = "accounts",
                                  .max_value_bytes = 100,
                                  .main_offset = 4096,
                                  .buckets = 17,
                                  .fingerprint = 99},
                                 {.id = 2, .kind = TableKind::kSecondaryIndex, .base = 1, .name = "by name"}},
                      .more = true});
  const SeenRecord record{.offset = 64, .incarnation = 3, .tid = 0x1234567, .has_value = true, .value = "value"};
  const SeenLeaf leaf{.offset = 320,
                      .birth = 7,
                      .low_slice = 1ull << 56,
                      .low_code = 8,
                      .high_slice = ~std::uint64_t{0},
                      .high_code = 15};
  each(FindRecord{.table = 1, .key = "key", .make = true, .with_value = true},
       FindRecordAnswer{
           .record = record,
           .missed = {.kind = NodeKind::kBucket, .offset = 128, .version = 6},
           .made = true,
           .changes = {{.kind = NodeKind::kLeaf, .offset = 320, .before = 16, .after = 32, .split_from = 0},
                       {.kind = NodeKind::kLeaf, .offset = 640, .before = 0, .after = 48, .split_from = 320}},
           .leaves = {leaf}});
  const KeyRange range{.from = "a",
                       .from_inclusive = false,
                       .to = "m",
                       .to_inclusive = true,
                       .to_infinity = false,
                       .descending = true,
                       .limit = 10};
  each(Scan{.table = 2, .range = range, .held = {0x7fff000000000001, 0xffff000000000001}},
       ScanAnswer{.entries = {{.key = "b", .record = record, .base = {}}, {.key = "", .record = {}, .base = record}},
                  .nodes = {{.kind = NodeKind::kLeaf, .offset = 960, .version = 80}},
                  .more = true,
                  .leaves = {leaf, leaf}});
  each(SnapshotGet{.table = 1, .key = "key", .epoch = 50}, SnapshotGetAnswer{.found = true, .value = "then"});
  each(SnapshotScan{.table = 2, .range = range, .epoch = 50},
       SnapshotScanAnswer{.entries = {{.key = "b", .primary_key = "1", .value = "then"}}, .more = true});
  each(LendBlocks{.table = 1, .count = 64, .removes = true}, LendBlocksAnswer{.blocks = {64, 4096}});
  each(NoteRemoved{.table = 1, .key = "key", .tid = 0x40000006}, NoteRemovedAnswer{});
  each(Call{.procedure = "payment", .arguments = "w=1"}, CallAnswer{.result = "paid"});
  each(Control{.bytes = "start"}, ControlAnswer{.bytes = "ready"});
  each(ListFiles{.directory = "/log", .after = "a"}, ListFilesAnswer{.error = "no", .names = {"b", "c"}, .more = true});
  each(ReadFile{.path = "/log/b", .offset = 5, .bytes = 7},
       ReadFileAnswer{.error = "no", .missing = true, .file_bytes = 99, .bytes = "content"});
}

}  // namespace granary::cluster::messages
