#pragma once
// Tells a node what it has to know of another node's hash table to search it: plain values, which the owner tells.

#include <cstdint>

#include "kvstore/hash/bucket.h"
#include "rdma/fabric.h"

namespace granary::kvstore::remote {

struct RemoteTable {
  rdma::RemoteAddress main;      ///< the address of the main header
  std::uint64_t buckets = 0;     ///< the number of its buckets
  std::uint64_t owner_base = 0;  ///< the region's address in its owner's process, from which names' values count
  std::uint32_t max_value_bytes = 0;

  rdma::RemoteAddress at(std::uint64_t offset) const {
    rdma::RemoteAddress address = main;
    address.offset = offset;
    return address;
  }
  rdma::RemoteAddress bucket(std::uint64_t number) const { return main.plus(number * sizeof(hash::Bucket)); }
};

}  // namespace granary::kvstore::remote
