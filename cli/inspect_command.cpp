// `fwl inspect`: shows what is in a model file, a model folder, an adapter, a tokenizer or a token file.
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/inspect_table.h"
#include "inspect/describe_file.h"
#include "store/model_support.h"

namespace fwl {
namespace {

struct InspectOptions {
  std::string path;
  bool json = false;
  bool all = false;
};

void describe_options(Fields& fields, InspectOptions& options) {
  fields.add("path", options.path, "a GGUF, safetensors, tokenizer or token file, a Hugging Face folder or an adapter")
      .required()
      .positional();
  fields.add("json", options.json, "print JSON instead of a table");
  fields.add("all", options.all, "print long texts and arrays of metadata in full");
}

int run(const InspectOptions& options, Console& console) {
  auto description = options.all ? describe_file(options.path, every_element) : describe_file(options.path);
  if (auto support = describe_support(options.path); !support.is_null()) description["support"] = std::move(support);
  if (options.json)
    console.out() << description.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  else
    console.out() << (options.all ? inspect_table(description, every_element) : inspect_table(description));
  return 0;
}

}  // namespace

Command inspect_command() {
  return make_command<InspectOptions>("inspect", "show what is in a model file, tokenizer or token file",
                                      "example: fwl inspect model.gguf --json", describe_options, run);
}

}  // namespace fwl
