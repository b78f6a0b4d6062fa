#pragma once
// A list-append history, as Jepsen records it and Elle judges it (Kingsbury and Alvaro, VLDB 2020): the clients'
// requests and the answers to them, in real-time order.
//
// Every key holds a list. A transaction appends elements and reads whole lists; elements are unique per key, so a list
// that was read shows the versions that led to it, in order. Unlike in Elle, a transaction may read only the last
// element of a list, which is enough to tell the version.

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
  Element element = 0;        ///< the element of a kAppend
  bool known = false;         ///< for kRead and kReadLast: whether `list` is the value that was read (nil otherwise)
  std::vector<Element> list;  ///< for kRead all elements; for kReadLast the last one, or none if the list was empty

  static MicroOp append(Key key, Element element) { return {Kind::kAppend, key, element, false, {}}; }
  static MicroOp read(Key key) { return {Kind::kRead, key, 0, false, {}}; }
  static MicroOp read(Key key, std::vector<Element> list) { return {Kind::kRead, key, 0, true, std::move(list)}; }
  static MicroOp last(Key key) { return {Kind::kReadLast, key, 0, false, {}}; }
  static MicroOp last(Key key, std::vector<Element> list) { return {Kind::kReadLast, key, 0, true, std::move(list)}; }
  friend bool operator==(const MicroOp&, const MicroOp&) = default;
};

enum class EventType : std::uint8_t {
  kInvoke,  ///< a client begins
  kOk,      ///< it committed, and its reads are known
  kFail,    ///< it aborted
  kInfo,    ///< the client does not know how it ended
};

struct Event {
  EventType type = EventType::kInvoke;
  std::uint64_t process = 0;  ///< has one open transaction at a time; after kInfo the client takes a new one
  std::uint64_t time_ns = 0;
  std::vector<MicroOp> ops;
  bool snapshot = false;  ///< whether it reads a snapshot, so that it is serializable, but not strictly
  friend bool operator==(const Event&, const Event&) = default;
};

/// Events in real-time order: an event at a smaller position happened before. If an invocation and a completion carry
/// the same time, the invocation comes first, which claims less.
using History = std::vector<Event>;

/// Sorts events in the order of History. Each process's own events must be in order already.
void sort_by_time(History& history);
/// Returns the events of all transactions but snapshots.
History without_snapshots(const History& history);

}  // namespace granary::bench::history
