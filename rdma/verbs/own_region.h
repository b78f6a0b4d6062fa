#pragma once
// Makes the region that every fabric of this kind has for itself. The fabric probes its device there, and callers read
// there that this node knows of the connection.

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <granary/status.h>

#include "rdma/fabric.h"

namespace granary::rdma::verbs {

class OwnRegion {
 public:
  /// Takes a word of the region for as long as it lives.
  class Word {
   public:
    Word() = default;
    Word(OwnRegion& from, std::uint16_t place) : from_(&from), place_(place) {}
    ~Word() {
      if (from_ != nullptr) from_->give_back(place_);
    }
    Word(Word&& other) noexcept : from_(std::exchange(other.from_, nullptr)), place_(other.place_) {}
    Word& operator=(Word&& other) noexcept {
      std::swap(from_, other.from_);
      std::swap(place_, other.place_);
      return *this;
    }

    explicit operator bool() const { return from_ != nullptr; }
    std::uint16_t place() const { return place_; }
    /// Returns the word. This CPU, with release, or the device writes it, and either reads it.
    std::atomic_ref<std::uint64_t> value() const { return std::atomic_ref(*at()); }
    std::uint64_t* at() const { return reinterpret_cast<std::uint64_t*>(from_->region_->base() + offset_of(place_)); }

   private:
    OwnRegion* from_ = nullptr;
    std::uint16_t place_ = 0;
  };

  /// The number of words: one for each endpoint of this node, and for each connection to it. A cluster with as many
  /// nodes and workers as are allowed needs some 16 500.
  static constexpr std::size_t kMostWords = 32 * 1024;

  static Result<std::unique_ptr<OwnRegion>> map();

  memory::Region& region() { return *region_; }
  /// Returns a word that is 0; none if all are taken. Thread-safe.
  Word take();

  static std::uint64_t offset_of(std::uint16_t place) { return kWordsFrom + std::uint64_t{place} * kApart; }

 private:
  static constexpr std::uint64_t kWordsFrom = 64 * 1024;  ///< the memory before it is the probe's
  static constexpr std::uint64_t kApart = 64;             ///< each word has a cache line

  explicit OwnRegion(std::unique_ptr<memory::Region> region) : region_(std::move(region)), taken_(kMostWords) {}
  void give_back(std::uint16_t place);

  const std::unique_ptr<memory::Region> region_;
  std::mutex mutex_;
  std::vector<bool> taken_;
};

}  // namespace granary::rdma::verbs
