#pragma once
// Defines the requests that nodes send each other for what one-sided operations cannot do, and their answers. Plain
// values; offsets are in bytes from the start of the owner's engine memory (its region for one-sided access).
//
// Requests hold views, which outlive the question. So do answers about records: their bytes are the owner's until its
// next answer, and the question's (question.h) at the asking node. Other answers own what they hold.

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kvstore/remote/version_check.h"
#include "src/cluster/messages/wire.h"
#include "src/txn/table_core.h"

namespace granary::cluster::messages {

/// The number of a table, the same on all nodes (they create their tables in the same order).
using TableId = std::uint32_t;

/// The kinds of requests, as messages name them. A number is never given a new meaning; kVersion (frame.h) says when
/// one changes.
enum class RequestType : std::uint8_t {
  kDescribe,
  kFindRecord,
  kScan,
  kKeepVersion,  ///< not asked any more
  kNoteRemoved,
  kCall,
  kControl,
  kSnapshotGet,
  kSnapshotScan,
  kListFiles,
  kReadFile,
  kLendBlocks,
  kLast = kLendBlocks
};

/// How the owner has replied to a request. An answer follows only with kDone.
enum class ReplyStatus : std::uint8_t {
  kDone,
  kUnknownType,   ///< the owner does not know such requests
  kOtherVersion,  ///< of messages, which the owner does not understand
  kUnknownTable,
  kNotShared,   ///< other nodes do not reach records of this table
  kNotOrdered,  ///< a hash table cannot be scanned
  kKeyTooLong,
  kBusy,  ///< a record stayed locked for the whole bounded wait: ask again
  kOutOfMemory,
  kOverloaded,        ///< as many procedure calls as the owner takes are waiting: ask again later
  kUnknownProcedure,  ///< not said any more: what a call came to is in its answer
  kNoHandler,         ///< the owner has nobody for such requests
  kTooLarge,          ///< it is done, but the answer is longer than a message may be
  kNoSnapshots,       ///< the owner keeps no versions, or none of that epoch any more
  kHeldByDead,        ///< a node that is dead held the record, which stays locked until that node is recovered
  kImmutable,         ///< other nodes write nothing into this table
  kLast = kImmutable,
};
std::string_view name(ReplyStatus status);

// --- what answers are made of ---

using kvstore::remote::NodeKind;

/// A leaf or bucket for the coordinator's node set, as it was when the owner looked: to compare at commit with
/// VersionCheck.
struct SeenNode {
  NodeKind kind = NodeKind::kLeaf;
  std::uint64_t offset = 0;
  std::uint64_t version = 0;
  static constexpr auto kMembers = std::tuple{&SeenNode::kind, &SeenNode::offset, &SeenNode::version};
  bool operator==(const SeenNode&) const = default;
};

/// A leaf or bucket that the request changed: who has it in the node set at `before` has it at `after` from now on, at
/// another version it is a phantom. A new leaf has `before` 0: who has the leaf at `split_from` takes it in at `after`.
struct ChangedNode {
  NodeKind kind = NodeKind::kLeaf;
  std::uint64_t offset = 0;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t split_from = 0;
  static constexpr auto kMembers = std::tuple{&ChangedNode::kind, &ChangedNode::offset, &ChangedNode::before,
                                              &ChangedNode::after, &ChangedNode::split_from};
  bool operator==(const ChangedNode&) const = default;
};

/// A record as the owner read it by the rule for its own reads (I4). `offset` is what an index entry has, for
/// RemoteRecord::at_entry().
struct SeenRecord {
  std::uint64_t offset = 0;       ///< 0: there is none
  std::uint64_t incarnation = 0;  ///< whole
  std::uint64_t tid = 0;          ///< TID word, unlocked; says also whether the key is absent. For the read set
  /// False if the record is absent or the value was not sent: it was not asked for, the asker holds the record, or it
  /// is too long.
  bool has_value = false;
  std::string_view value{};
  static constexpr auto kMembers = std::tuple{&SeenRecord::offset, &SeenRecord::incarnation, &SeenRecord::tid,
                                              &SeenRecord::has_value, &SeenRecord::value};
  bool operator==(const SeenRecord&) const = default;
};

/// A leaf of layer 0 of an ordered table, for the asking node to remember (kvstore/remote/leaf_cache.h).
struct SeenLeaf {
  std::uint64_t offset = 0;
  std::uint32_t birth = 0;
  std::uint64_t low_slice = 0;
  std::uint8_t low_code = 0;
  std::uint64_t high_slice = 0;
  std::uint8_t high_code = 0;
  static constexpr auto kMembers = std::tuple{&SeenLeaf::offset,   &SeenLeaf::birth,      &SeenLeaf::low_slice,
                                              &SeenLeaf::low_code, &SeenLeaf::high_slice, &SeenLeaf::high_code};
  bool operator==(const SeenLeaf&) const = default;
};

// --- requests ---

/// The tables of the node that others reach, with all that one-sided access needs to know; in the order of their ids,
/// as many as fit into a message.
struct DescribeAnswer;
struct Describe {
  static constexpr RequestType kType = RequestType::kDescribe;
  using Answer = DescribeAnswer;
  TableId from = 0;  ///< no tables before this one
  static constexpr auto kMembers = std::tuple{&Describe::from};
  bool operator==(const Describe&) const = default;
};
enum class TableKind : std::uint8_t { kOrdered, kHash, kSecondaryIndex, kLast = kSecondaryIndex };
struct TableDescription {
  TableId id = 0;
  TableKind kind = TableKind::kOrdered;
  TableId base = 0;  ///< of a secondary index: its table
  std::string name{};
  std::uint32_t max_value_bytes = 0;
  std::uint64_t main_offset = 0;  ///< of a hash table: its main header, which moves when the table is resized
  std::uint64_t buckets = 0;
  std::uint64_t fingerprint = 0;                ///< over all of this that must be the same on all nodes
  std::uint64_t sealed_from = txn::kNotSealed;  ///< TableCore::sealed_from()
  static constexpr auto kMembers = std::tuple{&TableDescription::id,
                                              &TableDescription::kind,
                                              &TableDescription::base,
                                              &TableDescription::name,
                                              &TableDescription::max_value_bytes,
                                              &TableDescription::main_offset,
                                              &TableDescription::buckets,
                                              &TableDescription::fingerprint,
                                              &TableDescription::sealed_from};
  bool operator==(const TableDescription&) const = default;
};
struct DescribeAnswer {
  std::uint64_t region_base = 0;  ///< address of the engine's memory in its process (RemoteTable::owner_base)
  std::string protocol{};         ///< Options::protocol, which is the same on all nodes
  std::vector<TableDescription> tables{};
  bool more = false;  ///< ask again from behind the last table
  static constexpr auto kMembers = std::tuple{&DescribeAnswer::region_base, &DescribeAnswer::protocol,
                                              &DescribeAnswer::tables, &DescribeAnswer::more};
  bool operator==(const DescribeAnswer&) const = default;
};

/// Asks where the record of a key is, in a table of any kind. With `make`, the owner inserts an absent placeholder if
/// the key has no record. It is locked and written like any other record; garbage collection takes it away if nobody
/// writes it.
struct FindRecordAnswer;
struct FindRecord {
  static constexpr RequestType kType = RequestType::kFindRecord;
  using Answer = FindRecordAnswer;
  TableId table = 0;
  std::string_view key{};
  bool make = false;
  bool with_value = false;
  static constexpr auto kMembers =
      std::tuple{&FindRecord::table, &FindRecord::key, &FindRecord::make, &FindRecord::with_value};
  bool operator==(const FindRecord&) const = default;
};
struct FindRecordAnswer {
  SeenRecord record{};  ///< offset 0: the key has none, and `missed` says where it would be
  SeenNode missed{};
  bool made = false;  ///< the owner has made the record as a placeholder; others may have committed to it since
  std::vector<ChangedNode> changes{};  ///< if made
  std::vector<SeenLeaf> leaves{};      ///< the one that has the key, or would, if it may be READ
  static constexpr auto kMembers =
      std::tuple{&FindRecordAnswer::record, &FindRecordAnswer::missed, &FindRecordAnswer::made,
                 &FindRecordAnswer::changes, &FindRecordAnswer::leaves};
  bool operator==(const FindRecordAnswer&) const = default;
};

/// A range of keys of an ordered table or a secondary index (range.h).
struct KeyRange {
  std::string_view from{};
  bool from_inclusive = true;
  std::string_view to{};
  bool to_inclusive = false;
  bool to_infinity = false;  ///< `to` does not count
  bool descending = false;
  std::uint64_t limit = ~std::uint64_t{0};  ///< of entries that are not absent
  static constexpr auto kMembers =
      std::tuple{&KeyRange::from,        &KeyRange::from_inclusive, &KeyRange::to,   &KeyRange::to_inclusive,
                 &KeyRange::to_infinity, &KeyRange::descending,     &KeyRange::limit};
  bool operator==(const KeyRange&) const = default;

  /// Cuts the range off up to and including `key`, which outlives it.
  void advance_behind(std::string_view key) {
    if (descending) {
      to = key;
      to_inclusive = to_infinity = false;
    } else {
      from = key;
      from_inclusive = false;
    }
  }
};

/// Entries of a range, in order; as many as fit into a piece.
struct ScanAnswer;
struct Scan {
  static constexpr RequestType kType = RequestType::kScan;
  using Answer = ScanAnswer;
  TableId table = 0;
  KeyRange range{};
  /// The asking transaction's x-lock words at this owner, ascending. The owner reads these records as unlocked, and
  /// does not send their values, which the transaction knows.
  std::vector<std::uint64_t> held{};
  static constexpr auto kMembers = std::tuple{&Scan::table, &Scan::range, &Scan::held};
  bool operator==(const Scan&) const = default;
};
struct ScanEntry {
  std::string_view key{};
  SeenRecord record{};  ///< absent ones too: they belong into the read set
  /// In an entry of a secondary index: the record of the table that it leads to, whose key is the entry's value.
  SeenRecord base{};
  static constexpr auto kMembers = std::tuple{&ScanEntry::key, &ScanEntry::record, &ScanEntry::base};
  bool operator==(const ScanEntry&) const = default;
};
struct ScanAnswer {
  std::vector<ScanEntry> entries{};
  /// All leaves that overlap the part of the range that was looked at; of a secondary index also where base records
  /// were missed. One may be there twice, with different versions if it changed meanwhile.
  std::vector<SeenNode> nodes{};
  /// The range may have more entries. The asker asks again from behind the last key.
  bool more = false;
  std::vector<SeenLeaf> leaves{};  ///< those of `nodes` that may be READ
  static constexpr auto kMembers =
      std::tuple{&ScanAnswer::entries, &ScanAnswer::nodes, &ScanAnswer::more, &ScanAnswer::leaves};
  bool operator==(const ScanAnswer&) const = default;
};

/// Asks what a snapshot that is pinned at the asking node sees of a key.
struct SnapshotGetAnswer;
struct SnapshotGet {
  static constexpr RequestType kType = RequestType::kSnapshotGet;
  using Answer = SnapshotGetAnswer;
  TableId table = 0;
  std::string_view key{};
  std::uint64_t epoch = 0;
  static constexpr auto kMembers = std::tuple{&SnapshotGet::table, &SnapshotGet::key, &SnapshotGet::epoch};
  bool operator==(const SnapshotGet&) const = default;
};
struct SnapshotGetAnswer {
  bool found = false;
  std::string_view value{};
  static constexpr auto kMembers = std::tuple{&SnapshotGetAnswer::found, &SnapshotGetAnswer::value};
  bool operator==(const SnapshotGetAnswer&) const = default;
};

/// Asks what such a snapshot sees of a range. The answer has as many entries as fit into a piece.
struct SnapshotScanAnswer;
struct SnapshotScan {
  static constexpr RequestType kType = RequestType::kSnapshotScan;
  using Answer = SnapshotScanAnswer;
  TableId table = 0;
  KeyRange range{};
  std::uint64_t epoch = 0;
  static constexpr auto kMembers = std::tuple{&SnapshotScan::table, &SnapshotScan::range, &SnapshotScan::epoch};
  bool operator==(const SnapshotScan&) const = default;
};
struct SnapshotEntry {
  std::string_view key{};
  std::string_view primary_key{};  ///< of a secondary index: of the record, whose value it is
  std::string_view value{};
  static constexpr auto kMembers = std::tuple{&SnapshotEntry::key, &SnapshotEntry::primary_key, &SnapshotEntry::value};
  bool operator==(const SnapshotEntry&) const = default;
};
struct SnapshotScanAnswer {
  std::vector<SnapshotEntry> entries{};
  bool more = false;  ///< the range goes on: ask again from behind the last entry's key
  static constexpr auto kMembers = std::tuple{&SnapshotScanAnswer::entries, &SnapshotScanAnswer::more};
  bool operator==(const SnapshotScanAnswer&) const = default;
};

/// I12: asks for memory of the owner, into which the asking worker will WRITE old versions of the table's records
/// (lent_blocks.h). All blocks that the worker was lent for the table before count as used from then on.
struct LendBlocksAnswer;
struct LendBlocks {
  static constexpr RequestType kType = RequestType::kLendBlocks;
  using Answer = LendBlocksAnswer;
  TableId table = 0;
  std::uint32_t count = 0;  ///< the most that it wants
  /// Whether the first block is for a record that is removed. If there is no memory, that one block comes out of what
  /// the owner keeps for removals.
  bool removes = false;
  static constexpr auto kMembers = std::tuple{&LendBlocks::table, &LendBlocks::count, &LendBlocks::removes};
  bool operator==(const LendBlocks&) const = default;
};
struct LendBlocksAnswer {
  std::vector<std::uint64_t> blocks{};  ///< offsets; at least one. Each has room for the table's greatest value
  static constexpr auto kMembers = std::tuple{&LendBlocksAnswer::blocks};
  bool operator==(const LendBlocksAnswer&) const = default;
};

/// Asks the owner to register a removed record as garbage (I12); `tid` is the removal's TID word.
struct NoteRemovedAnswer;
struct NoteRemoved {
  static constexpr RequestType kType = RequestType::kNoteRemoved;
  using Answer = NoteRemovedAnswer;
  TableId table = 0;
  std::string_view key{};
  std::uint64_t tid = 0;
  static constexpr auto kMembers = std::tuple{&NoteRemoved::table, &NoteRemoved::key, &NoteRemoved::tid};
  bool operator==(const NoteRemoved&) const = default;
};
struct NoteRemovedAnswer {
  static constexpr auto kMembers = std::tuple{};
  bool operator==(const NoteRemovedAnswer&) const = default;
};

/// Runs a procedure at the node that is asked, by one of its workers.
struct CallAnswer;
struct Call {
  static constexpr RequestType kType = RequestType::kCall;
  using Answer = CallAnswer;
  std::string_view procedure{};
  std::string_view arguments{};
  static constexpr auto kMembers = std::tuple{&Call::procedure, &Call::arguments};
  bool operator==(const Call&) const = default;
};
struct CallAnswer {
  std::string result{};  ///< as whoever ran it made it
  static constexpr auto kMembers = std::tuple{&CallAnswer::result};
  bool operator==(const CallAnswer&) const = default;
};

/// The logs of the node, for others that recover: names in one of its directories, in their order. "." is its data
/// directory.
struct ListFilesAnswer;
struct ListFiles {
  static constexpr RequestType kType = RequestType::kListFiles;
  using Answer = ListFilesAnswer;
  std::string_view directory{};
  std::string_view after{};  ///< names behind this one
  static constexpr auto kMembers = std::tuple{&ListFiles::directory, &ListFiles::after};
  bool operator==(const ListFiles&) const = default;
};
struct ListFilesAnswer {
  std::string error{};  ///< why nothing is told
  std::vector<std::string> names{};
  bool more = false;  ///< ask again from behind the last name
  static constexpr auto kMembers = std::tuple{&ListFilesAnswer::error, &ListFilesAnswer::names, &ListFilesAnswer::more};
  bool operator==(const ListFilesAnswer&) const = default;
};

/// A part of a file in such a directory.
struct ReadFileAnswer;
struct ReadFile {
  static constexpr RequestType kType = RequestType::kReadFile;
  using Answer = ReadFileAnswer;
  std::string_view path{};
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;  ///< at most so many
  static constexpr auto kMembers = std::tuple{&ReadFile::path, &ReadFile::offset, &ReadFile::bytes};
  bool operator==(const ReadFile&) const = default;
};
struct ReadFileAnswer {
  std::string error{};  ///< why nothing is told
  bool missing = false;
  std::uint64_t file_bytes = 0;
  std::string bytes{};  ///< fewer than asked for if the file ends, or a message
  static constexpr auto kMembers =
      std::tuple{&ReadFileAnswer::error, &ReadFileAnswer::missing, &ReadFileAnswer::file_bytes, &ReadFileAnswer::bytes};
  bool operator==(const ReadFileAnswer&) const = default;
};

/// Carries bytes of the command that runs the cluster; this layer does not interpret them.
struct ControlAnswer;
struct Control {
  static constexpr RequestType kType = RequestType::kControl;
  using Answer = ControlAnswer;
  std::string_view bytes{};
  static constexpr auto kMembers = std::tuple{&Control::bytes};
  bool operator==(const Control&) const = default;
};
struct ControlAnswer {
  std::string bytes{};
  static constexpr auto kMembers = std::tuple{&ControlAnswer::bytes};
  bool operator==(const ControlAnswer&) const = default;
};

}  // namespace granary::cluster::messages
