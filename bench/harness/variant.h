#pragma once
// The variants that the Silo paper measures, by name (--variant=a,b). Some are engine options; others choose another
// store or another way to do the same work. A command says which ones make sense for it.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>

namespace granary::bench {

enum class Variant : std::uint8_t {
  kKeyValue,          ///< the bare index, no transactions
  kDta,               ///< another engine to compare with: optimistic transactions with intervals of timestamps
  kDtaBound,          ///< TicToc, with an empty critical section in each commit: what kDta could reach at most
  kHekaton,           ///< another engine to compare with: Hekaton's optimistic transactions on several versions
  kMemSilo,           ///< the engine without a log: the default, named for comparisons
  kGlobalTid,         ///< TIDs from one shared counter
  kPartitionedStore,  ///< one single-threaded store a partition, behind partition locks
  kSplit,             ///< MemSilo with tables split by partition
  kFastIds,           ///< new-order ids from a counter outside the transaction
  kNoSnapshots,       ///< no old versions are kept
  kNoGc,              ///< nothing is reclaimed
  kNoOverwrites,      ///< every write makes a new record
  kSimpleAllocator,   ///< malloc instead of per-worker slabs
  kSmallRecords,      ///< the log gets TIDs only
  kCompress,          ///< the log is compressed (LZ4)
  kTicTocNoWait,      ///< tictoc releases its claims and claims again rather than wait
  kTicTocPreempt,     ///< tictoc checks before the claims whether the reads can pass
  kTicTocHistory,     ///< tictoc remembers when overwritten versions ended
  kTicTocSessions,    ///< tictoc's commit times ascend in each worker
};
inline constexpr std::size_t kVariants = 19;

std::string_view name(Variant variant);
std::string_view meaning(Variant variant);
/// Whether the variant runs a store that is not Granary's engine.
bool is_other_engine(Variant variant);

class VariantSet {
 public:
  VariantSet() = default;
  VariantSet(std::initializer_list<Variant> variants) {
    for (const Variant variant : variants) add(variant);
  }
  static VariantSet all();
  /// Returns the variants that are options of the engine alone, so that they fit every workload that runs on it.
  static VariantSet engine();

  bool has(Variant variant) const { return (bits_ >> static_cast<unsigned>(variant) & 1u) != 0; }
  void add(Variant variant) { bits_ |= 1u << static_cast<unsigned>(variant); }
  VariantSet with(VariantSet others) const {
    others.bits_ |= bits_;
    return others;
  }
  bool empty() const { return bits_ == 0; }
  std::vector<Variant> list() const;

 private:
  std::uint32_t bits_ = 0;
};

/// Parses "a,b". Unknown names, names given twice, variants outside `allowed` and pairs that contradict each other are
/// errors.
Result<VariantSet> parse_variants(std::string_view text, VariantSet allowed);

/// Sets the engine options that the variants name, and leaves the others alone.
void apply(VariantSet variants, Options& options);

}  // namespace granary::bench
