#include <fmt/format.h>

#include <algorithm>

#include "support/printable.h"
#include "template/operators.h"
#include "template/text.h"

namespace fwl {
namespace {

// The indices that a Python slice selects from a list.
struct SlicePlaces {
  size_t first = 0, count = 0;
  int64_t step = 1;

  size_t operator[](size_t i) const { return first + static_cast<size_t>(static_cast<int64_t>(i) * step); }
};

std::optional<int64_t> slice_bound(TemplateMeter& meter, const TemplateValue& value) {
  if (is_none(value)) return std::nullopt;
  const auto bound = integer_in(value);
  if (!bound) meter.fail("an integer in a slice", kind_of(value));
  return bound;
}

SlicePlaces slice_places(size_t items, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
  const auto size = static_cast<int64_t>(items);
  step = std::clamp(step, -size - 1, size + 1);  // a longer step ends the slice too
  const int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  const auto place = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    return std::clamp(*bound < 0 ? std::max(*bound, -size - 1) + size : *bound, lowest, highest);
  };
  const auto first = place(start, step < 0 ? highest : lowest), last = place(stop, step < 0 ? lowest : highest);
  const auto distance = step < 0 ? first - last : last - first;
  const auto stride = std::abs(step);
  const auto count = distance > 0 ? (distance + stride - 1) / stride : 0;
  return {static_cast<size_t>(std::max<int64_t>(first, 0)), static_cast<size_t>(count), step};
}

TemplateValue item_at(TemplateMeter& meter, const TemplateValue& value, int64_t place) {
  if (const auto* list = list_in(value)) {
    const auto size = static_cast<int64_t>(list->items.size());
    if (place < -size || place >= size) return {};
    return list->items[static_cast<size_t>(place < 0 ? place + size : place)];
  }
  if (!text_in(value)) return {};
  const auto next = place == -1 ? TemplateValue(TemplateNone{}) : TemplateValue(place + (place < INT64_MAX ? 1 : 0));
  auto found = slice_of(meter, value, place, next, int64_t{1});
  return text_in(found)->empty() ? TemplateValue() : found;
}

}  // namespace

TemplateValue item_of(TemplateMeter& meter, const TemplateValue& value, const TemplateValue& index) {
  if (const auto* name = text_in(index)) return member_of(meter, value, *name);
  if (is_undefined(value)) meter.fail("a value with items", "undefined");
  const auto place = integer_in(index);
  return place ? item_at(meter, value, *place) : TemplateValue();
}

TemplateValue member_of(TemplateMeter& meter, const TemplateValue& value, std::string_view name) {
  if (is_undefined(value)) meter.fail(fmt::format("a value with a member '{}'", printable(name)), "undefined");
  if (const auto* dict = dict_in(value)) {
    meter.spend(1 + dict->entries.size() / 4);
    const auto* found = dict->find(name);
    return found ? *found : TemplateValue();
  }
  if (const auto* space = std::get_if<TemplateNamespace*>(&value)) {
    const auto found = (*space)->members.find(name);
    return found == (*space)->members.end() ? TemplateValue() : found->second;
  }
  return {};
}

TemplateValue slice_of(TemplateMeter& meter, const TemplateValue& value, const TemplateValue& start,
                       const TemplateValue& stop, const TemplateValue& step) {
  const auto first = slice_bound(meter, start), last = slice_bound(meter, stop);
  const auto stride = slice_bound(meter, step).value_or(1);
  if (stride == 0) meter.fail("a nonzero step in a slice", "0");
  if (const auto* list = list_in(value)) {
    const auto places = slice_places(list->items.size(), first, last, stride);
    meter.spend(places.count);
    TemplateValues items;
    for (size_t i = 0; i < places.count; ++i) items.push_back(list->items[places[i]]);
    return list_value(meter, std::move(items), list->is_tuple);
  }
  const auto* text = marked_in(value);
  if (!text) meter.fail("a list or a string before a slice", kind_of(value));
  meter.spend(text->size());
  const auto characters = characters_of(text->text());
  const auto places = slice_places(characters.size(), first, last, stride);
  MarkedText result;
  for (size_t i = 0; i < places.count; ++i) result += text->part(characters[places[i]]);
  return text_value(std::move(result));
}

}  // namespace fwl
