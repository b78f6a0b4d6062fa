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
      forgotten_(parts_.layout.nodes) {
  for (std::size_t at = 0; at < parts_.layout.nodes; ++at) asking_nodes_.push_back({parts_.layout.id_at(at)});
  for (AskingNode& asking : asking_nodes_) {
    for (std::uint32_t worker = 0; worker < parts_.layout.workers; ++worker)
      links_.push_back(std::make_unique<Link>(parts_, peers_, counts_, exchanges_, asking, worker));
  }
  if (parts_.calls != nullptr) parts_.calls->set_notify([&endpoint = parts_.endpoint] { endpoint.rouse(); });
}

Service::~Service() {
  if (parts_.calls != nullptr) parts_.calls->set_notify({});
}

bool Service::step(std::uint64_t now_us) {
  for (std::size_t index = 0; index < forgotten_.size(); ++index) {
    if (forgotten_[index].load(std::memory_order_acquire) && forgotten_[index].exchange(false))
      parts_.owner.forget(parts_.layout.id_at(index));
  }
  poll();
  bool any = pass_on_results();
  for (const auto& link : links_) any |= link->step(now_us);
  for (AskingNode& asking : asking_nodes_) asking.silent = false;
  parts_.owner.rest();
  return any;
}

void Service::forget(rdma::NodeId node) {
  const std::size_t index = parts_.layout.index_of(node);
  if (index < forgotten_.size()) forgotten_[index].store(true, std::memory_order_release);
}

void Service::poll() {
  std::array<rdma::Completion, 16> completions;
  std::size_t count = 0;
  do {
    count = parts_.endpoint.poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = Link::number_of(completions[i].tag);
      if (number < links_.size()) links_[number]->completed(completions[i]);
    }
  } while (count == completions.size());
}

bool Service::pass_on_results() {
  if (parts_.calls == nullptr) return false;
  const std::vector<CallQueue::Finished> all = parts_.calls->take_finished();
  for (const CallQueue::Finished& finished : all) links_[finished.ticket.link]->finished(finished);
  return !all.empty();
}

std::vector<Receiver*> Service::receivers() {
  std::vector<Receiver*> all;
  for (const auto& link : links_) all.push_back(&link->receiver());
  return all;
}

std::uint64_t Service::most_sleep_us() const {
  const bool quiet = std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->quiet(); });
  return quiet ? Sleeper::kMostSleep_us : Sleeper::kAskAgain_us;
}

}  // namespace granary::cluster::messages
