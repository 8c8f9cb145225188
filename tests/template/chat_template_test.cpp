#include "template/chat_template.h"

#include <gtest/gtest.h>

#include "support/error.h"
#include "template/chat_template_samples.h"

namespace fwl {
namespace {

const std::vector<ChatMessage> one = {{"user", " Hi "}};
const std::vector<ChatMessage> turns = {{"user", "a"}, {"assistant", " b "}, {"user", "c"}};
const std::vector<ChatMessage> system_first = {{"system", "S"}, {"user", "a"}};

std::string rendered(std::string_view source, const std::vector<ChatMessage>& messages = one, bool prompt = true) {
  return ChatTemplate("t", source, "<s>", "</s>").render(messages, prompt).text();
}

std::string error_of(std::string_view source, const std::vector<ChatMessage>& messages = one) {
  try {
    return "no error: " + rendered(source, messages);
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(ChatTemplate, ChatMlAddsADefaultSystemPrompt) {
  EXPECT_EQ(rendered(chatml_template, one),
            "<|im_start|>system\nYou are helpful<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(rendered(chatml_template, system_first, false),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n");
}

TEST(ChatTemplate, Llama2PutsTheSystemPromptIntoTheFirstMessage) {
  EXPECT_EQ(rendered(llama2_template, turns), "<s>[INST] a [/INST] b </s><s>[INST] c [/INST]");
  EXPECT_EQ(rendered(llama2_template, system_first), "<s>[INST] <<SYS>>\nS\n<</SYS>>\n\na [/INST]");
}

TEST(ChatTemplate, Llama3TrimsMessages) {
  EXPECT_EQ(
      rendered(llama3_template, one),
      "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST(ChatTemplate, MistralCountsTurnsInANamespace) {
  EXPECT_EQ(rendered(mistral_template, turns), "<s>[INST] a[/INST] b</s>[INST] c[/INST]");
  EXPECT_EQ(error_of(mistral_template, {{"assistant", "a"}}), "t: line 5: the template says: roles must alternate");
}

TEST(ChatTemplate, ZephyrEndsTheLineAfterAnOutput) {
  EXPECT_EQ(rendered(zephyr_template, system_first), "<|system|>\nS</s>\n<|user|>\na</s>\n<|assistant|>\n");
}

TEST(ChatTemplate, GemmaRenamesTheAssistantAndRefusesSystemPrompts) {
  EXPECT_EQ(rendered(gemma_template, turns),
            "<s><start_of_turn>user\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"
            "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(error_of(gemma_template, system_first), "t: line 1: the template says: System role not supported");
}

TEST(ChatTemplate, Phi3EndsWithTheEndTokenWithoutAPrompt) {
  EXPECT_EQ(rendered(phi3_template, one), "<|user|>\n Hi <|end|>\n<|assistant|>\n");
  EXPECT_EQ(rendered(phi3_template, one, false), "<|user|>\n Hi <|end|>\n</s>");
}

TEST(ChatTemplate, ToolsAreNone) {
  EXPECT_EQ(rendered("{{ tools is defined }}{{ tools is none }}{% if tools %}{{ tools|unheard_of }}{% endif %}"),
            "TrueTrue");
}

TEST(ChatTemplate, GenerationMarksAreLeftOut) {
  EXPECT_EQ(rendered("{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x is defined }}"), "1False");
}

TEST(ChatTemplate, WhatAMessageSaysIsNotATemplate) {
  EXPECT_EQ(rendered("{{ messages[0].content }}", {{"user", "{{ 1 }}{% if %}"}}), "{{ 1 }}{% if %}");
}

TEST(ChatTemplate, BrokenUtf8PassesThrough) {
  const std::string broken = "a\xFF\xC3";
  EXPECT_EQ(rendered("{{ messages[0].content|trim }}", {{"user", broken}}), broken);
  EXPECT_EQ(rendered("{{ messages[0].content|length }}{{ messages[0].content[::-1] }}", {{"user", broken}}),
            "3\xC3\xFF"
            "a");
}

TEST(ChatTemplate, TheSameTemplateRendersTwice) {
  const ChatTemplate chat("t", "{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}", "", "");
  EXPECT_EQ(chat.render(one, true).text(), "1");
  EXPECT_EQ(chat.render(one, true).text(), "1");
}

TEST(ChatTemplate, WhatIsNotUnderstoodIsOneLineWithItsPlace) {
  EXPECT_EQ(error_of("\n\n{% include 'x' %}"),
            "t: line 3: expected if, for, set, macro, generation, break or continue, got 'include'");
  EXPECT_EQ(error_of("{% if true %}\n{{ 1 }}\n"), "t: line 2: expected {% endif %}, got the end of the template");
  EXPECT_EQ(error_of("a\n{{ 'b }}"), "t: line 2: expected a closing quote, got the end of the template");
  EXPECT_EQ(error_of("{{ (1] }}"), "t: line 1: expected ')', got ']'");
  EXPECT_EQ(error_of("{{ 1 2 }}"), "t: line 1: expected }}, got '2'");
  EXPECT_EQ(error_of("{{ a ? b }}"), "t: line 1: expected a name, a number, a string or an operator, got '?'");
  EXPECT_EQ(error_of("{{ 99999999999999999999 }}"), "t: line 1: expected a 64-bit number, got '99999999999999999999'");
  EXPECT_EQ(error_of("\n{# a"), "t: line 2: expected #} after {#, got the end of the template");
}

TEST(ChatTemplate, WhatGoesWrongInRenderingIsOneLineWithItsPlace) {
  EXPECT_EQ(error_of("\n{{ message.role }}"), "t: line 2: expected a value of 'message', got undefined");
  EXPECT_EQ(error_of("{{ 'a' +\n 1 }}"), "t: line 1: expected operands that + supports, got a string and an integer");
  EXPECT_EQ(error_of("{{ 1|frob }}"), "t: line 1: expected a known filter, got 'frob'");
  EXPECT_EQ(error_of("{{ 1 is frob }}"), "t: line 1: expected a known test, got 'frob'");
  EXPECT_EQ(error_of("{{ frob(1) }}"), "t: line 1: expected a known function, got 'frob'");
  EXPECT_EQ(error_of("{{ 'a'.frob() }}"), "t: line 1: expected a known method of a string, got 'frob'");
  EXPECT_EQ(error_of("{{ 'a'|trim(frob=1) }}"), "t: line 1: expected an argument of trim, got 'frob'");
  EXPECT_EQ(error_of("{{ 1 % 0 }}"), "t: line 1: expected a divisor, got 0");
  EXPECT_EQ(error_of("{{ 9223372036854775807 + 1 }}"), "t: line 1: expected a 64-bit number, got a larger one");
  EXPECT_EQ(error_of("{{ raise_exception('a\nb') }}"), "t: line 1: the template says: a\\nb");
}

}  // namespace
}  // namespace fwl
