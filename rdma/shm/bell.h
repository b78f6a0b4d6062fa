#pragma once
// Has the words at which endpoints sleep. They lie in the fabric's own region, which peers map, and count rings.
//
// A peer that rings raises the count (release) and the sleeping endpoint reads it (acquire). So stores before the ring
// are seen after the sleep. No ring is lost: the endpoint remembers the last count that it has acted on, and the kernel
// puts it to sleep only if the word still has that value. A peer that rings raises the word first and wakes the
// endpoint after that.

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::shm {

/// The greatest number of endpoints that a fabric has at a time.
inline constexpr BellId kMostBells = 4096;

/// A view of one word.
class Bell {
 public:
  static constexpr std::uint64_t kApart = 64;  ///< each word has a cache line

  Bell(char* own_region, BellId id) : word_(reinterpret_cast<std::uint32_t*>(own_region + id * kApart)) {}

  std::uint32_t rings() const;
  void ring() const;
  /// Sleeps while the count is `heard`. Returns false if the time was up. May return early.
  bool wait(std::uint32_t heard, std::uint64_t timeout_us) const;

 private:
  std::uint32_t* word_;
};

/// The bells of this node's endpoints. Thread-safe.
class OwnBells {
 public:
  /// Holds one of the bells for as long as it lives.
  class Taken {
   public:
    Taken(OwnBells& from, BellId id) : from_(&from), id_(id) {}
    ~Taken() {
      if (from_ != nullptr) from_->give_back(id_);
    }
    Taken(Taken&& other) noexcept : from_(std::exchange(other.from_, nullptr)), id_(other.id_) {}
    Taken& operator=(Taken&&) = delete;

    BellId id() const { return id_; }
    Bell bell() const { return {from_->region_->base(), id_}; }

   private:
    OwnBells* from_;
    BellId id_;
  };

  static Result<std::unique_ptr<OwnBells>> map();
  static constexpr std::uint64_t kBytes = kMostBells * Bell::kApart;

  memory::Region& region() { return *region_; }
  /// Takes a free bell. Returns kResourceExhausted if kMostBells are taken.
  Result<Taken> take();
  void ring_all();

 private:
  explicit OwnBells(std::unique_ptr<memory::Region> region) : region_(std::move(region)), taken_(kMostBells) {}
  void give_back(BellId id);

  const std::unique_ptr<memory::Region> region_;
  std::mutex mutex_;
  std::vector<bool> taken_;
};

}  // namespace granary::rdma::shm
