#pragma once
// What a node has to know of another node's hash table to search it: plain values, which its owner tells.

#include <cstdint>

#include "kvstore/hash/bucket.h"
#include "rdma/fabric.h"

namespace granary::kvstore::remote {

struct RemoteTable {
  rdma::RemoteAddress main;      ///< of the main header
  std::uint64_t buckets = 0;     ///< of the main header
  std::uint64_t owner_base = 0;  ///< address of the region in its owner's process: what the values of names count from
  std::uint32_t max_key_bytes = 8;  ///< keys of up to so many
  std::uint32_t max_value_bytes = 0;

  rdma::RemoteAddress at(std::uint64_t offset) const {
    rdma::RemoteAddress address = main;
    address.offset = offset;
    return address;
  }
  rdma::RemoteAddress bucket(std::uint64_t number) const { return main.plus(number * sizeof(hash::Bucket)); }
};

}  // namespace granary::kvstore::remote
