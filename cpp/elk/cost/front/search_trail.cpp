#include <algorithm>
#include <cstddef>

#include "elk/cost/front/search.hpp"

/// How a search leaves a trail, and follows one.
namespace elk::cost {

/// Whether the cut in hand, which has room, is left out because nothing else wants it, `asks`, and
/// the floor skips it, whose tiles take `compute` at least. A trail tells what the floor says of
/// every cut that was met: one that it skips does not change it.
bool FrontSearch::skips(bool asks, double compute) {
  if (followed_ != nullptr) {
    return follow() && asks && followed_->steps[met_ - 1].skips;
  }
  const bool skips = (asks || left_ != nullptr) && floor_.skips(cut_, compute);
  if (left_ != nullptr) {
    left_->factors.insert(left_->factors.end(), cut_.factor.begin(), cut_.factor.end());
    left_->steps.push_back({.skips = skips, .timed = false, .tile = {}});
  }
  ++met_;
  return asks && skips;
}

/// Whether the trail leads past the cut in hand.
bool FrontSearch::follow() {
  const std::size_t axes = cut_.factor.size();
  const auto next = followed_->factors.begin() + static_cast<std::ptrdiff_t>(met_ * axes);
  astray_ =
      met_ == followed_->steps.size() || !std::equal(cut_.factor.begin(), cut_.factor.end(), next);
  ++met_;
  return !astray_;
}

/// The tile of the cut in hand.
void FrontSearch::time_leaf() {
  if (followed_ != nullptr && followed_->steps[met_ - 1].timed) {
    whole_ = followed_->steps[met_ - 1].tile;
    return;
  }
  time_whole();
  if (left_ != nullptr) {
    left_->steps.back().timed = true;
    left_->steps.back().tile = whole_;
  }
}

/// Counts the cut in hand in the floor; false if one of its tiles beat the rates.
bool FrontSearch::holds_in_floor() {
  if (followed_ != nullptr) {
    const bool beaten = lowered_ < followed_->by.size() && followed_->by[lowered_] == met_;
    if (beaten) {
      rates_ = followed_->lowered[lowered_++];
    }
    return !beaten;
  }
  const bool holds = floor_.add(cut_, whole_, turns_);
  if (!holds && left_ != nullptr && !left_->known) {
    left_->lowered.push_back(rates_);
    left_->by.push_back(met_);
  }
  return holds;
}

SurveyStart FrontSearch::known() const {
  return {.fastest = fastest_,
          .least_time = least_time_,
          .fastest_preload = fastest_preload_,
          .rates = rates_,
          .beaten = beaten_};
}

void FrontSearch::note_end() {
  if (left_ != nullptr) {
    left_->rates = rates_;
    left_->sound = sound_;
    left_->fastest = fastest_;
    left_->counts = counts_;
    left_->floor = floor_.result();
    left_->smallest = smallest_;
  }
}

/// Takes over what the trail's search found from here on.
bool FrontSearch::arrive() {
  astray_ = astray_ || met_ != followed_->steps.size() || known() != followed_->known;
  if (astray_) {
    return false;
  }
  rates_ = *followed_->rates;
  sound_ = followed_->sound;
  fastest_ = followed_->fastest;
  counts_ = followed_->counts;
  smallest_ = followed_->smallest;
  return sound_ || vast_;
}

}  // namespace elk::cost
