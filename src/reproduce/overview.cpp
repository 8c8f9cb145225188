#include "reproduce/overview.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files/atomic_file.h"
#include "files/memory_map.h"
#include "report/result_table.h"
#include "support/json.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> json_files_of_scales(const fs::path& results) {
  std::vector<std::string> paths;
  for (const auto& scale : fs::directory_iterator(results)) {
    if (!scale.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(scale.path()))
      if (file.path().extension() == ".json") paths.push_back(file.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

std::string text_if_there(const fs::path& path) {
  return fs::exists(path) ? std::string(MemoryMap(path.string()).text()) : std::string();
}

std::vector<OverviewEntry> tables_in(const fs::path& results) {
  std::vector<OverviewEntry> entries;
  for (const auto& path : json_files_of_scales(results)) {
    const auto json = parse_json(path, MemoryMap(path).text());
    if (!json.contains("table")) continue;
    const auto page = fs::path(path).replace_extension(".html");
    entries.push_back({fs::path(path).parent_path().filename().string(), parse_result_table(path, json),
                       text_if_there(fs::path(path).replace_extension(".svg")),
                       fs::exists(page) ? fs::relative(page, results).generic_string() : std::string()});
  }
  return entries;
}

}  // namespace

void write_overview(const fs::path& results) {
  const auto entries = tables_in(results);
  if (!entries.empty()) write_file_atomically((results / "report.html").string(), make_overview(entries));
  std::map<std::string, std::vector<ResultTable>> scales;
  for (const auto& entry : entries) scales[entry.scale].push_back(entry.table);
  for (const auto& [scale, tables] : scales)
    write_file_atomically((results / scale / "summary.md").string(), summary_markdown(tables));
}

}  // namespace fwl
