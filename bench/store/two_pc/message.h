#pragma once
// The messages between nodes of the two-phase-commit baseline: frames of a header and a body, in the byte order of the
// machine (all nodes are x86-64). A connection has one transaction at a time.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace granary::bench::two_pc {

enum class Kind : std::uint32_t {
  kHello,    ///< the first frame of a connection, with the token of the node that is called; not answered
  kPing,     ///< does nothing; answered
  kRead,     ///< has keys, and locks and reads their rows; answered
  kScan,     ///< has a range, and locks and reads it; answered
  kPrepare,  ///< has writes, locks the rows that are not locked yet and keeps the writes ready; answered by a vote
  kFinish,   ///< prepares and commits at once, where only one node has writes; answered by a vote
  kCommit,   ///< carries out the prepared writes and unlocks; not answered
  kRelease,  ///< drops the prepared writes and unlocks; not answered
  kAnswer,
};

struct Header {
  std::uint32_t bytes = 0;  ///< size of the body
  Kind kind = Kind::kPing;
};
inline constexpr std::uint32_t kMostBytes = 1 << 20;  ///< the largest body

/// Names a row: by its table, and by a word that orders like its key.
struct RowKey {
  std::uint32_t table = 0;  ///< the table's place in the order of creation, which is the same on all nodes
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

/// Takes a body apart. If the body is too short, ok() is false from then on, and all further values are zero or empty.
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
