// `fwl chat`: a conversation in the terminal, in the model's chat template, remembered by a session.
#include <fmt/format.h>

#include <optional>

#include "cli/commands.h"
#include "cli/line_reader.h"
#include "cli/session_input.h"
#include "files/fetch.h"
#include "files/memory_map.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/near_name.h"
#include "template/chat_template.h"

namespace fwl {
namespace {

constexpr const char* help_text =
    "/undo    undo the last turn\n"
    "/forget  clear the session and start a new conversation\n"
    "/save    save the session now (it is saved after every turn); /save FILE saves to FILE from now on\n"
    "/stats   tokens read, speed, and drift of the fast weights\n"
    "/exit    end the conversation (or press Ctrl-D)\n"
    "A line that ends with \\ continues on the next line. Ctrl-C stops an answer.\n";

struct Options {
  SessionInput input;
  GenerationOptions generation;
  std::string system, template_file;
  int64_t seed = 0;
};

void describe(Fields& fields, Options& options) {
  options.generation.max_tokens = 512;
  add_fields(fields, options.input);
  fields.add("system", options.system, "system message");
  fields.add("template", options.template_file, "chat template file, instead of the model's own");
  add_fields(fields, options.generation);
  fields.add("seed", options.seed, "random seed; a session that is continued keeps its own")
      .range(0, 1e15)
      .short_name("s");
}

// Empty if there is no data folder.
std::string history_path() {
  try {
    return default_data_folder() + "/chat_history";
  } catch (const UserError&) {
    return {};
  }
}

class Chat {
 public:
  Chat(Options& options, Console& console)
      : options_(options),
        console_(console),
        opened_(options.input, console),
        template_(open_template()),
        lines_(console.out(), history_path()) {
    options_.generation.adaptation = opened_.generating();
    if (is_fresh()) opened_.session().sampler.seed = options.seed;
  }

  // Returns the exit code.
  int run() {
    const bool is_continued = !is_fresh();
    console_.note(fmt::format("{}, with a {}. /help lists the commands.",
                              is_continued ? "Continuing the conversation" : "A new conversation",
                              opened_.context_text()));
    for (auto line = next_line(); line; line = next_line()) {
      if (line->empty()) continue;
      try {
        if (line->front() != '/')
          answer(*line);
        else if (!run_command(*line))
          break;
      } catch (const UserError& error) {  // the conversation goes on
        console_.error(error.what());
        has_failed_ = true;
      }
    }
    opened_.save();
    return has_failed_ ? 1 : 0;
  }

 private:
  bool is_fresh() { return opened_.session().tokens_read() == 0; }

  ChatTemplate open_template() const {
    const auto& known = opened_.conventions();
    const bool is_given = !options_.template_file.empty();
    const std::string source = is_given ? std::string(MemoryMap(options_.template_file).text()) : known.chat_template;
    if (source.empty())
      fail(options_.input.model, "a model with a chat template", "one without",
           "not made for conversations; try fwl generate, or --template FILE");
    return {is_given ? options_.template_file : options_.input.model + ": chat template", source, known.begin_text,
            known.end_text};
  }

  std::optional<std::string> next_line() {
    std::string text;
    for (auto line = lines_.next("> "); line; line = lines_.next("")) {
      const bool goes_on = !line->empty() && line->back() == '\\';
      if (goes_on) line->back() = '\n';
      text += *line;
      if (!goes_on) return text;
    }
    console_.out() << '\n';
    return std::nullopt;
  }

  // The text that the session reads before it answers. After the first turn, this is the part of the rendered template
  // that follows the previous answer, without the end token if the answer was read with it.
  MarkedText turn(const std::string& question) {
    if (is_fresh()) {
      std::vector<ChatMessage> messages;
      if (!options_.system.empty()) messages.push_back({"system", options_.system});
      messages.push_back({"user", question});
      return template_.render(messages, true);
    }
    const std::string answered = "[the answer so far]";
    const auto all = template_.render({{"user", "[a question]"}, {"assistant", answered}, {"user", question}}, true);
    const std::string_view text = all.text();
    const auto position = text.find(answered);
    if (position == std::string::npos)
      fail(options_.input.model + ": chat template", "one that renders assistant messages", "one that omits them");
    auto rest = text.substr(position + answered.size());
    const auto& recent = opened_.session().sampler.recent;
    if (!recent.empty()) rest = opened_.tokenizer().without_end(rest, static_cast<TokenId>(recent.back()));
    return all.part(rest);
  }

  // Everything that was said is in the session file when this ends, also after Ctrl-C, a signal or an error.
  void answer(const std::string& question) {
    const auto text = turn(question);
    before_turn_ = opened_.session().clone();
    const InterruptScope interrupts;
    try {
      auto generator = opened_.generator();
      prompt_ = generator.read(opened_.tokenizer().encode(text), opened_.reading(), console_.progress("read"));
      warn_of_rollbacks(prompt_.rollbacks, console_);
      opened_.save();
      answer_ = generator.generate(options_.generation,
                                   [&](std::string_view part) { console_.text_out() << part << std::flush; });
    } catch (const Interrupted& interrupt) {
      console_.out() << '\n' << std::flush;
      opened_.save();
      if (interrupt.signal() == SIGINT) return;  // the partial answer stays, and the conversation goes on
      throw;
    } catch (const UserError&) {
      opened_.session() = std::move(*before_turn_);
      before_turn_.reset();
      throw;
    }
    console_.text_out() << '\n' << std::flush;
    warn_of_rollbacks(answer_.has_diverged, console_);
    opened_.save();
  }

  // Returns false to end the conversation.
  bool run_command(const std::string& line) {
    const auto space = line.find(' ');
    const auto command = line.substr(0, space);
    const auto argument = space == std::string::npos ? "" : line.substr(space + 1);
    if (command == "/exit" || command == "/quit") return false;
    if (command == "/undo") {
      console_.note(before_turn_ ? "The last turn is undone." : "There is no turn to undo.");
      if (before_turn_) opened_.session() = std::move(*before_turn_);
      before_turn_.reset();
      opened_.save();
    } else if (command == "/forget") {
      const auto seed = opened_.session().sampler.seed;
      opened_.session() = opened_.model().new_session(1, opened_.session().base.context);
      opened_.session().sampler.seed = seed;
      before_turn_.reset();
      opened_.save();
      console_.note("The session is cleared.");
    } else if (command == "/save") {
      save_to(argument);
      console_.note(opened_.path().empty() ? "No session file yet: use /save FILE."
                                           : "Saved to " + opened_.path() + ".");
    } else if (command == "/stats") {
      show_stats();
    } else if (command == "/help") {
      console_.note(help_text);
    } else {
      const auto hint = did_you_mean(command, {"/undo", "/forget", "/save", "/stats", "/help", "/exit"});
      console_.note(fmt::format("{}: unknown command; {}", command, hint.empty() ? "/help lists all" : hint));
    }
    return true;
  }

  // A path that cannot be written changes nothing: the session is still saved where it was.
  void save_to(const std::string& path) {
    const auto before = opened_.path();
    try {
      if (!path.empty()) opened_.set_path(path);
      opened_.save();
    } catch (const UserError&) {
      opened_.set_path(before);
      throw;
    }
  }

  void show_stats() {
    const auto& session = opened_.session();
    console_.note(fmt::format("session: {} tokens read, {} of memory", session.tokens_read(),
                              format_amount(static_cast<double>(session.bytes()), "bytes")));
    const auto speed = [](size_t tokens, double seconds) {
      return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
    };
    if (!answer_.tokens.empty())
      console_.note(fmt::format("last turn: prompt of {} tokens at {:.1f} tok/s, answer of {} tokens at {:.1f} tok/s",
                                prompt_.read_tokens, speed(static_cast<size_t>(prompt_.read_tokens), prompt_.seconds),
                                answer_.tokens.size(), speed(answer_.tokens.size(), answer_.seconds)));
    std::string drift;
    for (const auto& figure : opened_.model().drift(session))
      drift += fmt::format(" {} {:.2f} %", figure.weight, 100 * figure.drift);
    if (!drift.empty()) console_.note("drift of the fast weights:" + drift);
  }

  Options& options_;
  Console& console_;
  OpenedSession opened_;
  ChatTemplate template_;
  LineReader lines_;
  std::optional<Session> before_turn_;
  bool has_failed_ = false;
  ReadingLoss prompt_;  // of the last turn
  Generation answer_;
};

int run(Options& options, Console& console) {
  return Chat(options, console).run();
}

}  // namespace

Command chat_command() {
  return make_command<Options>("chat", "talk with a model that remembers and learns",
                               "examples:\n"
                               "  fwl chat --model smollm2.gguf --session me.session\n"
                               "  fwl chat --model smollm2.gguf --system \"You answer in one sentence.\"",
                               describe, run);
}

}  // namespace fwl
