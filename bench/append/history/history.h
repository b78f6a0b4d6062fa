#pragma once
// A list-append history, as Jepsen records it and Elle judges it (Kingsbury and Alvaro, VLDB 2020): what clients
// asked for and what they were told, in real-time order.
//
// Every key holds a list. A transaction appends elements and reads whole lists; elements are unique per key, so a list
// that was read shows the versions that led to it, in order. What Elle does not know: a transaction may read only the
// last element of a list, which is enough to tell the version.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace granary::bench::history {

using Key = std::int64_t;
using Element = std::int64_t;

struct MicroOp {
  enum class Kind : std::uint8_t { kAppend, kRead, kReadLast };
  Kind kind = Kind::kRead;
  Key key = 0;
  Element element = 0;        ///< kAppend
  bool known = false;         ///< kRead, kReadLast: whether `list` tells what was read (nil otherwise)
  std::vector<Element> list;  ///< kRead: all; kReadLast: the last element, or nothing of an empty list

  static MicroOp append(Key key, Element element) { return {Kind::kAppend, key, element, false, {}}; }
  static MicroOp read(Key key) { return {Kind::kRead, key, 0, false, {}}; }
  static MicroOp read(Key key, std::vector<Element> list) { return {Kind::kRead, key, 0, true, std::move(list)}; }
  static MicroOp last(Key key) { return {Kind::kReadLast, key, 0, false, {}}; }
  static MicroOp last(Key key, std::vector<Element> list) { return {Kind::kReadLast, key, 0, true, std::move(list)}; }
  friend bool operator==(const MicroOp&, const MicroOp&) = default;
};

enum class EventType : std::uint8_t {
  kInvoke,  ///< a client begins
  kOk,      ///< it committed; reads are known
  kFail,    ///< it aborted
  kInfo,    ///< the client does not know
};

struct Event {
  EventType type = EventType::kInvoke;
  std::uint64_t process = 0;  ///< one open transaction each; a new one after kInfo
  std::uint64_t time_ns = 0;
  std::vector<MicroOp> ops;
  bool snapshot = false;  ///< it reads a snapshot, so it is serializable, but not strictly
  friend bool operator==(const Event&, const Event&) = default;
};

/// In real-time order: an event at a smaller position happened before, unless an invocation and a completion
/// carry the same time; then the invocation comes first, which claims less.
using History = std::vector<Event>;

/// Sorts events by that rule. Each process's own events must be in order already.
void sort_by_time(History& history);
/// Those that are no snapshots'.
History without_snapshots(const History& history);

}  // namespace granary::bench::history
