#pragma once
// What a database must hold: the transactions that committed, in their order, and from which of them on a crash may
// have taken them away.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace granary::tests {

inline constexpr std::size_t kModelTables = 2;

/// Keys and values by table.
using State = std::array<std::map<std::string, std::string>, kModelTables>;

struct ModelWrite {
  std::size_t table = 0;
  std::string key;
  std::optional<std::string> value;  ///< none: removed
};

struct ModelCommit {
  std::uint64_t epoch = 0;
  std::vector<ModelWrite> writes;
};

/// Transactions run on one thread, so the order of commits is the serial one, and epochs never fall in it.
class Model {
 public:
  void add(ModelCommit commit);
  /// Exactly what committed up to this epoch.
  State up_to(std::uint64_t epoch) const;
  State all() const { return up_to(~std::uint64_t{0}); }
  /// The greatest epoch ≤ `released` in which something committed since the last settle(); 0 if there is none.
  std::uint64_t must_survive(std::uint64_t released) const;
  /// The greatest epoch in which something committed.
  std::uint64_t last_epoch() const { return commits_.empty() ? 0 : commits_.back().epoch; }
  /// From now on this is what there is: everything up to the epoch; the rest never happened.
  void settle(std::uint64_t epoch);

 private:
  State base_;
  std::vector<ModelCommit> commits_;
};

/// "" if equal, else the first difference.
std::string difference(const State& expected, const State& found);

}  // namespace granary::tests
