#include "memory/memory_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/error.h"
#include "support/fields.h"

namespace fwl {
namespace {

struct MemoryKind {
  const char* name;
  std::unique_ptr<MemoryConfig> (*config)();
};

constexpr MemoryKind kinds[] = {
    {"layer", layer_memory_config},
    {"bias-only", bias_memory_config},
    {"delta-rule", delta_memory_config},
};

}  // namespace

std::vector<std::string> memory_kinds() {
  std::vector<std::string> names;
  for (const auto& entry : kinds) names.emplace_back(entry.name);
  return names;
}

MemoryChoice::MemoryChoice() {
  for (const auto& entry : kinds) configs_[entry.name] = entry.config();
}

MemoryChoice& MemoryChoice::operator=(const MemoryChoice& other) {
  if (this == &other) return *this;
  kind = other.kind;
  configs_.clear();
  for (const auto& [name, config] : other.configs_) configs_[name] = config->clone();
  return *this;
}

const MemoryConfig& MemoryChoice::chosen() const {
  const auto found = configs_.find(kind);
  if (found == configs_.end())
    fail("memory.kind", fmt::format("none or one of {}", fmt::join(memory_kinds(), ", ")), "'" + kind + "'");
  return *found->second;
}

void MemoryChoice::suit_pretrained() {
  for (auto& [name, config] : configs_) config->suit_pretrained();
}

std::shared_ptr<const FastMemory> MemoryChoice::make(const MemoryInput& input) const {
  return is_present() ? chosen().make(input) : nullptr;
}

void add_fields(Fields& fields, MemoryChoice& choice) {
  auto names = memory_kinds();
  names.insert(names.begin(), "none");
  auto& chooser = fields.add("memory.kind", choice.kind, "what learns while reading; none: the base as it is");
  chooser.choices(names);
  for (const auto& entry : kinds) {
    Fields own;
    choice.configs_.at(entry.name)->add_fields(own);
    fields.add_choice(chooser, entry.name, own, true);  // [layer] and [delta] may stand in one config
  }
}

}  // namespace fwl
