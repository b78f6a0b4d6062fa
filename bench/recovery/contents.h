#pragma once
// The data that the process that dies has written. The process that recovers knows them as well, as both derive them
// from seed and operation number.
//
// Each worker writes keys of its own (those ≡ its number modulo the workers), chosen at random, so the newest operation
// of every key is known without asking, whatever the order in which workers ran.

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/random.h"

namespace granary::bench::recovery {

struct Load {
  std::uint64_t records = 0;  ///< records written by all workers together
  std::uint64_t keys = 0;     ///< at least as many as workers
  std::uint32_t workers = 1;
  std::uint32_t value_bytes = 100;  ///< at least 8
  std::uint32_t writes = 4;         ///< writes of a transaction
  std::uint64_t seed = 1;

  std::uint64_t records_of(std::uint32_t worker) const { return records / workers + (worker < records % workers); }
};

/// Draws the keys that one worker writes, one after the other.
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

/// Returns eight bytes that sort as the number does.
std::string key_of(std::uint64_t key);
/// Makes the value that operation `operation` (from 1 on) of the key's worker writes.
void make_value(const Load& load, std::uint64_t key, std::uint64_t operation, std::string* value);
/// Returns by key the operation that wrote it last; 0 if none did.
std::vector<std::uint64_t> last_operations(const Load& load);

}  // namespace granary::bench::recovery
