// Limits the resources of rendering an untrusted template, and tracks the current line for errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fwl {

struct TemplateLimits {
  static constexpr size_t source_bytes = 1U << 20, output_bytes = 64U << 20, steps = 10'000'000;
  static constexpr int nesting = 100;           // of tags and brackets in the source
  static constexpr int expression_depth = 200;  // e.g. a chain of 200 operators
  static constexpr int rendering_depth = 400;   // including macros that call macros
  static constexpr int value_depth = 64;        // of lists in lists
};

[[noreturn]] void fail_in_template(std::string_view where, int line, std::string_view expected, std::string_view got,
                                   std::string_view likely_cause = {});

class TemplateMeter {
 public:
  explicit TemplateMeter(std::string_view where) : where_(where) {}

  void set_line(int line) { line_ = line; }

  // Throws a UserError when the limit is reached. This limits memory too, because creating values costs steps.
  void spend(size_t steps);
  void spend_bytes(size_t bytes) { spend(bytes / 16); }

  [[noreturn]] void fail(std::string_view expected, std::string_view got, std::string_view likely_cause = {}) const;

  // For raise_exception: the template rejects its input with a message.
  [[noreturn]] void refuse(std::string_view message) const;

  // One level of nesting, for the life of the object.
  class Level {
   public:
    explicit Level(TemplateMeter& meter);
    ~Level() { --meter_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    TemplateMeter& meter_;
  };

 private:
  std::string_view where_;
  int line_ = 1, depth_ = 0;
  size_t steps_left_ = TemplateLimits::steps;
};

}  // namespace fwl
