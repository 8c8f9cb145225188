#include <fmt/format.h>

#include <array>
#include <ctime>

#include "template/builtins.h"

namespace fwl {

TemplateValue range_result(TemplateMeter& meter, const TemplateArguments& arguments) {
  constexpr int64_t most = 100'000;
  const auto given = arguments_by_name(meter, "range", arguments, {"start", "stop", "step"});
  if (arguments.positional.empty()) meter.fail("an argument for range", "none");
  const bool has_start = !is_undefined(given[1]);
  const auto start = has_start ? integer_argument(meter, "range", given[0], 0) : 0;
  const auto stop = integer_argument(meter, "range", given[has_start ? 1 : 0], 0);
  const auto step = integer_argument(meter, "range", given[2], 1);
  if (step == 0) meter.fail("a nonzero step for range", "0");
  TemplateValues numbers;
  for (int64_t number = start; step > 0 ? number < stop : number > stop;) {
    if (static_cast<int64_t>(numbers.size()) == most)
      meter.fail(fmt::format("a range of at most {} items", most), "more");
    numbers.emplace_back(number);
    if (__builtin_add_overflow(number, step, &number)) break;
  }
  meter.spend(numbers.size());
  return list_value(meter, std::move(numbers));
}

TemplateValue time_text(TemplateMeter& meter, const TemplateArguments& arguments) {
  const auto given = arguments_by_name(meter, "strftime_now", arguments, {"format"});
  const auto& format = text_argument(meter, "strftime_now", given[0]);
  const std::time_t seconds = std::time(nullptr);
  std::tm now = {};
  localtime_r(&seconds, &now);
  std::array<char, 256> text = {};
  const auto size = std::strftime(text.data(), text.size(), format.c_str(), &now);
  if (size == 0 && !format.empty()) meter.fail("a date format with a short result", "a long one");
  return text_value(MarkedText::made_from(*marked_in(given[0]), std::string(text.data(), size)));
}

}  // namespace fwl
