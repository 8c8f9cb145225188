// A table of results: methods on the same tokens, each with its gain over one of them and its cost.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/evaluation_result.h"

namespace fwl {

struct ResultRow {
  int64_t seed = 0;
  int64_t training_steps = 0;  // 0: nothing was trained
  MethodResult result;
  std::optional<LossDifference> difference;  // to the method that all are compared with
};

struct ResultTable {
  std::string name;
  std::string command;             // that makes the table
  bool is_bytes = false;           // tokens are bytes: bits per byte come first, otherwise perplexity
  std::string against = "static";  // the method that the others are compared with
  std::vector<ResultRow> rows;
  std::string cost_model;           // the method whose model was used for `costs`
  std::vector<MethodResult> costs;  // measured in one run, relative to the first
};

std::string to_markdown(const ResultTable& table);
nlohmann::json to_json(const ResultTable& table);
// One line per table, for its first seed: each method's bits per byte or perplexity, and the change of perplexity.
std::string summary_markdown(const std::vector<ResultTable>& tables);
ResultTable parse_result_table(const std::string& where, const nlohmann::json& json);

// All tables on one self-contained page, each with its picture if there is one.
struct OverviewEntry {
  std::string scale;
  ResultTable table;
  std::string picture;    // SVG, from gain_picture; may be empty
  std::string page_link;  // relative link to the page of the table; may be empty
};
std::string make_overview(const std::vector<OverviewEntry>& entries);

}  // namespace fwl
