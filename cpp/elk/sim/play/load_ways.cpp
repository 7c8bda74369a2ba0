#include "elk/sim/play/load_ways.hpp"

#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/chip/ways.hpp"

namespace elk::sim {

std::map<std::pair<std::int32_t, std::int32_t>, std::vector<LoadingWay>> load_ways(
    const program::Loading& loading, bool multicast) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<LoadingWay>> ways;
  for (const program::LoadingPiece& piece : loading.pieces) {
    std::vector<LoadingWay>& like = ways[{piece.operand, piece.chip}];
    for (const std::int32_t core : piece.cores) {
      if (core == piece.cores.front() || !multicast) {
        like.push_back({.bytes = piece.bytes, .cores = {}});
      }
      like.back().cores.push_back(core);
    }
  }
  return ways;
}

std::vector<std::vector<std::int32_t>> way_nodes(const std::vector<LoadingWay>& ways,
                                                 const chip::Chip& chip) {
  const auto local = [&](std::int32_t core) {
    return id_at<CoreId>(subscript(core % chip.core.count));
  };
  std::vector<CoreId> middles;  // of each way's cores, on their chip
  std::vector<CoreId> all;
  for (const LoadingWay& way : ways) {
    middles.push_back(local(way.cores[way.cores.size() / 2]));
    for (const std::int32_t core : way.cores) {
      all.push_back(local(core));
    }
  }
  return chip::entry_nodes(chip, middles, chip::area_of(chip, all));
}

}  // namespace elk::sim
