#include "tokenizer/gguf_tokenizer.h"

#include <fmt/format.h>

#include "support/error.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/json_field.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/sentencepiece_tokenizer.h"

namespace fwl {
namespace {

// Values of the file format, taken from SentencePiece.
enum TokenType : int64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct GgufTokens {
  std::vector<std::string_view> texts;
  std::vector<int64_t> types;
};

GgufTokens read_tokens(const GgufFile& file) {
  GgufTokens tokens{file.get<std::vector<std::string_view>>("tokenizer.ggml.tokens"), {}};
  const std::vector<int64_t> all_normal(tokens.texts.size(), TokenType::normal);
  tokens.types = file.get_or("tokenizer.ggml.token_type", all_normal);
  if (tokens.types.size() != tokens.texts.size())
    fail(file.where() + ": tokenizer.ggml.token_type", fmt::format("{} values", tokens.texts.size()),
         fmt::format("{}", tokens.types.size()));
  return tokens;
}

std::optional<TokenId> read_id(const GgufFile& file, std::string_view key, size_t vocabulary_size) {
  const auto id = file.get_optional<int64_t>(key);
  if (!id) return std::nullopt;
  if (*id < 0 || static_cast<size_t>(*id) >= vocabulary_size)
    fail(fmt::format("{}: {}", file.where(), key), fmt::format("an id below {}", vocabulary_size),
         fmt::format("{}", *id));
  return static_cast<TokenId>(*id);
}

std::unique_ptr<Tokenizer> open_byte_level(const GgufFile& file) {
  const auto tokens = read_tokens(file);
  BpeVocabulary vocabulary;
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    vocabulary.tokens.emplace_back(tokens.texts[id]);
    const bool is_special = tokens.types[id] == TokenType::control || tokens.types[id] == TokenType::unknown;
    if ((!is_special && tokens.types[id] != TokenType::user_defined) || tokens.texts[id].empty()) continue;
    AddedToken added{.id = static_cast<TokenId>(id), .content = vocabulary.tokens.back()};
    added.is_special = is_special;
    added.is_normalized = !is_special;
    vocabulary.added.push_back(std::move(added));
  }
  for (const auto merge : file.get<std::vector<std::string_view>>("tokenizer.ggml.merges"))
    vocabulary.merges.push_back(
        split_merge(fmt::format("{}: merge {}", file.where(), vocabulary.merges.size() + 1), merge));
  const auto name = file.get_or<std::string_view>("tokenizer.ggml.pre", "default");
  vocabulary.splits = published_split(file.where() + ": tokenizer.ggml.pre", name);
  vocabulary.splits.back().adds_space = file.get_or("tokenizer.ggml.add_space_prefix", false);
  vocabulary.ignores_merges = takes_whole_pieces(name);
  vocabulary.begin = read_id(file, "tokenizer.ggml.bos_token_id", tokens.texts.size());
  vocabulary.end = read_id(file, "tokenizer.ggml.eos_token_id", tokens.texts.size());
  return std::make_unique<BpeTokenizer>(file.where(), std::move(vocabulary));
}

// SentencePiece needs one unknown piece. Some files, such as Gemma's, name it by id and give it another type.
void mark_unknown(const GgufFile& file, SentencePieceModel& model) {
  bool has_unknown = false;
  for (auto& piece : model.pieces) {
    if (piece.type != TokenType::unknown) continue;
    if (has_unknown) piece.type = TokenType::control;
    has_unknown = true;
  }
  if (has_unknown) return;
  const auto id = read_id(file, "tokenizer.ggml.unknown_token_id", model.pieces.size());
  for (size_t index = 0; index < model.pieces.size(); ++index) {
    auto& piece = model.pieces[index];
    if (id ? index != static_cast<size_t>(*id) : piece.text != "<unk>") continue;
    piece.type = TokenType::unknown;
    return;
  }
  fail(file.where() + ": tokenizer.ggml.token_type", "an unknown token: type 2, unknown_token_id or <unk>", "none",
       "SentencePiece cannot encode without one");
}

std::unique_ptr<Tokenizer> open_sentencepiece(const GgufFile& file) {
  const auto tokens = read_tokens(file);
  const auto scores = file.get<std::vector<double>>("tokenizer.ggml.scores");
  if (scores.size() != tokens.texts.size())
    fail(file.where() + ": tokenizer.ggml.scores", fmt::format("{} values", tokens.texts.size()),
         fmt::format("{}", scores.size()));
  SentencePieceModel model;
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    if (tokens.types[id] < TokenType::normal || tokens.types[id] > TokenType::byte)
      fail(file.where() + ": tokenizer.ggml.token_type", "1 to 6", fmt::format("{}", tokens.types[id]));
    model.pieces.push_back({std::string(tokens.texts[id]), static_cast<float>(scores[id]), tokens.types[id]});
  }
  replace_unusable(model);
  mark_unknown(file, model);
  model.adds_space = file.get_or("tokenizer.ggml.add_space_prefix", true);
  model.begin = model.end = "";
  const auto piece_of = [&](std::string_view key, std::string& piece) {
    if (const auto id = read_id(file, key, tokens.texts.size())) piece = tokens.texts[static_cast<size_t>(*id)];
  };
  piece_of("tokenizer.ggml.bos_token_id", model.begin);
  piece_of("tokenizer.ggml.eos_token_id", model.end);
  return std::make_unique<SentencePieceTokenizer>(file.where(), to_bytes(model));
}

}  // namespace

std::unique_ptr<Tokenizer> open_gguf_tokenizer(const GgufFile& file) {
  const auto model = file.get<std::string_view>("tokenizer.ggml.model");
  if (model == "gpt2") return open_byte_level(file);
  if (model == "llama") return open_sentencepiece(file);
  fail(file.where() + ": tokenizer.ggml.model", "gpt2 (byte-level BPE) or llama (SentencePiece)",
       fmt::format("'{}'", model), "this kind of vocabulary is not supported");
}

}  // namespace fwl
