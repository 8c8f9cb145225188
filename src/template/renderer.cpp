#include "template/renderer.h"

#include <fmt/format.h>

#include <utility>

#include "support/printable.h"
#include "template/print.h"

namespace fwl {
namespace {

// The value of `loop` in one iteration.
TemplateValue loop_state(TemplateMeter& meter, const TemplateValues& items, size_t round) {
  const auto index = static_cast<int64_t>(round), length = static_cast<int64_t>(items.size());
  return dict_value(meter, {{"index0", index},
                            {"index", index + 1},
                            {"first", index == 0},
                            {"last", index + 1 == length},
                            {"length", length},
                            {"revindex", length - index},
                            {"revindex0", length - index - 1},
                            {"previtem", index > 0 ? items[round - 1] : TemplateValue()},
                            {"nextitem", index + 1 < length ? items[round + 1] : TemplateValue()}});
}

}  // namespace

const TemplateValue* TemplateScope::find(std::string_view name) const {
  for (const auto* scope = this; scope; scope = scope->outer_)
    if (const auto found = scope->values_.find(name); found != scope->values_.end()) return &found->second;
  return nullptr;
}

MarkedText TemplateRenderer::render(const TemplateBlock& block) {
  return captured(block, globals_);
}

void TemplateRenderer::write(const MarkedText& text) {
  constexpr auto most = TemplateLimits::output_bytes;
  if (output_.size() + text.size() > most)
    meter_.fail(fmt::format("an output of at most {} bytes", most), "a longer one");
  meter_.spend_bytes(text.size());
  output_ += text;
}

MarkedText TemplateRenderer::captured(const TemplateBlock& block, TemplateScope& scope) {
  auto outer = std::exchange(output_, {});
  (void)run(block, scope);
  return std::exchange(output_, std::move(outer));
}

TemplateRenderer::Flow TemplateRenderer::run(const TemplateBlock& block, TemplateScope& scope) {
  const TemplateMeter::Level level(meter_);
  for (const auto& statement : block) {
    meter_.set_line(statement.line);
    meter_.spend(1);
    if (const auto flow = run(statement, scope); flow != Flow::next) return flow;
  }
  return Flow::next;
}

TemplateRenderer::Flow TemplateRenderer::run(const Statement& statement, TemplateScope& scope) {
  switch (statement.kind) {
    case Statement::Kind::text:
      write(MarkedText::all_markup(statement.text));
      break;
    case Statement::Kind::output:
      write(printed(meter_, evaluate(*statement.value, scope)));
      break;
    case Statement::Kind::condition:
      return run_condition(statement, scope);
    case Statement::Kind::loop:
      return run_loop(statement, scope);
    case Statement::Kind::assignment:
      assign(statement.target, evaluate(*statement.value, scope), scope);
      break;
    case Statement::Kind::capture:
      run_capture(statement, scope);
      break;
    case Statement::Kind::macro:
      scope.set(statement.macro->name, statement.macro.get());
      break;
    case Statement::Kind::scope: {
      TemplateScope inner(&scope);
      return run(statement.branches[0].body, inner);
    }
    case Statement::Kind::break_loop:
      return Flow::break_loop;
    case Statement::Kind::continue_loop:
      return Flow::continue_loop;
  }
  return Flow::next;
}

TemplateRenderer::Flow TemplateRenderer::run_condition(const Statement& statement, TemplateScope& scope) {
  for (const auto& [condition, body] : statement.branches)
    if (!condition || is_true(evaluate(*condition, scope))) return run(body, scope);
  return Flow::next;
}

TemplateValues TemplateRenderer::loop_items(const Statement& statement, TemplateScope& scope) {
  auto items = items_of(meter_, evaluate(*statement.value, scope));
  if (!statement.condition) return items;
  TemplateValues kept;
  for (auto& item : items) {
    TemplateScope inner(&scope);
    assign(statement.target, item, inner);
    if (is_true(evaluate(*statement.condition, inner))) kept.push_back(std::move(item));
  }
  return kept;
}

TemplateRenderer::Flow TemplateRenderer::run_loop(const Statement& statement, TemplateScope& scope) {
  const auto items = loop_items(statement, scope);
  for (size_t round = 0; round < items.size(); ++round) {
    TemplateScope inner(&scope);
    inner.set("loop", loop_state(meter_, items, round));
    assign(statement.target, items[round], inner);
    if (run(statement.branches[0].body, inner) == Flow::break_loop) return Flow::next;
  }
  if (!items.empty() || statement.branches.size() < 2) return Flow::next;
  TemplateScope inner(&scope);
  return run(statement.branches[1].body, inner);
}

void TemplateRenderer::run_capture(const Statement& statement, TemplateScope& scope) {
  TemplateScope inner(&scope), for_filters(&scope);
  for_filters.set(captured_text_name, text_value(captured(statement.branches[0].body, inner)));
  assign(statement.target, evaluate(*statement.value, for_filters), scope);
}

void TemplateRenderer::assign(const TemplateTarget& target, const TemplateValue& value, TemplateScope& scope) {
  if (!target.member.empty()) {
    const auto* found = scope.find(target.names[0]);
    const auto* space = found ? std::get_if<TemplateNamespace*>(found) : nullptr;
    if (!space)
      meter_.fail(fmt::format("a namespace '{}'", printable(target.names[0])), found ? kind_of(*found) : "undefined");
    (*space)->members[target.member] = value;
  } else if (!target.is_unpacked) {
    scope.set(target.names[0], value);
  } else {
    const auto items = items_of(meter_, value);
    if (items.size() != target.names.size())
      meter_.fail(fmt::format("{} values to unpack", target.names.size()), fmt::format("{}", items.size()));
    for (size_t i = 0; i < items.size(); ++i) scope.set(target.names[i], items[i]);
  }
}

}  // namespace fwl
