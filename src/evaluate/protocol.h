// How a text is cut into pieces to be read and scored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/token_file.h"

namespace fwl {

// stream: one text read on and on, every token scored once. windows: independent windows. sliding: windows that
// overlap, each token scored with at least `context - stride` tokens before it. llama: independent windows of which the
// second half is scored, as llama-perplexity does.
enum class Protocol { stream, windows, sliding, llama };
Protocol protocol_from_name(const std::string& name);

struct ProtocolOptions {
  Protocol protocol = Protocol::stream;
  int64_t context_tokens = 2048;  // length of a window
  bool is_base_bounded = false;   // stream: the base starts anew with every window, the fast weights go on
  int64_t segment_tokens = 0;     // pieces within a window are no longer than this; 0: as long as the window
  int64_t stride_tokens = 0;      // sliding; 0: half a window
  bool resets_at_documents = false;
};

// Inputs [first, first + count) predict targets [first + 1, first + count + 1), of which those from `first_scored` on
// are scored and move the fast weights.
struct Piece {
  int64_t first = 0, count = 0, first_scored = 0;
  bool resets_base = false, resets_fast = false;

  int64_t scored() const { return first + count + 1 - first_scored; }
};

// Throws UserError where there is nothing to score.
std::vector<Piece> cut_into_pieces(const TokenView& tokens, const ProtocolOptions& options);

}  // namespace fwl
