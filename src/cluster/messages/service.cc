#include "src/cluster/messages/service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "rdma/mailbox/sleeper.h"
#include "src/base/check.h"
#include "src/base/region_mark.h"
#include "src/cluster/messages/service_link.h"

namespace granary::cluster::messages {

using rdma::mailbox::Receiver;
using rdma::mailbox::Sleeper;

Service::Service(ServicePlace place)
    : place_(std::move(place)),
      peers_(place_.endpoint),
      forgotten_(place_.layout.nodes) {
  for (std::size_t at = 0; at < place_.layout.nodes; ++at) {
    for (std::uint32_t worker = 0; worker < place_.layout.workers; ++worker) {
      links_.push_back(std::make_unique<Link>(place_, peers_, counts_, work_, place_.layout.id_at(at), worker));
    }
  }
  rdma::Endpoint& sleeps_at = place_.sleeps_at != nullptr ? *place_.sleeps_at : place_.endpoint;
  if (place_.calls != nullptr) place_.calls->set_notify([&sleeps_at] { sleeps_at.rouse(); });
}

Service::~Service() {
  if (place_.calls != nullptr) place_.calls->set_notify({});
}

bool Service::step(std::uint64_t now_us) {
  for (std::size_t place = 0; place < forgotten_.size(); ++place) {
    if (forgotten_[place].load(std::memory_order_acquire) && forgotten_[place].exchange(false))
      place_.owner.forget(place_.layout.id_at(place));
  }
  poll();
  bool any = pass_on_results();
  any |= answer_put_off();
  for (const auto& link : links_) any |= link->step(now_us);
  place_.owner.rest();
  return any;
}

bool Service::serve(std::span<const std::size_t> places, std::uint32_t worker, Moment moment, std::uint64_t now_us) {
  base::outside_region();
  base::invariant("I34", !std::exchange(work_.by_worker, true));
  place_.owner.let_wait(false);
  poll();
  const std::size_t put_off = work_.put_off.size();
  for (const std::size_t place : places) link(place, worker).serve(now_us);
  const bool settled = settle(places, worker);
  if (moment == Moment::kBetween) place_.owner.rest();
  place_.owner.let_wait(true);
  work_.by_worker = false;
  return !settled || work_.put_off.size() != put_off;
}

/// Sees to it that nobody who sleeps misses an answer: who sends looks afterwards, by a READ, whether the receiver has to be rung. That is done
/// at once over shared memory, and soon over a card. False if it takes longer, or an answer has no room in its ring yet.
bool Service::settle(std::span<const std::size_t> places, std::uint32_t worker) {
  constexpr unsigned kPolls = 256;
  const auto quiet = [&](std::size_t place) { return link(place, worker).quiet(); };
  for (unsigned i = 0; i < kPolls; ++i) {
    if (std::all_of(places.begin(), places.end(), quiet)) return true;
    poll();
  }
  return false;
}

bool Service::has_something() const {
  const auto waits = [](const auto& link) { return link->receiver().has_something(); };
  return !work_.put_off.empty() || std::any_of(links_.begin(), links_.end(), waits);
}

bool Service::attended() const {
  for (std::uint32_t worker = 0; worker < place_.layout.workers; ++worker) {
    if (link(0, worker).attended()) return true;
  }
  return false;
}

bool Service::answer_put_off() {
  if (work_.put_off.empty()) return false;
  for (const PutOff& one : std::exchange(work_.put_off, {})) links_[one.ticket.link]->answer_put_off(one);
  return true;
}

void Service::forget(rdma::NodeId node) {
  const std::size_t place = place_.layout.place_of(node);
  if (place < forgotten_.size()) forgotten_[place].store(true, std::memory_order_release);
}

void Service::poll() {
  std::array<rdma::Completion, 16> completions;
  std::size_t count = 0;
  do {
    count = place_.endpoint.poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = Link::number_of(completions[i].tag);
      if (number < links_.size()) links_[number]->completed(completions[i]);
    }
  } while (count == completions.size());
}

bool Service::pass_on_results() {
  if (place_.calls == nullptr) return false;
  const std::vector<CallQueue::Finished> all = place_.calls->take_finished();
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
