#include <gtest/gtest.h>

#include "support/error.h"
#include "template/chat_template.h"

namespace fwl {
namespace {

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

std::string outcome(std::string_view source) {
  try {
    return ChatTemplate("t", source, "", "").render({{"user", "Hi"}}, true).text();
  } catch (const UserError& error) {
    return error.what();
  }
}

constexpr auto too_many_steps = "t: line 1: expected at most 10000000 steps, got more; an endless loop?";

TEST(ChatTemplateLimits, SourcesAreAtMostAMegabyte) {
  EXPECT_EQ(outcome(std::string(1 << 20, 'x')).size(), size_t{1} << 20);
  EXPECT_EQ(outcome(std::string((1 << 20) + 1, 'x')),
            "t: line 1: expected a template of at most 1048576 bytes, got 1048577");
}

TEST(ChatTemplateLimits, SourcesNestSoFar) {
  const auto too_deep = "t: line 1: expected at most 100 levels of nesting, got more";
  using Ends = std::pair<const char*, const char*>;
  for (const auto& [open, close] : {Ends{"(", ")"}, Ends{"[", "]"}, Ends{"{'a':", "}"}, Ends{"a(", ")"},
                                    Ends{"a[", "]"}, Ends{"not ", ""}, Ends{"- ", ""}, Ends{"1 if 1 else ", ""}})
    EXPECT_EQ(outcome("{{ " + repeated(open, 80'000) + "1" + repeated(close, 80'000) + " }}"), too_deep) << open;
  EXPECT_EQ(outcome(repeated("{% if 1 %}", 90'000)), too_deep);
  EXPECT_EQ(outcome(repeated("{% for a in b %}", 60'000)), too_deep);
  EXPECT_EQ(outcome("{{ 1" + repeated("+1", 300'000) + " }}"),
            "t: line 1: expected an expression at most 200 levels deep, got a deeper one");
  EXPECT_EQ(outcome("{{ a" + repeated(".a", 300'000) + " }}"),
            "t: line 1: expected an expression at most 200 levels deep, got a deeper one");
  EXPECT_EQ(outcome("{{ 1" + repeated("+1", 150) + " }}"), "151");
  EXPECT_EQ(outcome("{{ " + repeated("(", 90) + "1" + repeated(")", 90) + " }}"), "1");
  EXPECT_EQ(outcome("{% if 0 %}" + repeated("{% elif 0 %}", 50'000) + "{% else %}last{% endif %}"), "last");
}

TEST(ChatTemplateLimits, RenderingEnds) {
  const std::string loops = "{% for a in range(99999) %}{% for b in range(99999) %}";
  EXPECT_EQ(outcome(loops + "{% endfor %}{% endfor %}"), too_many_steps);
  EXPECT_EQ(outcome("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
            "t: line 1: expected at most 400 levels of nesting, got more; a macro that calls itself endlessly?");
  EXPECT_EQ(outcome("{% set ns = namespace(s='x') %}{% for a in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"),
            too_many_steps);
  EXPECT_EQ(outcome("{{ ('x' * 50000000)|length }}"), too_many_steps);
  EXPECT_EQ(outcome("{% set x = 'x' * 1000000 %}{{ x|replace('x', x)|length }}"), too_many_steps);
  EXPECT_EQ(outcome("{{ range(99999)|map('replace', '1', 'x' * 100000)|join|length }}"), too_many_steps);
}

TEST(ChatTemplateLimits, SharedValuesCannotExplode) {
  const std::string doubling =
      "{% set ns = namespace(x=['x']) %}{% for a in range(60) %}{% set ns.x = [ns.x, ns.x] %}"
      "{% endfor %}";
  EXPECT_EQ(outcome(doubling + "{{ ns.x|length }}"), "2");
  EXPECT_EQ(outcome(doubling + "{{ ns.x }}"), too_many_steps);
  EXPECT_EQ(outcome(doubling + "{{ ns.x|tojson }}"), too_many_steps);
  EXPECT_EQ(outcome(doubling + "{% set o = [ns.x[0], ns.x[1]] %}{{ o == ns.x }}"), too_many_steps);
  EXPECT_EQ(outcome("{% set ns = namespace(x=[]) %}{% for a in range(99) %}{% set ns.x = [ns.x] %}{% endfor %}"),
            "t: line 1: expected lists nested at most 64 deep, got deeper nesting");
  EXPECT_EQ(outcome("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a.b.a == a }}{{ [a] }}"),
            "t: line 1: expected a value that can be printed, got a namespace");
}

TEST(ChatTemplateLimits, OutputIsAtMost64Megabytes) {
  const std::string million = "{% set x = 'x' * 1000000 %}";
  EXPECT_EQ(outcome(million + "{% for a in range(67) %}{{ x }}{% endfor %}").size(), 67'000'000U);
  EXPECT_EQ(outcome(million + "{% for a in range(68) %}{{ x }}{% endfor %}"),
            "t: line 1: expected an output of at most 67108864 bytes, got a longer one");
}

TEST(ChatTemplateLimits, SearchesTakeLinearTime) {
  const std::string setting = "{% set a = 'a' * 3000000 %}{% set b = 'a' * 1500000 + 'b' %}";
  EXPECT_EQ(outcome(setting + "{{ b in a }}{{ a.split(b)|length }}{{ a.replace(b, '')|length }}"), "False13000000");
}

}  // namespace
}  // namespace fwl
