#pragma once
// Finds out how much memory this process may use, and says which parts of a memory limit are kept for what.

#include <cstdint>

namespace granary::db {

/// Returns the bytes of the machine's memory, or the least limit of the process's control groups if that is less.
std::uint64_t available_memory_bytes();

/// Returns how much memory the scan of a log may take for the segments that it holds at a time.
std::uint64_t scan_memory_bytes();

/// One part in so many of the memory limit is a reserve that only deletions may use, and half of it indexes
/// (memory::Urgency).
inline constexpr std::uint64_t kReserveShare = 32;
/// Returns how much of the reserve is kept while stored data are loaded. A full database that was opened must be able
/// to delete, and then to insert, where deletions have made room for rows but not for a node of the index. Each of the
/// two needs an extent, which a small limit cannot spare: loading needs somewhat more memory than the database did when
/// it was filled (recovery/packed_indexes.cc).
std::uint64_t reserve_of_loading(std::uint64_t limit_bytes);

/// One part in so many of the memory limit is left to the rest by shared records and nodes of ordered indexes, whose
/// memory stays what it is (memory::SlabPool::leave_to_others). An update of a shared record keeps the old version
/// there for up to two snapshot periods. So in that time a full database can update as many rows as have room there.
/// Removals need the same, and a 32nd has proved enough for them. Updates get twice as much because other nodes borrow
/// of it: each of their workers may hold 64 KiB for a table, also while it writes nothing (messages::LentBlocks). What
/// is left here is lost to shared tables, so it is no more than that.
inline constexpr std::uint64_t kLeftToOthersShare = 16;

}  // namespace granary::db
