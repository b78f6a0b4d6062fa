// I13 and the reclamation epochs with real threads: while a slot is entered, E never passes e_w + 1, and nothing that
// it could still reach counts as safe. Not covered: systems without membarrier (the fence is then the worker's own).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/epoch/epoch.h"
#include "src/epoch/limbo.h"

namespace granary::epoch {
namespace {

constexpr auto kDuration = std::chrono::milliseconds(1500);
constexpr auto kPatience = std::chrono::seconds(20);  // on a busy machine E moves slowly
constexpr Epoch kEnoughEpochs = 150;
constexpr int kThreads = 4;

/// Runs `body(thread)` in several threads, again and again, while the calling thread ticks as fast as it can: for a
/// while, and until E has moved enough.
template <typename Body>
void run_against_ticks(EpochManager& epochs, Body&& body) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      while (!stop.load(std::memory_order_relaxed)) body(me);
    });
  }
  const auto start = std::chrono::steady_clock::now();
  for (auto now = start; now < start + kDuration || (epochs.current() < kEnoughEpochs && now < start + kPatience);
       now = std::chrono::steady_clock::now()) {
    epochs.tick();
  }
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
}

TEST(EpochStress, NeverMoreThanOneAheadWhileInside) {
  EpochManager epochs({.snapshot_epochs = 3, .max_open_epochs = 0});
  std::vector<Slot*> slots;
  for (int i = 0; i < kThreads; ++i) slots.push_back(epochs.acquire_slot());
  std::atomic<std::uint64_t> violations{0};
  run_against_ticks(epochs, [&](int me) {
    Slot& slot = *slots[static_cast<std::size_t>(me)];
    const Epoch mine = epochs.enter(slot);
    for (int look = 0; look < 20; ++look) {
      const bool holds = epochs.current() - mine <= 1 && epochs.tree_reclamation() < mine &&
                         (epochs.snapshot_of(mine) == 0 || epochs.snapshot_reclamation() < epochs.snapshot_of(mine));
      if (!holds) violations.fetch_add(1);
      if (look == 10) std::this_thread::yield();
    }
    epochs.leave(slot);
  });
  EXPECT_EQ(violations.load(), 0u);
  EXPECT_GT(epochs.current(), 100u) << "E hardly moved; the test saw nothing";
}

TEST(EpochStress, WhatAReaderReachedIsNotFreedUnderIt) {
  // One shared pointer is exchanged all the time; the old object goes to limbo and is marked dead when it is freed.
  // The marks are atomics, so that a premature free shows as a dead object and not as undefined behaviour.
  struct Object {
    std::atomic<bool> alive{true};
  };
  EpochManager epochs({.snapshot_epochs = 3, .max_open_epochs = 0});
  std::atomic<Object*> shared{new Object};
  std::atomic<std::uint64_t> dead_seen{0}, freed{0};
  std::vector<Slot*> slots;
  std::vector<LimboList<Object*>> limbos(kThreads);
  for (int i = 0; i < kThreads; ++i) slots.push_back(epochs.acquire_slot());
  std::mutex graveyard_mutex;
  std::vector<std::unique_ptr<Object>> graveyard;
  run_against_ticks(epochs, [&](int me) {
    Slot& slot = *slots[static_cast<std::size_t>(me)];
    auto& limbo = limbos[static_cast<std::size_t>(me)];
    epochs.enter(slot);
    if (me == 0) {
      Object* old = shared.exchange(new Object, std::memory_order_acq_rel);
      limbo.add(epochs.current() + 1, old);  // as NodeMemory::retire
    } else {
      const Object* seen = shared.load(std::memory_order_acquire);
      for (int look = 0; look < 20; ++look) {
        if (!seen->alive.load(std::memory_order_relaxed)) dead_seen.fetch_add(1);
        if (look == 10) std::this_thread::yield();
      }
    }
    epochs.leave(slot);
    limbo.reclaim(epochs.tree_reclamation(), 100, [&](Object* object) {
      object->alive.store(false, std::memory_order_relaxed);
      freed.fetch_add(1, std::memory_order_relaxed);
      const std::lock_guard lock(graveyard_mutex);
      graveyard.emplace_back(object);
    });
  });
  EXPECT_EQ(dead_seen.load(), 0u);
  EXPECT_GT(freed.load(), 100u);
  for (auto& limbo : limbos) limbo.reclaim(kIdle - 1, ~std::size_t{0}, [](Object* object) { delete object; });
  delete shared.load();
}

TEST(EpochStress, PinnedSnapshotsSurviveLeaving) {
  EpochManager epochs({.snapshot_epochs = 3, .max_open_epochs = 0});
  std::vector<Slot*> slots;
  for (int i = 0; i < kThreads; ++i) slots.push_back(epochs.acquire_slot());
  std::atomic<std::uint64_t> violations{0};
  run_against_ticks(epochs, [&](int me) {
    Slot& slot = *slots[static_cast<std::size_t>(me)];
    epochs.enter(slot);
    const Epoch snapshot = epochs.pin_snapshot(slot);
    epochs.leave(slot);
    for (int operation = 0; operation < 5; ++operation) {
      epochs.enter(slot);
      if (snapshot != 0 && epochs.snapshot_reclamation() >= snapshot) violations.fetch_add(1);
      epochs.leave(slot);
    }
    epochs.unpin_snapshot(slot);
  });
  EXPECT_EQ(violations.load(), 0u);
}

TEST(EpochStress, PinnedSnapshotsSurviveLimitsThatComeAndGo) {
  EpochManager epochs({.snapshot_epochs = 3, .max_open_epochs = 0});
  std::vector<Slot*> slots;
  for (int i = 0; i < kThreads; ++i) slots.push_back(epochs.acquire_slot());
  std::atomic<std::uint64_t> violations{0}, limited{0};
  std::atomic<Epoch> limit{kIdle};  // while it is surely in force
  run_against_ticks(epochs, [&](int me) {
    if (me == 0) {
      const Epoch now = epochs.current();
      const Epoch latest = epochs.limit_snapshots(epochs.snapshot_of(now));
      limit.store(latest);
      for (int turn = 0; turn < 10'000 && epochs.current() < now + 8; ++turn) std::this_thread::yield();
      if (epochs.snapshot_reclamation() >= std::max(latest, Epoch{1})) violations.fetch_add(1);
      limit.store(kIdle);
      epochs.unlimit_snapshots();
      limited.fetch_add(1);
      return;
    }
    Slot& slot = *slots[static_cast<std::size_t>(me)];
    const Epoch latest = limit.load();
    epochs.enter(slot);
    const Epoch snapshot = epochs.pin_snapshot(slot);
    epochs.leave(slot);
    if (limit.load() == latest && snapshot > latest) violations.fetch_add(1);
    for (int operation = 0; operation < 5; ++operation) {
      epochs.enter(slot);
      if (snapshot != 0 && epochs.snapshot_reclamation() >= snapshot) violations.fetch_add(1);
      epochs.leave(slot);
    }
    epochs.unpin_snapshot(slot);
  });
  EXPECT_EQ(violations.load(), 0u);
  EXPECT_GT(limited.load(), 3u);
}

TEST(EpochStress, SlotsComeAndGo) {
  EpochManager epochs({.snapshot_epochs = 3, .max_open_epochs = 2});
  std::atomic<std::uint64_t> violations{0};
  run_against_ticks(epochs, [&](int) {
    Slot* slot = epochs.acquire_slot();
    const Epoch mine = epochs.enter(*slot);
    std::this_thread::yield();
    if (epochs.current() - mine > 1) violations.fetch_add(1);
    epochs.leave(*slot);
    epochs.release_slot(slot);
  });
  EXPECT_EQ(violations.load(), 0u);
}

}  // namespace
}  // namespace granary::epoch
