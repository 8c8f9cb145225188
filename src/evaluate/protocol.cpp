#include "evaluate/protocol.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.h"

namespace fwl {
namespace {

struct Stretch {
  int64_t begin, end;
};

std::vector<Stretch> stretches_of(const TokenView& tokens, bool by_document) {
  if (!by_document) return {{0, tokens.size()}};
  std::vector<Stretch> stretches;
  for (int64_t index = 0; index < tokens.document_count(); ++index)
    stretches.push_back({tokens.first_token_of(index), tokens.first_token_of(index + 1)});
  return stretches;
}

class Cutter {
 public:
  explicit Cutter(const ProtocolOptions& options) : options_(options) {}

  void cut(const Stretch& stretch) {
    switch (options_.protocol) {
      case Protocol::stream:
        return stream(stretch);
      case Protocol::windows:
        return windows(stretch);
      case Protocol::sliding:
        return sliding(stretch);
      case Protocol::llama:
        return llama(stretch);
    }
  }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  int64_t segment() const {
    return options_.segment_tokens > 0 ? std::min(options_.segment_tokens, options_.context_tokens)
                                       : options_.context_tokens;
  }

  void stream(const Stretch& stretch) {
    for (int64_t window = stretch.begin; window + 1 < stretch.end; window += options_.context_tokens) {
      const int64_t window_end = std::min(window + options_.context_tokens, stretch.end - 1);
      for (int64_t first = window; first < window_end; first += segment()) {
        const bool is_start = first == stretch.begin;
        const bool starts_window = first == window && options_.is_base_bounded;
        pieces_.push_back(
            {first, std::min(segment(), window_end - first), first + 1, is_start || starts_window, is_start});
      }
    }
  }

  void windows(const Stretch& stretch) {
    for (int64_t first = stretch.begin; first + 1 < stretch.end; first += options_.context_tokens) {
      const int64_t end = std::min(first + options_.context_tokens, stretch.end) - 1;  // of the inputs
      for (int64_t part = first; part < end; part += segment())
        pieces_.push_back({part, std::min(segment(), end - part), part + 1, part == first, part == first});
    }
  }

  void sliding(const Stretch& stretch) {
    const int64_t stride = options_.stride_tokens > 0 ? options_.stride_tokens : (options_.context_tokens + 1) / 2;
    int64_t scored_to = stretch.begin + 1;
    for (int64_t first = stretch.begin; scored_to < stretch.end; first += stride) {
      const int64_t end = std::min(first + options_.context_tokens, stretch.end);
      pieces_.push_back({first, end - first - 1, scored_to, true, first == stretch.begin});
      scored_to = end;
    }
  }

  void llama(const Stretch& stretch) {
    const int64_t window = options_.context_tokens;
    for (int64_t first = stretch.begin; first + window <= stretch.end; first += window)
      pieces_.push_back({first, window - 1, first + window / 2 + 1, true, true});
  }

  ProtocolOptions options_;
  std::vector<Piece> pieces_;
};

}  // namespace

Protocol protocol_from_name(const std::string& name) {
  if (name == "stream") return Protocol::stream;
  if (name == "windows") return Protocol::windows;
  if (name == "sliding") return Protocol::sliding;
  if (name == "llama") return Protocol::llama;
  fail("protocol", "stream, windows, sliding or llama", "'" + name + "'");
}

std::vector<Piece> cut_into_pieces(const TokenView& tokens, const ProtocolOptions& options) {
  if (options.context_tokens < 2) fail("context", "at least 2 tokens", std::to_string(options.context_tokens));
  if (options.stride_tokens > options.context_tokens)
    fail("stride", fmt::format("at most the context, {} tokens", options.context_tokens),
         std::to_string(options.stride_tokens));
  Cutter cutter(options);
  for (const auto& stretch : stretches_of(tokens, options.resets_at_documents)) cutter.cut(stretch);
  auto pieces = cutter.take();
  if (pieces.empty())
    fail("text",
         options.protocol == Protocol::llama ? fmt::format("at least {} tokens", options.context_tokens)
                                             : std::string("at least two tokens in a document"),
         std::to_string(tokens.size()), "too short for this protocol");
  return pieces;
}

}  // namespace fwl
