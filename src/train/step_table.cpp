#include "train/step_table.h"

#include <nlohmann/json.hpp>

#include "support/error.h"

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
  file_.close();
  file_.open(path_, std::ios::trunc);
  if (!file_) fail_with_errno(path_, "cannot write");
}

void StepTable::add(const nlohmann::json& line) {
  const auto sizes = line.value("step_sizes", nlohmann::json::object());
  if (!has_head_) {
    for (const auto& [name, size] : sizes.items()) step_sizes_.push_back(name);
    std::string head;
    for (const auto* column : columns) head += (head.empty() ? "" : ",") + std::string(column);
    for (const auto& name : step_sizes_) head += "," + name;
    file_ << head << '\n';
    has_head_ = true;
  }
  std::string row;
  for (const auto* column : columns) row += (row.empty() ? "" : ",") + cell(line, column);
  for (const auto& name : step_sizes_) row += "," + cell(sizes, name);
  file_ << row << '\n';
  file_.flush();
  if (!file_) fail_with_errno(path_, "cannot write");
}

}  // namespace fwl
