#pragma once
// What the process that dies has written, known to the one that recovers: both derive it from seed and operation
// number.
//
// Each worker writes keys of its own (those ≡ its number modulo the workers), chosen at random, so the newest operation
// of every key is known without asking, whatever the order in which workers ran.

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/random.h"

namespace granary::bench::recovery {

struct Load {
  std::uint64_t records = 0;  ///< written in all, by all workers
  std::uint64_t keys = 0;     ///< at least as many as workers
  std::uint32_t workers = 1;
  std::uint32_t value_bytes = 100;  ///< at least 8
  std::uint32_t writes = 4;         ///< of a transaction
  std::uint64_t seed = 1;

  std::uint64_t records_of(std::uint32_t worker) const { return records / workers + (worker < records % workers); }
};

/// The keys that one worker writes, one after the other.
class KeyStream {
 public:
  KeyStream(const Load& load, std::uint32_t worker)
      : random_(load.seed, worker),
        mine_(load.keys / load.workers + (worker < load.keys % load.workers)),
        workers_(load.workers),
        worker_(worker) {}
  std::uint64_t next() { return worker_ + workers_ * random_.below(mine_); }

 private:
  base::Random random_;
  std::uint64_t mine_;
  std::uint64_t workers_, worker_;
};

/// Eight bytes that sort as the number does.
std::string key_of(std::uint64_t key);
/// What operation `operation` (from 1 on) of the key's worker writes into it.
void make_value(const Load& load, std::uint64_t key, std::uint64_t operation, std::string* value);
/// By key, the operation that wrote it last; 0 if none did.
std::vector<std::uint64_t> last_operations(const Load& load);

}  // namespace granary::bench::recovery
