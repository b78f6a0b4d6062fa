#pragma once
// A worker's look at the requests of other nodes (I34). Its node's service has a thread of its own, and to wake that for a short question
// costs more than the question. So a worker that is awake looks between its transactions, and while it waits, whether something has come, and
// answers it.
//
// A worker looks at the rings of the asking workers that have its number. Their nodes' bytes in its row (layout.h) change when something is
// in a ring, so that a look costs the same however many nodes there are: a word for eight of them, in lines that nobody else writes while
// nothing comes.
//
// The worker says by the word of its row that it looks. A node that asks then does not wake the service's thread, or only when its message
// has not been taken for Messenger::kPatience_us: the worker may be in a long transaction, or doing something else.

#include <cstdint>
#include <functional>
#include <vector>

#include "src/cluster/messages/door.h"
#include "src/cluster/messages/layout.h"
#include "src/cluster/messages/service.h"

namespace granary::cluster::messages {

/// Used by the worker's thread.
class Attendant {
 public:
  /// `number`: the worker's, which no other worker of the node has. Door, layout and mailboxes outlive this.
  Attendant(Door& door, const MailboxLayout& layout, char* mailboxes, std::uint32_t number,
            std::function<std::uint64_t()> now_us);
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  /// Whether look() has something to do.
  bool wants_to_look() const;
  /// Says that it looks, and answers what has come, if nobody else is inside of the door. It waits for nothing.
  void look(Moment moment);
  /// Says that it looks no more, until look() is called again. Before the worker sleeps.
  void look_away();

 private:
  bool something_came() const;
  void serve(Moment moment);

  Door& door_;
  const std::uint32_t number_;
  const std::size_t nodes_;
  const std::function<std::uint64_t()> now_us_;
  std::uint64_t* const attended_;       ///< Service::Link says who stores it
  const std::uint64_t* const signs_;    ///< written by the asking nodes, each its byte
  std::vector<std::uint64_t> seen_;     ///< the signs at the last look
  std::vector<std::size_t> came_from_;  ///< places of nodes; serve()'s, a member only so that its memory is used again
};

}  // namespace granary::cluster::messages
