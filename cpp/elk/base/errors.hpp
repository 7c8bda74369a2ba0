#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "elk/base/text.hpp"

namespace elk {

/// What every error of ELK is. `what()` is for people and names the field, the value and the rule;
/// `code()` is for programs and does not change when the wording does.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, std::string code)
      : std::runtime_error(message), code_(std::move(code)) {}

  [[nodiscard]] const std::string& code() const { return code_; }

 private:
  std::string code_;
};

/// The caller can fix it.
class InvalidInput : public Error {
 public:
  explicit InvalidInput(const std::string& message, std::string code = "invalid_input")
      : Error(message, std::move(code)) {}
};

/// Nothing fits the chip. The message says which limit, and by how much.
class Infeasible : public Error {
 public:
  explicit Infeasible(const std::string& message, std::string code = "infeasible")
      : Error(message, std::move(code)) {}
};

/// A fault of ELK itself.
class InternalError : public Error {
 public:
  explicit InternalError(const std::string& message, std::string code = "internal")
      : Error(message, std::move(code)) {}
};

}  // namespace elk
