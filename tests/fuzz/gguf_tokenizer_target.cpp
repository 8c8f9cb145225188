#include "files/gguf_samples.h"
#include "fuzz/fuzz_target.h"
#include "tokenizer/gguf_tokenizer.h"

namespace fwl {
namespace {

void run(std::string_view bytes) {
  const GgufFile file("input.gguf", std::as_bytes(std::span(bytes)));
  const auto tokenizer = open_gguf_tokenizer(file);
  (void)tokenizer->decode(tokenizer->encode(MarkedText::all_markup("the a\xC3\xA9\xFF 12\n<s>")));
}

std::string sample(const char* model, const std::vector<std::string>& tokens) {
  GgufMaker maker;
  maker.header(0, 7);
  maker.key("tokenizer.ggml.model", GgufKind::text).text(model);
  maker.key("tokenizer.ggml.pre", GgufKind::text).text("smollm");
  maker.key("tokenizer.ggml.tokens", GgufKind::array).array(GgufKind::text, tokens.size());
  for (const auto& token : tokens) maker.text(token);
  maker.key("tokenizer.ggml.merges", GgufKind::array).array(GgufKind::text, 2).text("t h").text("th e");
  maker.key("tokenizer.ggml.scores", GgufKind::array).array(GgufKind::float32, tokens.size());
  for (size_t index = 0; index < tokens.size(); ++index) maker.number(-static_cast<float>(index));
  maker.key("tokenizer.ggml.token_type", GgufKind::array).array(GgufKind::int32, tokens.size());
  for (size_t index = 0; index < tokens.size(); ++index) maker.number(index == 0 ? 2 : index == 1 ? 3 : 1);
  maker.key("tokenizer.ggml.eos_token_id", GgufKind::uint32).number(uint32_t{1});
  return maker.bytes();
}

}  // namespace

FuzzTarget gguf_tokenizer_target() {
  const std::vector<std::string> tokens = {"<unk>", "<s>", "t", "h", "e", "th", "the", "a", "\u2581", "\u0120", "1"};
  return {"gguf_tokenizer", {sample("gpt2", tokens), sample("llama", tokens)}, run};
}

}  // namespace fwl
