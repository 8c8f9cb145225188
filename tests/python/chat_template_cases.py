"""Small templates for comparisons with the peer, separated by ¦ where they are many."""


def cases(text):
    return [case for line in text.strip().splitlines() for case in line.split(" ¦ ")]


OPERATORS = cases(r"""
1 + 2 * 3 - 4 // 3 % 2 ¦ 7 / 2 ¦ -7 // 2 ¦ -7 % 3 ¦ 7 % -3 ¦ 7.5 // 2 ¦ -7.5 % 2 ¦ 2 * 1.5 ¦ 1e3 ¦ 1.5e-7 ¦ 1e16
0.1 + 0.2 ¦ 1 == 1.0 ¦ true == 1 ¦ 'a' < 'b' ¦ 1 < 2 < 3 ¦ 1 < 3 < 2 ¦ 2 >= 2 ¦ 'a' != 'b' ¦ [1, 2] == [1, 2]
[1] == (1,) ¦ {'a': 1} == {'a': 1.0} ¦ 'a' in 'cat' ¦ 'z' not in 'cat' ¦ 2 in [1, 2] ¦ 'k' in {'k': 1}
'x' in undefined_name ¦ none in [none] ¦ '' in '' ¦ true and 'yes' ¦ false or 'no' ¦ not '' ¦ not not 0
'a' and '' or 'c' ¦ 1 if false ¦ 'b' if false else 'c' if false else 'd' ¦ [1, 'two', none, true, 1.0, [], {}] ¦ (1, 2)
(1,) ¦ () ¦ {'a': "it's", 'b': '"'} ¦ ['\n\t\\', 'é\u200b\x01', "'\""] ¦ 'abcdef'[1] ¦ 'abcdef'[-1] ¦ 'äöü日本'[1:3]
'abcdef'[::-1] ¦ 'abcdef'[4:1:-2] ¦ 'abc'[10:] ¦ 'abc'[-10:2] ¦ [1,2,3,4][::2] ¦ [1,2,3][-2:] ¦ (1,2,3)[1:] ¦ [1,2][5]
'abc'[7] ¦ {'a': {'b': [1, {'c': 'deep'}]}}.a.b[1].c ¦ {'a': 1}['b'] ¦ {'a': 1}.get('b', 'c') ¦ {'a': 1}.get('a')
none.x ¦ [[5]].0.0 ¦ 'a' ~ 1 ~ none ~ true ~ [1] ¦ 'ab' * 3 ¦ 2 * 'ab' ¦ [1] + [2] ¦ 'con' 'cat' ¦ 'a' + 'b' * 2 ¦ -3
+3 ¦ - -3 ¦ -(messages|length) ¦ '  x y '.strip() ~ '|' ¦ ' x '.lstrip() ~ '|' ¦ ' x '.rstrip() ~ '|'
'xxaxx'.strip('x') ¦ 'äbä'.strip('ä') ¦ 'a,b,,c'.split(',') ¦ ' a  b '.split() ¦ 'a b c'.split(' ', 1)
' a b  c '.split(none, 1) ¦ 'abc'.startswith('ab') ¦ 'abc'.endswith('bc') ¦ 'abc'.startswith(('x', 'a')) ¦ 'abc'.upper()
'ÀÉ'.lower() ¦ "they're bill's".title() ¦ 'aXbX'.replace('X', '--') ¦ 'aaa'.replace('a', 'b', 2) ¦ '-'.join(['a', 'b'])
'hELLO'.capitalize() ¦ {'a': 1, 'b': 2}.items()|list ¦ {'b': 1, 'a': 2}.keys()|list ¦ {'b': 1, 'a': [2]}.values()|list
""")

FILTERS = cases(r"""
' a '|trim ¦ 'xax'|trim('x') ¦ [1,2]|length ¦ 'äö'|count ¦ {'a': 1}|length ¦ missing|length ¦ 'ab'|upper ¦ 'AB'|lower
'hello wORLD-foo (bar) [baz]'|title ¦ 'hELLO wORLD'|capitalize ¦ [1,'b',none]|join('-') ¦ 'abc'|join('.')
messages|join(', ', attribute='role') ¦ [3,4]|first ¦ [3,4]|last ¦ 'xyz'|first ¦ []|first ¦ missing|default('d')
''|default('d') ¦ ''|default('d', true) ¦ none|d('x', boolean=true) ¦ {'a': [1, 2.0, none, true, 'é\n"']}|tojson
{'a': [1, {'b': []}], 'c': {}}|tojson(indent=2) ¦ []|tojson(indent=4) ¦ '<&>'|tojson ¦ 'a-b-c'|replace('-', '+')
'a-b-c'|replace('-', '+', 1) ¦ 42|string ~ 'x' ¦ '42'|int + 1 ¦ '4.7'|int ¦ 'x'|int ¦ 'x'|int(5) ¦ 3.9|int ¦ '2.5'|float
'abc'|list ¦ {'a': 1}|list ¦ {'a': 1, 'b': 2}|items|list ¦ messages|map(attribute='role')|list
['a','b']|map('upper')|join ¦ [1,2,3]|select('odd')|list ¦ [1,2,3]|reject('odd')|list ¦ [0,1,'']|select|list
messages|selectattr('role', 'equalto', 'user')|list|length
messages|rejectattr('role', 'eq', 'user')|map(attribute='content')|list ¦ [{'x': 1}, {}]|selectattr('x')|list
[{'x': 1}, {}]|selectattr('x', 'defined')|list ¦ [1,2,3]|reverse|list ¦ 'abc'|reverse ¦ 'a'|safe ¦ range(3)|list
range(1, 4)|list ¦ range(5, 0, -2)|list ¦ dict(a=1, b='x') ¦ namespace(a=1).a ¦ strftime_now('%Y-%m-%d')
-5|string|length ¦ 'a' + ' b '|trim + 'c' ¦ ['b', 'a']|join|upper ~ '!' ¦ messages[0]['content']|length
""")

TESTS = cases(r"""
2 is even ¦ 2.5 is odd ¦ 3 is odd ¦ 2 is odd ¦ 9 is divisibleby 3 ¦ 9 is divisibleby(2) ¦ 1 is eq 1 ¦ 1 is in [1, 2]
3 is lt 4 ¦ 'abc' is lower ¦ 'ABC' is upper ¦ 'a1' is lower ¦ '1' is lower ¦ not 1 is none and true
1 is number and 'a' is string
""") + [f"{subject} is {test}" for test in cases("""
defined ¦ not defined ¦ undefined ¦ none ¦ not none ¦ string ¦ mapping ¦ iterable ¦ sequence ¦ boolean ¦ true ¦ false
number ¦ integer ¦ float
""") for subject in cases("""
missing ¦ none ¦ 'text' ¦ {'a': 1} ¦ [1] ¦ (1, 2) ¦ true ¦ false ¦ 0 ¦ 1 ¦ 1.0 ¦ messages ¦ messages[0]
""")]

EXPRESSIONS = OPERATORS + FILTERS + TESTS

STATEMENTS = [
    "{% for i in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}"
    "{{ loop.length }}{{ loop.revindex }}"
    "{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem }}{{ ', ' if not loop.last }}{% endfor %}",
    "{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}={{ b }};{% endfor %}",
    "{% for a, b in [[1, 2], (3, 4)] %}{{ a }}={{ b }};{% endfor %}",
    "{% for i in range(6) if i is odd %}{{ i }}/{{ loop.length }} {% else %}none{% endfor %}",
    "{% for i in [] %}{{ i }}{% else %}none{% endfor %}{% for i in missing %}x{% else %}nothing{% endfor %}",
    "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}"
    "{{ i }}{% endfor %}",
    "{% for c in 'äb' %}[{{ c }}]{% endfor %}{% for k in {'p': 1} %}{{ k }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = i + 5 %}{{ x }}{% endfor %}{{ x }}",
    "{% for i in [1, 2] %}{{ y }}{% set y = i %}{% endfor %}{{ y is defined }}",
    "{{ range is defined }}{{ strftime_now is undefined }}{{ raise_exception is callable }}",
    "{% if strftime_now is defined %}{% set date = strftime_now('%Y') %}{% else %}{% set date = 'never' %}{% endif %}{{ date }}",
    "{% set range = 3 %}{{ range + 1 }}",
    "{% if true %}{% set z = 'kept' %}{% endif %}{{ z }}",
    "{% set ns = namespace(n=0, seen=[]) %}{% for i in [3, 4] %}{% set ns.n = ns.n + i %}"
    "{% set ns.seen = ns.seen + [i] %}{% endfor %}"
    "{{ ns.n }}{{ ns.seen }}{{ ns.missing is defined }}",
    "{% set a, b = 1, 'two' %}{{ a }}{{ b }}{% set t = 1, 2 %}{{ t }}{{ a, b }}",
    "{% set text %}  a{{ 1 + 1 }}\n{% endset %}[{{ text }}]{% set loud | trim | upper %} abc {% endset %}[{{ loud }}]",
    "{% set inner %}{% set hidden = 1 %}{{ hidden }}{% endset %}{{ inner }}{{ hidden is defined }}",
    "{% macro m(a, b='B', c=a) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(a=3, c=4) }}{{ m() }}",
    "{% macro down(n) %}{{ n }}{% if n > 0 %}{{ down(n - 1) }}{% endif %}{% endmacro %}{{ down(5) }}",
    "{% set shared = 'before' %}{% macro show() %}{{ shared }}{% endmacro %}{% set shared = 'after' %}{{ show() }}",
    "{% for i in [1, 2] %}{% for j in [3, 4] %}{{ i }}{{ j }}{{ loop.first }}{% endfor %}{{ loop.last }}{% endfor %}",
    "{% for i in [1, 2] %}{% set outer = loop %}{% for j in [1] %}{{ outer.index }}{{ loop.index }}"
    "{% endfor %}{% endfor %}",
    "{% if 0 %}a{% elif '' %}b{% elif [0] %}c{% else %}d{% endif %}{% if missing %}e{% endif %}",
    "{% raw %}{{ not }} {% evaluated %}{% endraw %} {%- raw -%} a {%- endraw -%} b",
    "{{ {'a': {'b': 1}} }}{{ {'a': {}}.a }}{{ '%}' }}{{ \"}}\" }}{# {{ nothing }} #}",
    "{% for m in messages[::-1] %}{{ m.role }}{{ m['content']|trim }}{% endfor %}",
    "{% if messages[0]['role'] == 'system' and messages|length > 1 and not (messages[1].content == '') %}yes"
    "{% endif %}",
    "a\r\nb\rc\n{{ 'x\r\ny' }}\n\n", "{{ missing }}|{{ none }}|{{ true }}|{{ messages[9] }}|{{ messages[0].absent }}",
    "{{ '\\x41\\u00e9\\U0001F642\\'\\q' }}{{ 'a\\\nb' }}", "{ { a } } {{ '{{' }} {", "",
]

FAILING = cases(r"""
{{ missing.attribute }} ¦ {{ missing['item'] }} ¦ {{ 'a' + 1 }} ¦ {{ 1 + none }} ¦ {{ 'a' + missing }} ¦ {{ missing() }}
{{ 1 // 0 }} ¦ {{ 'a' < 1 }} ¦ {{ 5|length }} ¦ {{ 1|unknown }} ¦ {{ 1 is unknown }} ¦ {% for i in 5 %}{% endfor %}
{% for a, b in [[1]] %}{% endfor %} ¦ {% set x.y = 1 %} ¦ {% if %}{% endif %} ¦ {% if true %} ¦ {% endif %}
{% unknown %} ¦ {{ 'a }} ¦ {{ (1 }} ¦ {{ 1) }} ¦ {{ }} ¦ {# a ¦ {% raw %} a ¦ {{ 1 ¦ {{ a b }} ¦ {% for %}{% endfor %}
{% break %} ¦ {% macro m(a) %}{% endmacro %}{{ m(1, 2) }} ¦ {{ 'abc'.unknown() }} ¦ {{ messages.append(1) }}
{{ range(1000000) }} ¦ {{ [1][::0] }} ¦ {{ ''.split('') }} ¦ {{ missing|tojson }} ¦ {{ missing|int }} ¦ {{ 5 in 5 }}
{{ 5 in '5' }}
""")
