#pragma once
// Notices: what a database, or a node of a cluster, tells of its own accord, because no call is there whose status
// could say it. An application that keeps a log of its own gives Options::notices a sink; without one they are printed
// on stderr.
//
// A sink belongs to one database (and to the node of a cluster whose database it is), not to the process: a process may
// have several databases, of which the application wants to know which one tells, and a library that a program links
// twice must not take away the program's own sink.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <granary/export.h>

namespace granary {

enum class NoticeSeverity : std::uint8_t {
  kInfo,     ///< nothing is to be done
  kWarning,  ///< the database goes on, but not as well as it should
  kError,    ///< something does not work until it is mended
};

/// The subject of a notice. Applications should tell notices apart by it, because texts may change.
enum class NoticeTopic : std::uint8_t {
  kMemoryPages,      ///< there are no 2 MiB pages (HugePages::kTry)
  kOpenTransaction,  ///< a transaction has been open for over a second and holds the epoch back
  kCheckpoint,       ///< a checkpoint that the database made by itself has failed
  kClosing,          ///< closing in the destructor has failed, so not everything may be durable
  kRecovery,         ///< what the recovery of a cluster found and gave up or mended
  kMembership,  ///< ZooKeeper cannot be reached or answers again, or this node is no member of its cluster any more
  kPeers,       ///< another node has died, is back, stands still, or goes on
  /// The first call of a chain was left half done, or the last such one is finished (Procedures::keep_chains).
  kChains,
  kLogRings,  ///< the log rings were removed while the database is open (Options::reliable_directory)
};

struct Notice {
  NoticeSeverity severity = NoticeSeverity::kInfo;
  NoticeTopic topic = NoticeTopic::kRecovery;
  std::string text = {};                    ///< for people; one line
  std::optional<std::uint16_t> node = {};   ///< of a cluster, if the notice is about a certain one
  std::optional<std::uint64_t> epoch = {};  ///< in which it happened, if it is about epochs
  // Of a node of a cluster that tells, once it is a member.
  std::optional<std::uint32_t> generation = {};     ///< counts its lives
  std::optional<std::uint64_t> configuration = {};  ///< the version of the newest configuration that it knows
};

/// Takes notices. Any thread of the library may call it, several at once, and so may the calls that open, join, close
/// and leave, and those of procedures, until the database or cluster has been destroyed. It has to return soon, since
/// threads that advance epochs or keep the membership alive wait for it, and must not call the database or cluster that
/// tells, which may hold locks. If it throws, the exception ends there, and the notice is printed on stderr.
using NoticeSink = std::function<void(const Notice&)>;

/// Prints the notice as one line on stderr, "granary: ..." or "granary: warning: ...". The library does so where there
/// is no sink.
GRANARY_EXPORT void print_notice(const Notice& notice) noexcept;

/// Short lower-case names for logs, e.g. "warning", "open_transaction".
GRANARY_EXPORT std::string_view name(NoticeSeverity severity);
GRANARY_EXPORT std::string_view name(NoticeTopic topic);

}  // namespace granary
