// A position in the source of a template, with its line number.
#pragma once

#include <algorithm>
#include <string_view>

#include "template/meter.h"
#include "template/text.h"

namespace fwl {

class TemplateSource {
 public:
  TemplateSource(std::string_view where, std::string_view text) : where_(where), text_(text) {}

  std::string_view where() const { return where_; }
  int line() const { return line_; }
  size_t at() const { return at_; }
  bool is_at_end() const { return at_ == text_.size(); }
  std::string_view rest() const { return text_.substr(at_); }
  bool starts(std::string_view part) const { return rest().starts_with(part); }
  char before() const { return at_ > 0 ? text_[at_ - 1] : '\n'; }

  std::string_view take(size_t bytes) {
    const auto taken = rest().substr(0, bytes);
    line_ += static_cast<int>(std::count(taken.begin(), taken.end(), '\n'));
    at_ += taken.size();
    return taken;
  }

  void take_space() { take(rest().size() - strip_text(rest(), TextEnd::start).size()); }

  // Whether the end of a tag is here, with or without a sign (- or +).
  bool is_at_close(std::string_view close) const {
    const bool has_sign = starts("-") || (starts("+") && close != "}}");
    return rest().substr(has_sign ? 1 : 0).starts_with(close);
  }

  [[noreturn]] void fail(std::string_view expected, std::string_view got) const {
    fail_in_template(where_, line_, expected, got);
  }

 private:
  std::string_view where_, text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace fwl
