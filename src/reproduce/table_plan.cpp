#include "reproduce/table_plan.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "files/memory_map.h"
#include "support/error.h"
#include "support/near_name.h"

namespace fwl {
namespace {

const std::string off_suffix = "-off", dynamic_with_resets = "dynamic-reset";
const std::vector<std::string> known_methods = {"base",      "static",       "fwl",         "fwl-off",
                                                "boundary",  "boundary-off", "bias-only",   "delta-rule",
                                                "test-time", "dynamic-sgd",  "dynamic-rms", dynamic_with_resets};
constexpr int64_t speed_tokens = 100000;

// Reads one [[table]]; every key must be known.
class PlanReader {
 public:
  PlanReader(const std::string& where, const toml::table& table) : where_(where), table_(table) {}

  std::string text(const char* key) {
    const auto value = node(key).value<std::string>();
    if (!value) fail(where_ + ": " + key, "a text", "something else");
    return *value;
  }
  std::string optional_text(const char* key) {
    if (!table_.contains(key)) return seen(key), std::string();
    return text(key);
  }
  int64_t number(const char* key) {
    if (!table_.contains(key)) return seen(key), 0;
    const auto value = node(key).value<int64_t>();
    if (!value || *value < 0) fail(where_ + ": " + key, "a whole number >= 0", "something else");
    return *value;
  }
  template <class T>
  std::vector<T> list(const char* key, bool is_required) {
    std::vector<T> result;
    if (!is_required && !table_.contains(key)) return seen(key), result;
    const auto* array = node(key).as_array();
    if (!array) fail(where_ + ": " + key, "a list", "something else");
    for (const auto& entry : *array) {
      const auto value = entry.value<T>();
      if (!value) fail(where_ + ": " + key, "a list of one kind", "something else");
      result.push_back(*value);
    }
    return result;
  }
  std::map<std::string, std::vector<std::string>> lists(const char* key) {
    std::map<std::string, std::vector<std::string>> result;
    if (!table_.contains(key)) return seen(key), result;
    const auto* table = node(key).as_table();
    if (!table) fail(where_ + ": " + key, "a table of lists", "something else");
    PlanReader reader(where_ + ": " + key, *table);
    for (const auto& [name, value] : *table) {
      const std::string text(name.str());
      result[text] = reader.list<std::string>(text.c_str(), true);
    }
    return result;
  }
  void expect_nothing_else() const {
    for (const auto& [key, value] : table_)
      if (std::ranges::find(seen_, key.str()) == seen_.end())
        fail(where_, "a known key", fmt::format("'{}'", key.str()), did_you_mean(key.str(), seen_));
  }

 private:
  void seen(const char* key) { seen_.emplace_back(key); }
  const toml::node& node(const char* key) {
    seen(key);
    const auto* found = table_.get(key);
    if (!found) fail(where_, fmt::format("a key '{}'", key), "none");
    return *found;
  }

  std::string where_;
  const toml::table& table_;
  std::vector<std::string> seen_;
};

bool is_known(const std::string& method) {
  return std::ranges::find(known_methods, method) != known_methods.end();
}

// Trained with gradients at the chunk boundary: that method, and those that only the plan knows.
bool is_boundary(const std::string& method) {
  return method == "boundary" || !is_known(method);
}

// Named after what learns; all others have the layer.
bool is_memory_kind(const std::string& method) {
  return method == "bias-only" || method == "delta-rule";
}

void check_names(const std::string& where, const std::map<std::string, std::vector<std::string>>& lists,
                 const std::vector<std::string>& methods) {
  for (const auto& [method, list] : lists)
    if (std::ranges::find(methods, method) == methods.end())
      fail(where, "one of the table's methods", "'" + method + "'", did_you_mean(method, methods));
}

TablePlan read_plan(const std::string& where, const toml::table& table) {
  PlanReader reader(where, table);
  TablePlan plan;
  plan.name = reader.text("name");
  plan.config = reader.text("config");
  plan.base = reader.optional_text("base");
  plan.runs = reader.optional_text("runs");
  if (plan.runs.empty()) plan.runs = plan.name;
  plan.valid = reader.text("valid");
  plan.test = reader.text("test");
  plan.train = reader.optional_text("train");
  plan.tokenizer = reader.optional_text("tokenizer");
  plan.settings = reader.list<std::string>("settings", false);
  plan.slow_settings = reader.list<std::string>("slow_settings", false);
  plan.method_settings = reader.lists("method_settings");
  plan.method_flags = reader.lists("method_flags");
  plan.methods = reader.list<std::string>("methods", true);
  plan.protocol = reader.list<std::string>("protocol", false);
  plan.rates = reader.list<std::string>("rates", false);
  if (plan.rates.empty()) plan.rates = {"--low", "1e-4", "--high", "1"};
  plan.seeds = reader.list<int64_t>("seeds", true);
  plan.seeded = reader.list<std::string>("seeded", false);
  if (plan.seeded.empty()) plan.seeded = {"static", "fwl"};
  plan.against = reader.optional_text("against");
  if (plan.against.empty()) plan.against = "static";
  plan.tuning_tokens = reader.number("tuning_tokens");
  plan.test_tokens = reader.number("test_tokens");
  reader.expect_nothing_else();
  if (plan.seeds.empty() || std::ranges::find(plan.methods, plan.against) == plan.methods.end())
    fail(where, fmt::format("seeds, and methods with {} among them", plan.against), "others");
  for (const auto& method : plan.methods)
    if (!plan.method_settings.contains(method) && !plan.method_flags.contains(method) && !is_known(method))
      fail(where + ": methods", "a known method", "'" + method + "'", did_you_mean(method, known_methods));
  check_names(where + ": method_settings", plan.method_settings, plan.methods);
  check_names(where + ": method_flags", plan.method_flags, plan.methods);
  if (!plan.method_flags.empty() && plan.base.empty()) fail(where + ": method_flags", "a base", "none");
  return plan;
}

void append_limit(Arguments& arguments, int64_t tokens) {
  if (tokens > 0) arguments.insert(arguments.end(), {"--max-tokens", std::to_string(tokens)});
}

bool is_dynamic_method(const std::string& method) {
  return method.starts_with("dynamic");
}

// What fwl perplexity and fwl tune call a method of the table.
std::string scored_method(const std::string& method) {
  if (method == "base" || method.ends_with(off_suffix)) return "static";
  if (is_boundary(method)) return "fwl";
  if (method == "delta-rule") return "fwl";
  return method == dynamic_with_resets ? "dynamic-sgd" : method;
}

void append_reset(Arguments& arguments, const std::string& method) {
  if (method == dynamic_with_resets) arguments.emplace_back("--dynamic.reset");
}

void append_model(Arguments& arguments, const TablePlan& plan, const std::string& trained) {
  arguments.insert(arguments.end(), {"--model", plan.base.empty() ? trained : plan.base});
  if (!plan.base.empty() && !trained.empty()) arguments.insert(arguments.end(), {"--adapter", trained});
}

}  // namespace

std::vector<TablePlan> load_table_plans(const std::string& path) {
  std::vector<TablePlan> plans;
  try {
    const auto root = toml::parse(MemoryMap(path).text(), path);
    const auto* tables = root["table"].as_array();
    if (!tables) fail(path, "[[table]] entries", "none");
    for (const auto& entry : *tables) {
      if (!entry.is_table()) fail(path, "[[table]] entries", "something else");
      plans.push_back(read_plan(fmt::format("{}: table {}", path, plans.size() + 1), *entry.as_table()));
    }
  } catch (const toml::parse_error& error) {
    fail(fmt::format("{}:{}", path, error.source().begin.line), "TOML", std::string(error.description()));
  }
  return plans;
}

bool is_tuned(const std::string& method) {
  return method == "test-time" || is_dynamic_method(method);
}

bool has_seeds(const TablePlan& plan, const std::string& method) {
  return std::ranges::find(plan.seeded, method) != plan.seeded.end();
}

bool needs_training(const TablePlan& plan, const std::string& method) {
  return plan.base.empty() || !(method == "base" || is_dynamic_method(method) || plan.method_flags.contains(method));
}

std::string training_of(const std::string& method) {
  if (method.ends_with(off_suffix)) return method.substr(0, method.size() - off_suffix.size());
  return is_tuned(method) ? "static" : method;
}

std::string run_name(const std::string& table, const std::string& method, int64_t seed) {
  return fmt::format("{}-{}-{}", table, method, seed);
}

Arguments train_arguments(const TablePlan& plan, const std::string& training, int64_t seed, const std::string& folder) {
  Arguments arguments = {plan.base.empty() ? "train" : "attach", "--config", plan.config};
  const auto set = [&](const std::string& setting) { arguments.insert(arguments.end(), {"--set", setting}); };
  for (const auto& setting : plan.settings) set(setting);
  set(std::string("objective.name=") + (training == "static" ? "static" : "fwl"));
  if (is_memory_kind(training)) set("memory.kind=" + training);
  if (training != "delta-rule") set(std::string("layer.gradient_at=") + (is_boundary(training) ? "boundary" : "slow"));
  if (!is_boundary(training) && training != "delta-rule")
    for (const auto& setting : plan.slow_settings) set(setting);
  if (const auto own = plan.method_settings.find(training); own != plan.method_settings.end())
    for (const auto& setting : own->second) set(setting);
  set(fmt::format("run.seed={}", seed));
  arguments.insert(arguments.end(), {"--out", folder, "--resume"});
  return arguments;
}

Arguments tune_arguments(const TablePlan& plan, const std::string& method, const std::string& trained) {
  Arguments arguments = {"tune"};
  append_model(arguments, plan, trained);
  arguments.insert(arguments.end(), {"--tokens", plan.valid, "--method", scored_method(method), "--json"});
  append_reset(arguments, method);
  if (is_dynamic_method(method)) arguments.insert(arguments.end(), plan.rates.begin(), plan.rates.end());
  arguments.insert(arguments.end(), plan.protocol.begin(), plan.protocol.end());
  append_limit(arguments, plan.tuning_tokens);
  return arguments;
}

Arguments test_arguments(const TablePlan& plan, const std::string& method, const std::string& trained, double value,
                         const std::string& nll_path) {
  Arguments arguments = {"perplexity"};
  append_model(arguments, plan, trained);
  arguments.insert(arguments.end(), {"--tokens", plan.test});
  if (const auto flags = plan.method_flags.find(method); flags != plan.method_flags.end())
    arguments.insert(arguments.end(), flags->second.begin(), flags->second.end());
  else
    arguments.insert(arguments.end(), {"--method", scored_method(method)});
  append_reset(arguments, method);
  if (is_tuned(method))
    arguments.insert(arguments.end(),
                     {is_dynamic_method(method) ? "--dynamic.eta" : "--step", fmt::format("{:.6g}", value)});
  arguments.insert(arguments.end(), plan.protocol.begin(), plan.protocol.end());
  append_limit(arguments, plan.test_tokens);
  arguments.insert(arguments.end(), {"--json", "--save-nll", nll_path});
  return arguments;
}

Arguments report_arguments(const TablePlan& plan, const std::vector<std::string>& inputs, const std::string& before,
                           const std::string& after, const std::string& page, const std::string& picture) {
  Arguments arguments = {"report"};
  arguments.insert(arguments.end(), inputs.begin(), inputs.end());
  arguments.insert(arguments.end(), {"--before", before, "--after", after, "--title", plan.name});
  if (!plan.train.empty()) arguments.insert(arguments.end(), {"--train-tokens", plan.train});
  if (!plan.tokenizer.empty())
    arguments.insert(arguments.end(), {"--tokens", plan.test, "--tokenizer", plan.tokenizer});
  arguments.insert(arguments.end(), {"--out", page, "--picture", picture});
  return arguments;
}

Arguments speed_arguments(const TablePlan& plan, const std::string& trained) {
  Arguments arguments = {"perplexity"};
  append_model(arguments, plan, trained);
  arguments.insert(arguments.end(), {"--tokens", plan.test, "--method", "static", "fwl", "dynamic-sgd"});
  arguments.insert(arguments.end(), plan.protocol.begin(), plan.protocol.end());
  append_limit(arguments, plan.test_tokens > 0 ? std::min(plan.test_tokens, speed_tokens) : speed_tokens);
  arguments.emplace_back("--json");
  return arguments;
}

std::string command_text(const Arguments& arguments) {
  std::string text = "fwl";
  for (const auto& argument : arguments) text += " " + argument;
  return text;
}

}  // namespace fwl
