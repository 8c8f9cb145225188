// Reads a text with fast weights and without them, in one pass, and keeps the session: read_text MODEL ADAPTER TEXT
#include <ATen/ATen.h>

#include <cstdio>
#include <exception>

#include "files/memory_map.h"
#include "store/open_model.h"

namespace {

void read_text(const char* model_path, const char* adapter_path, const char* text_path) {
  const auto opened = fwl::open_model(model_path, adapter_path);
  const fwl::LanguageModel& model = *opened.model;

  const auto ids = model.tokenizer()->encode(fwl::MemoryMap(text_path).text());
  const auto tokens = at::tensor(ids).to(at::kLong).unsqueeze(0);  // 1,T

  auto session = model.new_session();
  const auto losses = model.read(tokens, session, {.wants_slow_loss = true});
  std::printf("perplexity without fast weights %.2f, with them %.2f\n", losses.slow.mean().exp().item<double>(),
              losses.adapted.mean().exp().item<double>());
  model.save_session(session, "text.session", opened.identity);  // what it has learned goes on from here
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: read_text MODEL ADAPTER TEXT\n");
    return 2;
  }
  try {
    read_text(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
