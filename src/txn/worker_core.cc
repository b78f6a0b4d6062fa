#include "src/txn/worker_core.h"

#include <algorithm>

#include "src/base/test_hooks.h"
#include "src/cc/garbage.h"
#include "src/epoch/entered.h"
#include "src/txn/context.h"

namespace granary::txn {

WorkerCore::WorkerCore(std::uint32_t id, cc::Shared& shared)
    : id_(id),
      state_(shared),
      collect_slot_(shared.epochs.acquire_slot()),
      random_state_(0x9E3779B97F4A7C15ull * (id + 1)) {
  if (shared.htm != nullptr) state_.region = std::make_unique<htm::Region>(*shared.htm, id, shared.waiter);
}

WorkerCore::~WorkerCore() {
  abort_all();
  for (const auto& context : contexts_) shared().epochs.release_slot(&context->slot());
  if (collect_slot_ != nullptr) shared().epochs.release_slot(collect_slot_);
}

void WorkerCore::set_remote(std::function<std::unique_ptr<RemoteAccess>()> make) {
  make_remote_ = std::move(make);
  for (const auto& context : contexts_) context->set_remote(make_remote_());
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

bool WorkerCore::bind_first() {
  const void* nobody = nullptr;
  return thread_.compare_exchange_strong(nobody, this_thread(), std::memory_order_relaxed) || nobody == this_thread();
}

Context* WorkerCore::idle_context() {
  for (const auto& context : contexts_) {
    if (context->idle()) return context.get();
  }
  if (contexts_.size() == kMaxOpenTransactions) return nullptr;
  epoch::Slot* const slot = shared().epochs.acquire_slot();
  if (slot == nullptr) return nullptr;
  slots_[contexts_.size()].store(slot, std::memory_order_release);
  contexts_.push_back(std::make_unique<Context>(*this, *slot));
  if (make_remote_) contexts_.back()->set_remote(make_remote_());
  if (contexts_.size() == 1) first_context_.store(contexts_.front().get(), std::memory_order_release);
  return contexts_.back().get();
}

bool WorkerCore::owns_slot(const epoch::Slot* slot) const {
  for (const auto& mine : slots_) {
    if (mine.load(std::memory_order_acquire) == slot) return slot != nullptr;
  }
  return false;
}

void WorkerCore::abort_all() {
  for (const auto& context : contexts_) context->end();
}

std::size_t WorkerCore::collect(std::size_t budget, bool pass_on) {
  if (collect_slot_ == nullptr) return 0;
  const epoch::Entered entered(shared().epochs, *collect_slot_);
  if (lent_.load(std::memory_order_acquire)) return 0;
  const std::size_t freed = shared().settings.garbage_collection ? cc::collect_garbage(state_, budget) : 0;
  more_garbage_ = freed >= budget;
  if (pass_on) pass_on_memory();
  return freed;
}

bool WorkerCore::make_room() { return collect(kRoomBudget) != 0; }

void WorkerCore::let_borrow(bool allowed) {
  // Sequentially consistent, as is the store in borrow(): either that one sees that it may not, or this one waits for it.
  lendable_.store(allowed, std::memory_order_seq_cst);
  if (!allowed && lent_.load(std::memory_order_seq_cst)) wait_until_given_back();
}

bool WorkerCore::in_no_slot() const {
  const auto idle = [](const epoch::Slot* slot) {
    return slot == nullptr || slot->local.load(std::memory_order_acquire) == epoch::kIdle;
  };
  return idle(collect_slot_) && std::all_of(slots_.begin(), slots_.end(), [&](const auto& mine) {
           return idle(mine.load(std::memory_order_acquire));
         });
}

bool WorkerCore::borrow() {
  lent_.store(true, std::memory_order_seq_cst);
  shared().epochs.fence();
  const bool idle = in_no_slot() || base::injected("borrow-too-early");
  if (lendable_.load(std::memory_order_seq_cst) && idle) return true;
  give_back();
  return false;
}

void WorkerCore::wait_until_given_back() {
  for (std::uint32_t turn = 0; lent_.load(std::memory_order_acquire); ++turn) state_.waiter->pause(turn);
}

std::uint64_t WorkerCore::random() {
  // xorshift64*: jitter needs no better.
  random_state_ ^= random_state_ >> 12;
  random_state_ ^= random_state_ << 25;
  random_state_ ^= random_state_ >> 27;
  return random_state_ * 0x2545F4914F6CDD1Dull;
}

}  // namespace granary::txn
