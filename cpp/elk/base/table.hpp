#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"

namespace elk {

/// The ids from `begin` up to, and not including, `end`, in order.
template <class IdType>
class Ids {
 public:
  class iterator {  // NOLINT(readability-identifier-naming): as the standard has it
   public:
    using value_type = IdType;
    using difference_type = std::ptrdiff_t;

    constexpr iterator() = default;
    explicit constexpr iterator(IdType id) : id_(id) {}

    constexpr IdType operator*() const { return id_; }
    constexpr iterator& operator++() {
      ++id_;
      return *this;
    }
    constexpr iterator operator++(int) {
      const iterator before = *this;
      ++id_;
      return before;
    }
    constexpr iterator& operator--() {
      --id_;
      return *this;
    }
    constexpr iterator operator--(int) {
      const iterator before = *this;
      --id_;
      return before;
    }
    friend constexpr bool operator==(iterator, iterator) = default;

   private:
    IdType id_;
  };

  constexpr Ids(IdType begin, IdType end) : begin_(begin), end_(end) {}

  [[nodiscard]] constexpr iterator begin() const { return iterator(begin_); }
  [[nodiscard]] constexpr iterator end() const { return iterator(end_); }
  [[nodiscard]] constexpr std::size_t size() const {
    return static_cast<std::size_t>(end_ - begin_);
  }

 private:
  IdType begin_;
  IdType end_;
};

/// The first `count` ids of a kind.
template <class IdType, class Count>
[[nodiscard]] constexpr Ids<IdType> first_ids(Count count) {
  return {IdType{0}, id_at<IdType>(count)};
}

/// A list in which ids of one kind say where things are: no other position is a subscript of it.
template <class IdType, class T>
class Table : public std::vector<T> {
 public:
  using List = std::vector<T>;
  using List::List;
  Table() = default;
  /// `list`, whose positions are the ids.
  Table(List list) : List(std::move(list)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] decltype(auto) operator[](IdType id) { return List::operator[](id.index()); }
  [[nodiscard]] decltype(auto) operator[](IdType id) const { return List::operator[](id.index()); }

  /// The ids of all that the table holds, in order.
  [[nodiscard]] Ids<IdType> ids() const { return first_ids<IdType>(List::size()); }
  /// The id after the last: that of what is appended next.
  [[nodiscard]] IdType end_id() const { return id_at<IdType>(List::size()); }
  [[nodiscard]] bool has(IdType id) const { return id.value >= 0 && id.index() < List::size(); }
};

/// What a table of the same ids holds, seen where it lies.
template <class IdType, class T>
class TableView : public std::span<T> {
 public:
  using List = std::span<T>;
  constexpr TableView() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr TableView(List list) : List(list) {}
  TableView(std::span<std::remove_const_t<T>> list)
    requires std::is_const_v<T>
      : List(list) {}
  TableView(const Table<IdType, std::remove_const_t<T>>& table)
    requires std::is_const_v<T>
      : List(table) {}
  TableView(Table<IdType, std::remove_const_t<T>>& table) : List(table) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] constexpr T& operator[](IdType id) const { return List::operator[](id.index()); }
  [[nodiscard]] constexpr Ids<IdType> ids() const { return first_ids<IdType>(List::size()); }
  [[nodiscard]] constexpr IdType end_id() const { return id_at<IdType>(List::size()); }
};

}  // namespace elk

template <class IdType>  // NOLINTNEXTLINE(readability-identifier-naming): the standard's name
inline constexpr bool std::ranges::enable_borrowed_range<elk::Ids<IdType>> = true;
