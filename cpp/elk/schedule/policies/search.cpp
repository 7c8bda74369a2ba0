#include "elk/schedule/policies/search.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "elk/schedule/policies/finals.hpp"
#include "elk/schedule/policies/searcher.hpp"

namespace elk::schedule {
namespace {

std::vector<Effort> efforts_to(const Problem& problem, Effort effort) {
  std::vector<Effort> efforts{effort};
  if (problem.recounts()) {
    efforts = {Effort::Fast, Effort::Default, Effort::Max};
    std::erase_if(efforts, [&](Effort other) { return effort < other; });
  }
  return efforts;
}

}  // namespace

PolicySearch::PolicySearch(Problem& problem, Effort effort) {
  const std::vector<Effort> efforts = efforts_to(problem, effort);
  less_.reserve(efforts.size() - 1);
  while (less_.size() + 1 < efforts.size()) {
    less_.push_back(problem);
  }
  for (std::size_t i = 0; i < efforts.size(); ++i) {
    searchers_.emplace_back(i < less_.size() ? less_[i] : problem, efforts[i]);
  }
}

PolicySearch::PolicySearch(const PolicySearch& other, Problem& copy)
    : less_(other.less_), searchers_(other.searchers_) {
  for (std::size_t i = 0; i < searchers_.size(); ++i) {
    searchers_[i].use(i < less_.size() ? less_[i] : copy);
  }
}

PolicySearch::~PolicySearch() = default;

void PolicySearch::propose(const SearchOptions& options) {
  for (Searcher& searcher : searchers_) {
    searcher.use(options);
  }
  searchers_.front().search(options.policy);
  for (std::size_t i = 1; i < searchers_.size(); ++i) {
    searchers_[i].search_on(options.policy, searchers_[i - 1]);
  }
}

void PolicySearch::settle(const SearchOptions& options) {
  searchers_.back().use(options);
  searchers_.back().settle();
}

Found PolicySearch::best(const SearchOptions& options) {
  searchers_.back().use(options);
  return searchers_.back().best();
}

Found search(Problem& problem, const SearchOptions& options) {
  PolicySearch searches(problem, options.effort);
  SearchOptions asked = options;
  for (const Policy policy : policies_to(options.policy)) {
    asked.policy = policy;
    searches.propose(asked);
  }
  return searches.best(options);
}

}  // namespace elk::schedule
