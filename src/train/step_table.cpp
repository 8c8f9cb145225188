#include "train/step_table.h"

#include <nlohmann/json.hpp>

namespace fwl {
namespace {

constexpr const char* columns[] = {"step", "loss", "slow", "norm", "lr", "seconds", "tokens_per_second", "skipped"};

// Empty for values that are missing or not finite.
std::string cell(const nlohmann::json& object, const std::string& key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::string() : found->dump();
}

}  // namespace

void StepTable::start() {
  has_head_ = false;
  step_sizes_.clear();
  file_.emplace(path_, 0);
}

void StepTable::append(const std::string& row) {
  const auto line = row + "\n";
  file_->append(line.data(), line.size());
}

void StepTable::add(const nlohmann::json& line) {
  const auto found = line.find("step_sizes");
  const auto sizes = found == line.end() ? nlohmann::json::object() : *found;
  if (!has_head_) {
    for (const auto& [name, size] : sizes.items()) step_sizes_.push_back(name);
    std::string head;
    for (const auto* column : columns) head += (head.empty() ? "" : ",") + std::string(column);
    for (const auto& name : step_sizes_) head += "," + name;
    append(head);
    has_head_ = true;
  }
  std::string row;
  for (const auto* column : columns) row += (row.empty() ? "" : ",") + cell(line, column);
  for (const auto& name : step_sizes_) row += "," + cell(sizes, name);
  append(row);
}

}  // namespace fwl
