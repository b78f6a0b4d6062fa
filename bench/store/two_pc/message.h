#pragma once
// What nodes of the two-phase-commit baseline say to each other: frames of a header and a body, in the byte order of
// the machine (all nodes are x86-64). A connection has one transaction at a time.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace granary::bench::two_pc {

enum class Kind : std::uint32_t {
  kHello,    ///< the first of a connection: the node's token; no answer
  kPing,     ///< answered by nothing else
  kRead,     ///< keys: locks and reads them; answered
  kScan,     ///< a range: locks and reads it; answered
  kPrepare,  ///< writes: locks what is not locked yet and keeps them ready; answered by a vote
  kFinish,   ///< prepare and commit at once, where only one node has writes; answered by a vote
  kCommit,   ///< does what was prepared and unlocks; no answer
  kRelease,  ///< unlocks without doing what was prepared; no answer
  kAnswer,
};

struct Header {
  std::uint32_t bytes = 0;  ///< of the body
  Kind kind = Kind::kPing;
};
inline constexpr std::uint32_t kMostBytes = 1 << 20;  ///< of a body

/// A row of a table, by eight bytes that order like its key.
struct RowKey {
  std::uint32_t table = 0;  ///< by creation, the same on all nodes
  std::uint32_t unused = 0;
  std::uint64_t key = 0;
  friend bool operator==(const RowKey&, const RowKey&) = default;
};

template <typename T>
void put(std::string& out, const T& value) {
  static_assert(std::has_unique_object_representations_v<T>, "no padding goes out");
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void put_bytes(std::string& out, std::string_view bytes) {
  put(out, static_cast<std::uint32_t>(bytes.size()));
  out.append(bytes);
}

/// Takes a body apart; after a mistake ok() is false and all that comes is zero or empty.
class Parts {
 public:
  explicit Parts(std::string_view body) : rest_(body) {}
  template <typename T>
  T take() {
    static_assert(std::has_unique_object_representations_v<T> && !std::is_same_v<T, bool>, "any bytes are one");
    T value{};
    if (const std::string_view bytes = cut(sizeof value); ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view take_bytes() { return cut(take<std::uint32_t>()); }
  bool ok() const { return ok_; }
  bool more() const { return ok_ && !rest_.empty(); }

 private:
  std::string_view cut(std::size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) return rest_ = {};
    const std::string_view front = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return front;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace granary::bench::two_pc
