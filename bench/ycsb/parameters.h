#pragma once
// The parameters of `granary bench ycsb` and `granary bench kv`, from their flags.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <granary/isolation.h>
#include <granary/status.h>

#include "bench/harness/command.h"
#include "bench/hekaton/timestamps.h"
#include "bench/ycsb/shares.h"

namespace granary::bench::ycsb {

/// A mix is a name for shares, and for what else its flags imply unless they are given.
struct Mix {
  std::string_view name;
  Shares shares{};
  bool latest = false;       ///< keys are drawn by age, the newest most often (D)
  double default_theta = 0;  ///< skew unless --theta is given
  /// Whether the mix is one of the TicToc paper. Unless the flags are given, its transactions have kOps operations on
  /// records of kFields fields.
  bool tictoc = false;
};

/// The TicToc paper's transactions and records (section 5.1).
inline constexpr std::uint32_t kOps = 16, kFields = 10, kFieldBytes = 100;
/// A transaction has at most kMaxOps operations. It draws distinct keys, so there must be kKeysPerOp for each of them:
/// then it soon finds the next.
inline constexpr std::uint32_t kMaxOps = 100, kKeysPerOp = 4;

/// Returns all mixes. "silo" is the variant of the Silo paper (5.2): 80 % reads, 20 % read-modify-writes, uniform keys.
/// "changes" is that of its section 5.6: read-modify-writes only. "few_changes" has few of them: in Cicada's own
/// benchmark each write is a read-modify-write, also where YCSB's mix b writes without reading. "read_only", "medium"
/// and "high" are the workloads of the TicToc paper (5.1).
const std::array<Mix, 12>& mixes();

/// A preset stands for the flags with which `bench ycsb` does the work of another engine's own benchmark. Flags that
/// are given take precedence.
struct Preset {
  std::string_view name;
  std::string_view of;  ///< the engine, and its benchmark in words
  std::string_view mix;
  double theta = 0;
  std::uint32_t ops = 1, fields = 1, value_bytes = 100;
};
const std::array<Preset, 6>& presets();

struct Parameters {
  Shares shares;
  bool latest = false;  ///< keys are drawn by age, as Mix::latest says
  std::uint64_t keys = 1'000'000;
  std::uint32_t value_bytes = 100;
  std::size_t stored_bytes = 0;  ///< size of a value with what its store keeps beside it; 0: the value alone
  std::uint32_t fields = 1;      ///< fields of equal size in a value; if several, a change reads all and writes one
  bool parts = false;            ///< whether an operation reads and writes a field alone
  bool multi_get = false;        ///< whether a transaction first reads all that it needs in one go, and at last puts so
  std::uint32_t ops = 1;         ///< operations in a transaction, each on another key
  Isolation isolation = Isolation::kSerializable;
  hekaton::TimestampSource timestamps = hekaton::TimestampSource::kFetchAdd;
  double theta = 0;
  std::uint32_t scan_length = 100;  ///< scans visit 1 to this many records
  bool random_load_order = false;
  bool hash = false;       ///< whether the table has a hash index, which shares with scans cannot use
  double distributed = 0;  ///< share of operations on a key of another node
  NodeShare share = {};    ///< each node has `keys` of its own
  std::uint64_t seed = 1;

  std::uint32_t field_bytes() const { return value_bytes / fields; }
  /// Returns the size of the field that an operation reads and writes alone; 0 if it uses whole records.
  std::size_t part_bytes() const { return parts ? field_bytes() : 0; }
  /// Whether a transaction is a list of steps, instead of one operation on whole records.
  bool in_steps() const { return ops > 1 || fields > 1; }
  KeyRanges ranges() const { return {keys * share.nodes, share.nodes}; }
  std::uint64_t first_key() const { return ranges()[share.node].from; }
};

std::vector<Flag> parameter_flags();
/// Sets flags that were not given to the values that --preset and --mix imply, the shares of a mix among them.
void set_defaults(FlagValues& flags);
/// Takes the parameters from the flags. An error is a usage error. Precondition: set_defaults().
Result<Parameters> parameters_from(const Settings& settings, const FlagValues& flags);
/// Returns how messages call the shares: "mix e" or "--shares=scan=5,read=95".
std::string shares_name(const FlagValues& flags);

/// Returns how many bytes the records will take, index included.
std::uint64_t estimated_bytes(const Parameters& parameters);

}  // namespace granary::bench::ycsb
