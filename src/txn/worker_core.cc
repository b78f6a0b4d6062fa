#include "src/txn/worker_core.h"

#include <algorithm>
#include <utility>

#include <granary/limits.h>

#include "src/cc/garbage.h"
#include "src/epoch/entered.h"
#include "src/txn/context.h"

namespace granary::txn {

WorkerCore::WorkerCore(std::uint32_t id, cc::DatabaseState& shared)
    : id_(id),
      state_(shared),
      slots_(shared.epochs),
      lending_(state_, slots_),
      random_state_(0x9E3779B97F4A7C15ull * (id + 1)) {
  state_.visit_dropped = [this](FunctionRef<void(const cc::AccessSet&)> visit) {
    for (const auto& context : contexts_) {
      if (!context->idle() && context->is_dropped()) visit(context->sets());
    }
  };
  if (shared.htm == nullptr) return;
  if (shared.settings.in_regions) {
    state_.open_region = std::make_unique<htm::OpenRegion>(*shared.htm, id, shared.waiter);
  } else {
    state_.region = std::make_unique<htm::Region>(*shared.htm, id, shared.waiter);
  }
}

WorkerCore::~WorkerCore() { abort_all(); }

void WorkerCore::set_remote(MakeRemote make) {
  make_remote_ = std::move(make);
  for (const auto& context : contexts_) context->set_remote(make_remote_(*context));
}

void WorkerCore::end_remote() {
  abort_all();
  make_remote_ = nullptr;
  for (const auto& context : contexts_) context->set_remote(nullptr);
}

void WorkerCore::tidy_remote() {
  if (!make_remote_ || contexts_.empty()) return;
  const auto idle = [](const auto& context) { return context->idle(); };
  if (std::all_of(contexts_.begin(), contexts_.end(), idle)) contexts_.front()->tidy_remote();
}

void WorkerCore::end_arrived() {
  for (const auto& context : contexts_) (void)context->has_arrived();
}

bool WorkerCore::bind_first() {
  if (!process_.is_of_this_process()) return false;
  const void* nobody = nullptr;
  return thread_.compare_exchange_strong(nobody, this_thread(), std::memory_order_relaxed) || nobody == this_thread();
}

bool WorkerCore::run_in_turns(std::size_t count, Together::Body body) {
  if (in_turns_ != nullptr || make_remote_ || shared().settings.in_regions) return false;
  if (together_ == nullptr) together_ = std::make_unique<Together>(*state_.waiter);
  const auto open = std::ranges::count_if(contexts_, [](const auto& context) { return !context->idle(); });
  // The system may have no memory for a seat, so seats are made before anything of the worker changes.
  const std::uint32_t seats =
      together_->make_seats(std::min<std::size_t>(count, kMaxOpenTransactions - static_cast<std::uint32_t>(open)));
  if (seats == 0) return false;
  in_turns_ = together_.get();
  set_bodies(together_->running());
  base::Waiter* const alone = std::exchange(state_.waiter, &together_->waiter());
  // The transactions that bodies begin go on while one of them waits. Those that are open already do not.
  state_.moving_owners = ~cc::two_pl::OwnerSet{0};
  for (const auto& context : contexts_) state_.moving_owners &= ~context->lock_owner();
  together_->run(count, seats, body);
  state_.moving_owners = 0;
  state_.waiter = alone;
  set_bodies(nullptr);
  end_dropped();  // a body may have dropped what an earlier one had left open, and no other may begin for long
  in_turns_ = nullptr;
  together_->rethrow();
  return true;
}

Context* WorkerCore::idle_context() {
  // A body that runs in turns prefers the context with the number of its fiber, which it has used before.
  if (in_turns_ != nullptr && in_turns_->current() < contexts_.size()) {
    if (Context* const own = contexts_[in_turns_->current()].get(); own->idle()) return own;
  }
  for (std::uint32_t turn = 0;; ++turn) {
    for (const auto& context : contexts_) {
      if (context->idle()) return context.get();
    }
    if (contexts_.size() < kMaxOpenTransactions) break;
    // A committed transaction whose writes are under way gives its context back soon.
    if (!has_under_way()) return nullptr;
    state_.waiter->pause(turn);
  }
  // If the system has no memory for the context, an exception leaves this function, and the slot is there for the next
  // attempt.
  epoch::Slot* const slot = slots_.of_context(contexts_.size());
  if (slot == nullptr) return nullptr;
  auto added = std::make_unique<Context>(*this, *slot);
  if (make_remote_) added->set_remote(make_remote_(*added));
  contexts_.push_back(std::move(added));
  if (contexts_.size() == 1) first_context_.store(contexts_.front().get(), std::memory_order_release);
  return contexts_.back().get();
}

/// A transaction that was opened before the bodies ran may seem to be of the seat. It stands still as well, so it does
/// no harm here.
cc::two_pl::OwnerSet WorkerCore::lock_owners_in_seat(std::uint32_t seat) const {
  cc::two_pl::OwnerSet owners = 0;
  if (state_.own_owners == 0) return owners;
  for (const auto& context : contexts_) {
    if (context->seat() == seat) owners |= context->lock_owner();
  }
  return owners;
}

// The next two go through the contexts by number, since the end of a transaction of other nodes may let another fiber
// run, which adds a context.

void WorkerCore::abort_all() {
  for (std::size_t i = 0; i < contexts_.size(); ++i) contexts_[i]->end();
}

void WorkerCore::end_all_dropped() {
  if (!dropped_.exchange(false, std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < contexts_.size(); ++i) contexts_[i]->end_dropped();
}

std::size_t WorkerCore::collect(std::size_t budget, bool pass_on) {
  if (slots_.collecting() == nullptr) return 0;
  const epoch::Entered entered(shared().epochs, *slots_.collecting());
  if (lending_.lent()) return 0;
  const std::size_t freed = shared().settings.garbage_collection ? cc::collect_garbage(state_, budget) : 0;
  more_garbage_ = freed >= budget;
  if (pass_on) pass_on_memory();
  return freed;
}

bool WorkerCore::make_room() { return collect(kRoomBudget) != 0; }

std::uint64_t WorkerCore::random() {
  // xorshift64*, which is good enough for jitter.
  random_state_ ^= random_state_ >> 12;
  random_state_ ^= random_state_ << 25;
  random_state_ ^= random_state_ >> 27;
  return random_state_ * 0x2545F4914F6CDD1Dull;
}

}  // namespace granary::txn
