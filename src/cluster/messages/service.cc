#include "src/cluster/messages/service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rdma/mailbox/sleeper.h"
#include "src/cluster/messages/service_link.h"

namespace granary::cluster::messages {

using rdma::mailbox::Receiver;
using rdma::mailbox::Sleeper;

Service::Service(ServiceParts parts)
    : parts_(std::move(parts)),
      peers_(parts_.endpoint),
      signs_(parts_.mailboxes + parts_.layout.signs(), parts_.layout.count()),
      forgotten_(parts_.layout.nodes) {
  for (std::size_t at = 0; at < parts_.layout.nodes; ++at) asking_nodes_.push_back({parts_.layout.id_at(at)});
  for (AskingNode& asking : asking_nodes_) {
    for (std::uint32_t worker = 0; worker < parts_.layout.workers; ++worker)
      links_.push_back(std::make_unique<Link>(parts_, peers_, counts_, exchanges_, asking, worker));
  }
  due_.reserve(links_.size());
  if (parts_.calls != nullptr) parts_.calls->set_notify([&endpoint = parts_.endpoint] { endpoint.rouse(); });
}

Service::~Service() {
  if (parts_.calls != nullptr) parts_.calls->set_notify({});
}

bool Service::step(std::uint64_t now_us) {
  forget_former_lives();
  poll();
  bool any = pass_on_results();
  look();
  any |= step_due(now_us);
  parts_.owner.rest();
  return any;
}

void Service::forget_former_lives() {
  if (!any_forgotten_.load(std::memory_order_acquire)) return;
  any_forgotten_.exchange(false);
  for (std::size_t index = 0; index < forgotten_.size(); ++index) {
    if (forgotten_[index].load(std::memory_order_acquire) && forgotten_[index].exchange(false))
      parts_.owner.forget(parts_.layout.id_at(index));
  }
}

void Service::look() {
  signs_.look([this](std::size_t ring) {
    if (ring < links_.size()) note_due(*links_[ring]);
  });
  if (links_.empty()) return;
  Link& next = *links_[next_look_];
  if (++next_look_ == links_.size()) next_look_ = 0;
  if (next.is_due()) note_due(next);
}

void Service::note_due(Link& link) {
  if (!std::exchange(link.listed, true)) due_.push_back(&link);
}

/// Has the links that are due take a step. Those that are due again stay so.
bool Service::step_due(std::uint64_t now_us) {
  bool any = false;
  for (Link* const link : due_) any |= link->step(now_us);
  for (Link* const link : due_) link->end_step();
  std::erase_if(due_, [](Link* link) { return !(link->listed = link->is_due()); });
  return any;
}

void Service::forget(rdma::NodeId node) {
  const std::size_t index = parts_.layout.index_of(node);
  if (index >= forgotten_.size()) return;
  forgotten_[index].store(true, std::memory_order_release);
  any_forgotten_.store(true, std::memory_order_release);
}

void Service::poll() {
  std::array<rdma::Completion, 16> completions;
  std::size_t count = 0;
  do {
    count = parts_.endpoint.poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = Link::number_of(completions[i].tag);
      if (number >= links_.size()) continue;
      links_[number]->completed(completions[i]);
      note_due(*links_[number]);
    }
  } while (count == completions.size());
}

bool Service::pass_on_results() {
  if (parts_.calls == nullptr) return false;
  const std::vector<CallQueue::Finished> all = parts_.calls->take_finished();
  for (const CallQueue::Finished& finished : all) {
    links_[finished.ticket.link]->finished(finished);
    note_due(*links_[finished.ticket.link]);
  }
  return !all.empty();
}

std::vector<Receiver*> Service::receivers() {
  std::vector<Receiver*> all;
  for (const auto& link : links_) all.push_back(&link->receiver());
  return all;
}

std::uint64_t Service::most_sleep_us() const { return due_.empty() ? Sleeper::kMostSleep_us : Sleeper::kAskAgain_us; }

}  // namespace granary::cluster::messages
