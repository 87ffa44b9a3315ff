// tables: layouts of irregular types, kept on the GPU.
//
// A type of many runs at odd distances is no few rows of equal blocks. Its runs are listed once:
// into a room of pinned memory, and from there into a room on the GPU, where kernels find them in
// all later calls. Rooms are of one size; when they are full and nobody reads them they are
// emptied. A type of more runs than a room has gets rooms of its own.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda/driver.h"
#include "device/kernels/params.h"
#include "types/runs.h"

namespace tutti::device::cuda {

class RunTables {
 public:
  struct Table {
    CUdeviceptr runs = 0;               // 0: the type has too many
    std::int64_t count = 0, bytes = 0;  // runs and bytes of an element
    std::uint64_t bits = 0;             // all that offsets and starts have
    const RunEntry* pinned = nullptr;   // the same in host memory
    bool has_own_rooms = false;
    CUstream stream = nullptr;  // in which it was brought
    CUevent there = nullptr;
    // The run that has a byte of a stream of elements, counted through all elements.
    std::int64_t item_of(std::int64_t position) const;
  };

  explicit RunTables(const Driver& driver) : driver_(driver) {}
  // The context is current for all of these. Takes the rooms; where they cannot be had, there are
  // no tables.
  void open();
  void close();
  // Null: it was not made (yet).
  const Table* find(const types::Datatype& type) const;
  // Lists the type's runs and brings them to the GPU, in this stream. Null: there is no room now.
  // Not while streams of the user's may stand still: it copies, allocates and frees.
  const Table* make(const types::Datatype& type, CUstream stream);
  // Steps that read tables, and have ended.
  void hold() { ++readers_; }
  void release(int readers) { readers_ -= readers; }

 private:
  struct Known {
    std::shared_ptr<const void> layout;  // whose address is its name
    Table table;
  };
  void forget();  // all of them
  struct Rooms {
    RunEntry* pinned = nullptr;
    CUdeviceptr gpu = 0;
  };
  bool take_room(std::size_t entries);
  Rooms own_rooms(std::size_t entries) const;
  void give_back(const Rooms& own, std::size_t entries);
  bool bring(Table& table, const Rooms& rooms, CUstream stream);

  static constexpr std::size_t kEntries = std::size_t{1} << 19;
  static constexpr std::size_t kMostOwn = std::size_t{1} << 24;  // entries of all
  static constexpr std::size_t kMostKnown = 256;
  const Driver& driver_;
  RunEntry* pinned_ = nullptr;
  CUdeviceptr room_ = 0;
  bool is_tried_ = false;
  std::size_t taken_ = 0;  // entries
  std::size_t owned_ = 0;  // entries in rooms of their own
  int readers_ = 0;
  std::vector<Known> known_;
  std::vector<CUevent> events_;  // made beforehand: a driver may wait for streams to make one
};

}  // namespace tutti::device::cuda
