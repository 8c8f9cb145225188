// `fwl get`: downloads a known model or corpus.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/fetch_known.h"
#include "support/interrupt.h"

namespace fwl {
namespace {

struct Options {
  std::string name;
  std::string data_dir;
  bool json = false;
};

void describe(Fields& fields, Options& options) {
  std::vector<std::string> names;
  for (const auto& data : known_data()) names.push_back(data.name);
  fields.add("name", options.name, "what to download").positional().required().choices(names);
  fields.add("data_dir", options.data_dir, "data folder, instead of $FWL_DATA, $XDG_CACHE_HOME/fwl or ~/.cache/fwl");
  fields.add("json", options.json, "print the result as JSON");
}

nlohmann::json to_json(const KnownData& data, const FetchResult& result) {
  nlohmann::json files = nlohmann::json::object();
  for (const auto& file : data.files) files[file.name] = file.checksum;
  return {{"name", data.name},
          {"path", result.path},
          {"was_there", result.was_there},
          {"licence", data.licence},
          {"files", files}};
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  const auto& data = known_data(options.name);
  const auto folder = options.data_dir.empty() ? default_data_folder() : options.data_dir;
  const auto result = fetch_known(data, folder, console);
  if (options.json) {
    console.out() << to_json(data, result).dump() << '\n';
    return 0;
  }
  console.out() << fmt::format("{}: {}\nlicence: {}\n", data.name, data.description, data.licence)
                << (result.was_there ? "already there" : "downloaded") << ", checksums verified\n"
                << result.path << '\n';
  return 0;
}

}  // namespace

Command get_command() {
  return make_command<Options>("get", "download a known model or corpus: smollm2, enwik8, wikitext-2, wikitext-103",
                               "The last line of the output is the path:\n"
                               "  fwl tokenize --tokenizer bytes --out enwik8.tokens \"$(fwl get enwik8 | tail -n 1)\"",
                               describe, run);
}

}  // namespace fwl
