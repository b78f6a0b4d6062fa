#pragma once
// Has a queue pair from an endpoint to a peer.

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "rdma/region_table.h"
#include "rdma/verbs/bells.h"
#include "rdma/verbs/cm_events.h"
#include "rdma/verbs/device_context.h"
#include "rdma/verbs/hello.h"
#include "rdma/verbs/open_connections.h"
#include "rdma/verbs/send_queue.h"

namespace granary::rdma::verbs {

class Connection final : public CmTarget {
 public:
  /// When another thread has broken the connection, it adds to `alarms` and then raises `alarm`.
  Connection(ConnectionId name, NodeId to, std::string address, std::uint32_t outstanding, OpenConnections& open,
             std::atomic<std::uint32_t>& alarms, const Alarm& alarm)
      : id(name),
        peer(to),
        place(std::move(address)),
        queue(outstanding),
        regions_(to, 0),
        open_(open),
        alarms_(alarms),
        alarm_(alarm) {}
  ~Connection() override { close(); }

  /// Takes over the queue pair that the handshake has made. Returns kUnavailable if the peer's life is cut off.
  Status open(CmId cm, const Answer& answer);
  /// Posts a checked chain that fits, with one doorbell. If the device refuses it, the connection breaks.
  void post(const DeviceContext& device, std::span<const Operation> chain, Signal signal, std::uint64_t tag);
  /// Posts a ring, for which there is room.
  void ring(BellId bell);
  /// Destroys the queue pair: the device touches no memory for it afterwards, and adds no completion.
  void close();

  const PeerRegions& regions() const { return regions_; }
  /// Notes that the event thread has seen the peer end, or the device go.
  void on_event(const rdma_cm_event& event) override;
  /// Breaks the connection from the thread that cuts the peer's life off: the device begins no operation any more.
  /// close() waits while this runs.
  void cut_off();
  bool severed() const { return severed_.load(std::memory_order_acquire) != Severed::kNot; }
  /// Breaks the connection. The first reason given is kept.
  void fail(std::string why);
  bool broken() const { return severed() || !cause_.empty(); }
  Status status() const;

  const ConnectionId id;
  const NodeId peer;
  const std::string place;  ///< the peer's address, for messages
  SendQueue queue;
  std::uint32_t unpolled = 0;  ///< how many reports poll() has still to hand out
  bool buried = false;         ///< whether its queue pair is destroyed, and all its chains are reported
  bool retired = false;        ///< whether its id may not be used any more; it goes when its reports have been polled

 private:
  enum class Severed : std::uint8_t { kNot, kEnded, kCutOff };

  void sever(Severed how);
  void submit(ibv_send_wr& first);

  struct Key {
    std::uint64_t base;
    std::uint32_t key;
  };

  CmId cm_;
  PeerRegions regions_;
  std::vector<Key> keys_;  ///< by the regions' places in regions_
  std::vector<ibv_send_wr> requests_;
  std::vector<ibv_sge> pieces_;
  std::string cause_;
  OpenConnections& open_;
  std::atomic<std::uint32_t>& alarms_;
  const Alarm& alarm_;
  /// Written by the event thread or by the thread that cuts off, before it adds to alarms_; the first write counts.
  /// Read by the endpoint's thread.
  std::atomic<Severed> severed_{Severed::kNot};
};

}  // namespace granary::rdma::verbs
