// Cuts a text into pieces to be read and scored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace fwl {

// stream: the whole text in order, every token scored once. windows: independent windows. sliding: overlapping windows,
// each token scored with at least `context - stride` tokens before it. llama: independent windows, of which the second
// half is scored, as in llama-perplexity.
enum class Protocol { stream, windows, sliding, llama };
Protocol protocol_from_name(const std::string& name);

struct ProtocolOptions {
  Protocol protocol = Protocol::stream;
  int64_t context_tokens = 2048;  // length of a window
  bool is_base_bounded = false;   // stream: the base restarts with every window, fast weights carry on
  int64_t segment_tokens = 0;     // maximal length of a piece within a window; 0: the window
  int64_t stride_tokens = 0;      // sliding; 0: half a window
  bool resets_at_documents = false;
};

// Inputs [first, first + count) predict targets [first + 1, first + count + 1). Targets from `first_scored` on are
// scored and update the fast weights.
struct Piece {
  int64_t first = 0, count = 0, first_scored = 0;
  bool resets_base = false, resets_fast = false;

  int64_t scored() const { return first + count + 1 - first_scored; }
};

// Throws a UserError if there is nothing to score.
std::vector<Piece> cut_into_pieces(const TokenView& tokens, const ProtocolOptions& options);

}  // namespace fwl
