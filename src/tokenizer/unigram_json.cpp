#include "tokenizer/unigram_json.h"

#include <fmt/format.h>

#include "support/error.h"
#include "tokenizer/json_field.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/space_marks.h"

namespace fwl {
namespace {

using Json = nlohmann::json;

enum PieceType : int64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

bool is_byte_name(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
}

SentencePieceModel read_pieces(const std::string& where, const Json& model) {
  SentencePieceModel pieces;
  pieces.is_unigram = true;
  const bool falls_back = json_field<bool>(where, model, "byte_fallback", false);
  const auto& vocabulary = json_member(where, model, "vocab");
  if (!vocabulary.is_array()) fail(where + ": vocab", "a list of tokens with scores", vocabulary.type_name());
  for (const auto& entry : vocabulary) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      fail(fmt::format("{}: vocab {}", where, pieces.pieces.size()), "a token and its score", entry.type_name());
    auto text = entry[0].get<std::string>();
    const bool is_byte = falls_back && is_byte_name(text);
    pieces.pieces.push_back({std::move(text), entry[1].get<float>(), is_byte ? byte : normal});
  }
  const auto id = json_field<double>(where, model, "unk_id", -1.0);
  if (!(id >= 0 && id < static_cast<double>(pieces.pieces.size())))
    fail(where + ": unk_id", "the id of a token", fmt::format("{}", id), "a vocabulary without an unknown token");
  pieces.pieces[static_cast<size_t>(id)].type = unknown;
  return pieces;
}

// Added tokens follow the vocabulary without a gap, or are in it.
void read_added(const std::string& where, const Json& root, SentencePieceModel& model) {
  const auto& added = json_or_null(root, "added_tokens");
  if (!added.is_array() && !added.is_null()) fail(where + ": added_tokens", "a list", added.type_name());
  for (const auto& entry : added) {
    const auto text = json_field<std::string>(where, entry, "content");
    const auto& id = json_member(where, entry, "id");
    if (!id.is_number_integer() || id < 0 || id > model.pieces.size() || text.empty())
      fail(fmt::format("{}: added token '{}'", where, text), "the id of a token, or the next one",
           json_number_or_kind(id));
    const auto index = id.get<size_t>();
    if (index == model.pieces.size()) model.pieces.push_back({text, 0, normal});
    if (model.pieces[index].text != text)
      fail(fmt::format("{}: added token '{}'", where, text), "an id of its own",
           fmt::format("{}, which is '{}'", index, model.pieces[index].text));
    if (model.pieces[index].type != unknown)
      model.pieces[index].type = json_field<bool>(where, entry, "special", false) ? control : user_defined;
  }
}

}  // namespace

std::unique_ptr<Tokenizer> open_unigram_json(const std::string& where, const Json& root, const std::string& begin,
                                             const std::string& end) {
  auto model = read_pieces(where, json_member(where, root, "model"));
  read_added(where, root, model);
  auto marks = parse_space_marks(where, root);
  if (!marks.replaces_spaces)
    fail(where + ": pre_tokenizer", "Metaspace", "none", "only vocabularies that mark spaces are supported");
  replace_unusable(model);
  model.adds_space = marks.before == SpaceMarks::Before::every_part;
  model.removes_extra_spaces = marks.removes_runs;
  model.normalization_table = std::move(marks.character_table);
  model.begin = begin;
  model.end = end;
  const bool adds_missing = marks.before == SpaceMarks::Before::part || marks.before == SpaceMarks::Before::text;
  return std::make_unique<SentencePieceTokenizer>(where, to_bytes(model), adds_missing);
}

}  // namespace fwl
