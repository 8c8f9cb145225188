#include "cli/inspect_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/console.h"
#include "support/printable.h"

namespace fwl {
namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

constexpr size_t longest_element = 20;

std::string compact(const json& value, size_t longest) {
  if (value.is_string()) return printable(value.get_ref<const std::string&>(), longest);
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace), longest);
}

// "[49152 x text] <|endoftext|>, <|im_start|>, …"
std::string value_text(const json& value, size_t longest) {
  if (!value.is_object() || !value.contains("first") || !value.contains("kind")) return compact(value, longest);
  std::vector<std::string> first;
  for (const auto& each : value["first"]) first.push_back(compact(each, longest_element));
  return fmt::format("[{} x {}] {}, …", value["count"].dump(), value["kind"].get<std::string>(),
                     fmt::join(first, ", "));
}

// Columns as wide as their widest cell; all but the first `left` are aligned to the right.
std::string table(const std::vector<Row>& rows, size_t left) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += i < left ? fmt::format("  {:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string amount(const json& number, const std::string& unit) {
  return format_amount(number.get<double>(), unit);
}

std::string headline(const json& description) {
  auto text = fmt::format("{}: {}", printable(description["path"].get<std::string>(), 1000),
                          description["format"].get<std::string>());
  if (description.contains("version")) text += fmt::format(" version {}", description["version"].dump());
  if (description.contains("file_bytes")) text += ", " + amount(description["file_bytes"], "bytes");
  if (description.contains("files")) text += fmt::format(", {} file(s)", description["files"].dump());
  return text + "\n";
}

std::string support_table(const json& support) {
  std::string text = fmt::format("\nsupport\n  {}: {}\n", printable(support["architecture"].get<std::string>()),
                                 support["supported"].get<bool>() ? "can be opened" : "cannot be opened");
  for (const auto& message : support["missing"]) text += "  " + printable(message.get<std::string>(), 1000) + "\n";
  return text;
}

std::string metadata_table(const json& metadata, size_t longest_value) {
  std::vector<Row> rows;
  for (const auto& [key, value] : metadata.items()) rows.push_back({printable(key), value_text(value, longest_value)});
  return rows.empty() ? "" : "\nmetadata\n" + table(rows, 2);
}

std::string tensor_table(const json& tensors) {
  std::vector<Row> rows;
  for (const auto& tensor : tensors)
    rows.push_back({printable(tensor["name"].get<std::string>()), tensor["type"].get<std::string>(),
                    fmt::format("{}", fmt::join(tensor["shape"].get<std::vector<int64_t>>(), " x ")),
                    tensor["bytes"].dump()});
  return rows.empty() ? "" : "\ntensors (name, type, shape, bytes)\n" + table(rows, 2);
}

Row total_row(const std::string& name, const json& counts) {
  return {name, counts["tensors"].dump() + " tensors", amount(counts["parameters"], "parameters"),
          amount(counts["bytes"], "bytes")};
}

std::string total_table(const json& totals) {
  std::vector<Row> rows;
  for (const auto& [type, counts] : totals["types"].items()) rows.push_back(total_row(type, counts));
  rows.push_back(total_row("all", totals));
  return "\ntotals\n" + table(rows, 1);
}

}  // namespace

std::string inspect_table(const json& description, size_t longest_value) {
  auto text = headline(description) + metadata_table(description["metadata"], longest_value);
  if (description.contains("tensors")) text += tensor_table(description["tensors"]);
  if (description.contains("totals")) text += total_table(description["totals"]);
  if (description.contains("support")) text += support_table(description["support"]);
  return text;
}

}  // namespace fwl
