#pragma once
// The limits a user can meet, in one place. Exceeding one is a typed error, never undefined.

#include <cstddef>
#include <cstdint>

namespace granary {

/// Workers registered with one Database at the same time.
inline constexpr std::uint32_t kMaxWorkers = 256;
/// Loggers of one Database (Options::loggers).
inline constexpr std::uint32_t kMaxLoggers = 64;
/// The last NUMA node that memory can be placed on (Options::numa_node).
inline constexpr int kMaxNumaNode = 63;
/// Transactions that one worker may have open at the same time.
inline constexpr std::uint32_t kMaxOpenTransactions = 16;
/// Bytes of a key; zero is allowed.
inline constexpr std::size_t kMaxKeyBytes = 64 * 1024;
/// Bytes of a value; zero is allowed.
inline constexpr std::size_t kMaxValueBytes = 1024 * 1024;
/// The same in a shared table (TableOptions::shared), where record and key lie in one block.
inline constexpr std::size_t kMaxSharedValueBytes = kMaxValueBytes - kMaxKeyBytes;
/// Bytes of a key of a shared table that has secondary indexes: their records, which hold it, get room for so much.
inline constexpr std::size_t kMaxIndexedSharedKeyBytes = 256;
/// Bytes of a table's or index's name; at least one.
inline constexpr std::size_t kMaxNameBytes = 255;
/// Tables and secondary indexes of one Database together.
inline constexpr std::uint32_t kMaxTables = 4096;
/// Keys that a hash index can be made for (TableOptions::expected_keys).
inline constexpr std::uint64_t kMaxExpectedKeys = std::uint64_t{1} << 36;
/// Bytes of a procedure's name and arguments together, and of its reply, if it is called at another node
/// (ClusterWorker::call). Each is one message.
inline constexpr std::size_t kMaxCallBytes = 255 * 1024;
/// Operations (reads, writes, scanned nodes, each counted apart) of one transaction.
inline constexpr std::size_t kMaxAccesses = std::size_t{1} << 26;
/// How often in a row an attempt of Worker::run() may end with AbortReason::kOpenTooLong, as RetryPolicy tells. A
/// thread that was not scheduled for a while explains some such ends, but not ten in a row: then the body itself takes
/// too long, and always will.
inline constexpr std::uint32_t kMostOpenTooLong = 10;

}  // namespace granary
