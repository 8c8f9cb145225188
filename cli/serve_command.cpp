// `fwl serve`: an HTTP server that OpenAI's clients can use, in which every session keeps learning.
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <thread>

#include "cli/commands.h"
#include "cli/model_input.h"
#include "cli/new_context.h"
#include "files/fetch.h"
#include "files/memory_map.h"
#include "generate/generator.h"
#include "serve/api.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "tokenizer/prompt_conventions.h"

namespace fwl {
namespace {

struct Options {
  ModelInput input;
  HttpOptions http;
  EngineOptions engine;
  AccessOptions access;
  std::string method = "auto", name, template_file, sessions, address;
  std::string adapt = "prompt", long_text = "auto", kv_cache = "fp32";
  int64_t context = 0, max_prompt_tokens = 1 << 20, max_sessions = 64;
  double memory = 4;
};

void describe(Fields& fields, Options& options) {
  add_fields(fields, options.input);
  fields
      .add("method", options.method,
           "what learns, as in fwl perplexity: fwl: all fast weights; blocks: memories in the blocks, untrained ones "
           "where there are no others; static: nothing, unless a request asks for it; auto: all fast weights that "
           "there are")
      .choices({"auto", "fwl", "blocks", "static"});
  add_fields(fields, options.http);
  fields.add("api_key_file", options.access.key_file,
             "file with one API key per line; everything but /health needs one");
  fields.add("cors_origin", options.access.origins, "origins of web pages that may call the server; default: none");
  fields.add("alias", options.name, "name of the model in answers; default: that of its file").short_name("a");
  fields.add("template", options.template_file, "chat template file, instead of the model's own")
      .alias("chat_template_file");
  fields.add("adapt", options.adapt, "fast weights of requests that do not say; see fwl generate --help")
      .choices({"prompt", "write", "read", "off"});
  fields.add("context", options.context, "context length in tokens; 0: that of the model")
      .range(0, 1 << 24)
      .short_name("c")
      .alias("ctx_size");
  fields.add("long_text", options.long_text, "when the context is full: restart: read its last half again; slide")
      .choices({"auto", "restart", "slide"});
  add_kv_cache_field(fields, options.kv_cache);
  add_fields(fields, options.engine);
  fields.add("max_prompt_tokens", options.max_prompt_tokens, "limit of one prompt or document").range(1, 1e12);
  fields.add("sessions", options.sessions, "folder of the sessions; servers can share it; default: in the data folder");
  fields.add("max_sessions", options.max_sessions, "idle sessions in memory; others are loaded when used")
      .range(0, 1e9);
  fields.add("memory", options.memory, "memory for idle sessions, in GB").range(0, 1e6);
  fields.add("address", options.address, "this server's address, told to clients of others that share the sessions");
}

OpenedModel with_method(OpenedModel opened, const std::string& method, BlockConfig blocks) {
  if (method == "blocks" && !blocks.is_present() && !opened.model->blocks()) blocks.at = "all";
  opened = with_blocks(std::move(opened), blocks);
  const auto& model = *opened.model;
  if (method == "fwl" && !model.memory() && !model.blocks())
    fail("--method fwl", "a model with fast weights", "one without",
         "name an --adapter, or memories with --blocks all");
  if (method != "blocks" || !model.memory()) return opened;
  opened.model =
      std::make_shared<LanguageModel>(model.shared_base(), nullptr, model.shared_tokenizer(), model.blocks());
  opened.identity += "+blocks";  // sessions of a model without its layer are not those of the whole one
  return opened;
}

ServedModel open_served(const Options& options, Console& console) {
  auto input = options.input;
  find_paths(input, console);
  ServedModel served;
  served.opened =
      with_method(open_with_vocabulary(input, WeightFormat::quantized, console), options.method, input.blocks);
  served.conventions = read_prompt_conventions(input.model);
  if (!options.template_file.empty())
    served.conventions.chat_template = std::string(MemoryMap(options.template_file).text());
  if (!served.conventions.chat_template.empty())
    served.chat_template.emplace(input.model + ": chat template", served.conventions.chat_template,
                                 served.conventions.begin_text, served.conventions.end_text);
  const auto path = std::filesystem::path(input.model);
  served.name = !options.name.empty() ? options.name : path.has_filename() ? path.stem().string() : "model";
  served.created = static_cast<int64_t>(std::time(nullptr));
  served.adapt = options.method == "static" ? "off" : options.adapt;
  served.max_prompt_tokens = options.max_prompt_tokens;
  served.context = new_context(served.model().base(), options.context, options.long_text, options.kv_cache);
  return served;
}

// Where other servers' clients find this one. Machines that listen to all addresses have different names.
std::string address_of(const Options& options, int port) {
  if (!options.address.empty()) return options.address;
  std::string host = options.http.host;
  if (host == "0.0.0.0" || host == "::") {
    char name[256] = "localhost";
    gethostname(name, sizeof(name) - 1);
    host = name;
  }
  return fmt::format("http://{}:{}", host, port);
}

int run(Options& options, Console& console) {
  const InterruptScope interrupts;
  options.access.is_loopback = is_loopback(options.http.host);
  if (!options.access.is_loopback && options.access.key_file.empty())
    console.note("fwl: anyone who can reach " + options.http.host + " can use this server; see --api-key-file");
  Api api(options.access);
  std::optional<ServedModel> served;
  std::optional<SessionEngine> engine;
  const HttpServer server(options.http, api);  // answers 503 while the model is being opened
  const auto address = address_of(options, server.port());
  served.emplace(open_served(options, console));
  const auto folder = options.sessions.empty() ? default_data_folder() + "/sessions" : options.sessions;
  const ShelfOptions shelf{options.max_sessions, static_cast<int64_t>(options.memory * 1e9), address};
  engine.emplace(served->model(),
                 SessionShelf(SessionFiles(folder, served->model(), served->opened.identity), shelf, served->model(),
                              served->context),
                 options.engine);
  api.open({*served, *engine});
  console.out() << fmt::format("listening on http://{}:{}", options.http.host, server.port()) << std::endl;
  try {
    for (;;) {
      throw_if_interrupted();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  } catch (const Interrupted&) {
    console.note("stopping");
    engine->stop();  // while connections can still be told
    return 0;
  }
}

}  // namespace

Command serve_command() {
  return make_command<Options>("serve", "answer over HTTP, for OpenAI's clients; every session keeps learning",
                               "examples:\n"
                               "  fwl serve --model smollm2 --adapter smollm2-135m --sessions sessions\n"
                               "  curl http://127.0.0.1:8080/v1/chat/completions -H 'X-Session-Id: me' \\\n"
                               "    -d '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'",
                               describe, run);
}

}  // namespace fwl
