#pragma once
// The hash table that is searched: shared records in one region, which nobody changes while others read them. The
// tables of other systems may lie beside it.

#include <cstdint>
#include <memory>

#include <granary/status.h>

#include "bench/remote/peer_tables.h"
#include "kvstore/remote/remote_table.h"
#include "src/memory/region.h"

namespace granary::bench::remote {

inline constexpr rdma::NodeId kOwner = 1;
inline constexpr rdma::RegionId kTableRegion = 1;  ///< the owner's region that has the tables

struct Data {
  std::uint64_t keys = 0;  ///< number of keys, which are 0, 1, 2, ... with 8 bytes each
  std::uint32_t value_bytes = 0;
  bool peers = false;  ///< whether the tables of other systems are made, too, with as many slots
};

/// The values by which a reader finds the tables.
struct Tables {
  kvstore::remote::RemoteTable ours;
  PeerTables peers;         ///< set if Data::peers
  std::uint64_t bytes = 0;  ///< how many bytes of the region, from its start, have memory
};

class OwnedTable {
 public:
  /// Makes the table and fills it.
  static Result<std::unique_ptr<OwnedTable>> make(const Data& data);

  /// Returns the memory that the table of these data needs before it is filled.
  static std::uint64_t bytes_for(const Data& data);

  /// Returns the region that the owner must register as kTableRegion.
  memory::Region& region() { return *region_; }
  const Tables& tables() const { return tables_; }

 private:
  /// Tells how many bytes each part of the region has.
  struct Layout {
    explicit Layout(const Data& data);
    std::uint64_t known() const { return header + records + peers; }

    std::uint64_t buckets;
    std::uint64_t record_bytes;
    std::uint64_t header;  ///< bytes of the main headers; indirect ones come on top
    std::uint64_t records;
    std::uint64_t peers;
  };

  explicit OwnedTable(const Data& data);
  Status make_peers(const char* records);
  void fill(char* records);

  const Data data_;
  const Layout layout_;
  std::unique_ptr<memory::Region> region_;
  char* main_ = nullptr;
  Tables tables_;
};

}  // namespace granary::bench::remote
