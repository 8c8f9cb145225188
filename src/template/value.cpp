#include "template/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "template/text.h"

namespace fwl {
namespace {

int depth_of_value(const TemplateValue& value) {
  if (const auto* list = list_in(value)) return list->depth;
  if (const auto* dict = dict_in(value)) return dict->depth;
  return 0;
}

// Nesting is limited, so that traversing and freeing values cannot exhaust the stack.
int depth_around(const TemplateMeter& meter, int depth, const TemplateValue& inner) {
  depth = std::max(depth, 1 + depth_of_value(inner));
  if (depth > TemplateLimits::value_depth)
    meter.fail(fmt::format("lists nested at most {} deep", TemplateLimits::value_depth), "deeper nesting");
  return depth;
}

bool are_lists_equal(TemplateMeter& meter, const TemplateList& left, const TemplateList& right) {
  return left.is_tuple == right.is_tuple &&
         std::equal(left.items.begin(), left.items.end(), right.items.begin(), right.items.end(),
                    [&](const auto& a, const auto& b) { return are_equal(meter, a, b); });
}

bool are_dicts_equal(TemplateMeter& meter, const TemplateDict& left, const TemplateDict& right) {
  if (left.entries.size() != right.entries.size()) return false;
  return std::all_of(left.entries.begin(), left.entries.end(), [&](const auto& entry) {
    meter.spend(right.entries.size());
    const auto* other = right.find(entry.first);
    return other && are_equal(meter, entry.second, *other);
  });
}

}  // namespace

const TemplateValue* TemplateDict::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  return found == entries.end() ? nullptr : &found->second;
}

TemplateValue text_value(MarkedText text) {
  return std::make_shared<const MarkedText>(std::move(text));
}

TemplateValue list_value(const TemplateMeter& meter, TemplateValues items, bool is_tuple) {
  auto list = std::make_shared<TemplateList>();
  for (const auto& item : items) list->depth = depth_around(meter, list->depth, item);
  list->items = std::move(items);
  list->is_tuple = is_tuple;
  return std::shared_ptr<const TemplateList>(std::move(list));
}

TemplateValue dict_value(TemplateMeter& meter, const std::vector<std::pair<std::string, TemplateValue>>& entries) {
  auto dict = std::make_shared<TemplateDict>();
  std::unordered_map<std::string, size_t> places;
  for (const auto& [key, value] : entries) {
    meter.spend(4);
    dict->depth = depth_around(meter, dict->depth, value);
    const auto [place, is_new] = places.try_emplace(key, dict->entries.size());
    if (is_new)
      dict->entries.emplace_back(key, value);
    else
      dict->entries[place->second].second = value;
  }
  return std::shared_ptr<const TemplateDict>(std::move(dict));
}

const std::string* text_in(const TemplateValue& value) {
  const auto* text = marked_in(value);
  return text ? &text->text() : nullptr;
}

const MarkedText* marked_in(const TemplateValue& value) {
  const auto* text = std::get_if<std::shared_ptr<const MarkedText>>(&value);
  return text ? text->get() : nullptr;
}

const TemplateList* list_in(const TemplateValue& value) {
  const auto* list = std::get_if<std::shared_ptr<const TemplateList>>(&value);
  return list ? list->get() : nullptr;
}

const TemplateDict* dict_in(const TemplateValue& value) {
  const auto* dict = std::get_if<std::shared_ptr<const TemplateDict>>(&value);
  return dict ? dict->get() : nullptr;
}

std::optional<int64_t> integer_in(const TemplateValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  return std::nullopt;
}

std::optional<double> number_in(const TemplateValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto integer = integer_in(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

bool is_undefined(const TemplateValue& value) {
  return std::holds_alternative<TemplateUndefined>(value);
}

bool is_none(const TemplateValue& value) {
  return std::holds_alternative<TemplateNone>(value);
}

std::string kind_of(const TemplateValue& value) {
  constexpr std::array names = {"undefined", "none",   "a boolean",   "an integer", "a float",   "a string",
                                "a list",    "a dict", "a namespace", "a macro",    "a function"};
  static_assert(names.size() == std::variant_size_v<TemplateValue>);
  return names[value.index()];
}

bool is_true(const TemplateValue& value) {
  if (is_undefined(value) || is_none(value)) return false;
  if (const auto number = number_in(value)) return *number != 0;
  if (const auto* text = text_in(value)) return !text->empty();
  if (const auto* list = list_in(value)) return !list->items.empty();
  if (const auto* dict = dict_in(value)) return !dict->entries.empty();
  return true;
}

bool are_equal(TemplateMeter& meter, const TemplateValue& left, const TemplateValue& right) {
  meter.spend(1);
  const auto left_integer = integer_in(left), right_integer = integer_in(right);
  if (left_integer && right_integer) return left_integer == right_integer;
  const auto left_number = number_in(left), right_number = number_in(right);
  if (left_number && right_number) return *left_number == *right_number;
  if (left.index() != right.index()) return false;
  if (const auto* text = text_in(left)) {
    meter.spend_bytes(text->size());
    return *text == *text_in(right);
  }
  if (const auto* list = list_in(left)) return are_lists_equal(meter, *list, *list_in(right));
  if (const auto* dict = dict_in(left)) return are_dicts_equal(meter, *dict, *dict_in(right));
  if (const auto* space = std::get_if<TemplateNamespace*>(&left)) return *space == std::get<TemplateNamespace*>(right);
  if (const auto* macro = std::get_if<const TemplateMacro*>(&left))
    return *macro == std::get<const TemplateMacro*>(right);
  if (const auto* function = std::get_if<TemplateFunction>(&left))
    return *function == std::get<TemplateFunction>(right);
  return true;  // undefined and none
}

TemplateValues items_of(TemplateMeter& meter, const TemplateValue& value) {
  TemplateValues items;
  if (const auto* list = list_in(value)) {
    meter.spend(list->items.size());
    items = list->items;
  } else if (const auto* dict = dict_in(value)) {
    meter.spend(4 * dict->entries.size());
    for (const auto& entry : dict->entries) items.push_back(text_value(MarkedText::plain(entry.first)));
  } else if (const auto* text = marked_in(value)) {
    meter.spend(4 * text->size());
    for (const auto character : characters_of(text->text())) items.push_back(text_value(text->part(character)));
  } else if (!is_undefined(value)) {
    meter.fail("a value with items", kind_of(value));
  }
  return items;
}

}  // namespace fwl
