import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FormatError, OptionError } from "heed";
import {
  chatPrompt,
  generateText,
  locateShipped,
  modelFromFiles,
  modelToFiles,
  readModel,
} from "heed/models";
import { describe, expect, test } from "vitest";
import { renderTemplate } from "./render.ts";
import { type TemplateValue, templateValue } from "./values.ts";

interface Case {
  readonly name: string;
  readonly variables: Record<string, unknown>;
  readonly text?: string;
  readonly error?: string;
}
const file =
  process.env.HEED_CHAT_CASES ?? join(import.meta.dirname, "../../../tests/golden/chat/cases.json");
const { templates, cases } = JSON.parse(readFileSync(file, "utf8")) as {
  templates: Record<string, string>;
  cases: Case[];
};

const variablesOf = (fields: Record<string, unknown>) =>
  new Map<string, TemplateValue>(Object.entries(fields).map(([name, value]) => [name, templateValue(value)]));

test.each(cases.map((one, n) => [one.name, n, one] as const))(
  "%s, conversation %i: the text of jinja2, or an error where it has one",
  (_, __, one) => {
    const render = () => renderTemplate(templates[one.name], variablesOf(one.variables));
    if (one.error !== undefined) expect(render).toThrow(FormatError);
    else expect(render()).toBe(one.text);
  },
);

describe("a construct has the text of jinja2", () => {
  test.each([
    ["{% for x in [4, 5, 6] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.length }}{{ loop.first }}{{ loop.last }} {% endfor %}", "10323TrueFalse 21213FalseFalse 32103FalseTrue "],
    ["{% for x in 'abc' %}{{ loop.previtem }}-{{ loop.nextitem }} {% endfor %}", "-b a-c b- "],
    ["{% set a = 1 %}{% for x in [2, 3] %}{% set a = x %}{{ a }}{% endfor %}{{ a }}", "231"],
    ["{% set n = namespace(a=1) %}{% for x in [2, 3] %}{% set n.a = x %}{% endfor %}{{ n.a }}", "3"],
    ["{% if true %}{% set b = 2 %}{% endif %}{{ b }}", "2"],
    ["{% for x in [1, 2, 3, 4] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}", "13"],
    ["{% for x in [] %}a{% else %}none{% endfor %}", "none"],
    ["{% for k, v in {'a': 1, 'b': [2]}.items() if k != 'a' %}{{ k }}={{ v }}{% endfor %}", "b=[2]"],
    ["{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 * 3 + 1 }}", "-4 2 3.5 7"],
    ["{{ 'a,b,c,d'.split(',', 2) }}{{ ' a  b '.split() }}", "['a', 'b', 'c,d']['a', 'b']"],
    ["{{ {'a': [1, {'b': []}], 'c': none} | tojson(indent=2) }}", "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": null\n}"],
    ["{{ ['a', {'b': true}] | tojson }}", "[\"a\", {\"b\": true}]"],
    ["a {#- b -#}  c {# d #} e\n{# f #}\ng", "ac  e\ng"],
    ["  {%- if true -%}  x  {%- endif %}\n  y", "x  y"],
    ["{% macro m(a, b='z') %}{{ a }}{{ b }}{% endmacro %}{{ m('x') }}{{ m('x', 'y') }}{{ m(b='q', a='p') }}", "xzxypq"],
    ["{{ [1, 2, 3, 4][1:] }}{{ [1, 2, 3, 4][:-1] }}{{ [1, 2, 3, 4][::2] }}{{ 'abc'[::-1] }}{{ 'abc'[-1] }}", "[2, 3, 4][1, 2, 3][1, 3]cbac"],
    ["{{ 'x' if false }}|{{ 'x' if false else 'y' }}|{{ not true }}|{{ true and 'b' }}|{{ 0 or 'c' }}", "|y|False|b|c"],
    ["{{ none }}{{ true }}{{ 1.5 }}{{ ['it', \"it's\", none, false] }}{{ {'a': 'b'} }}", "NoneTrue1.5['it', \"it's\", None, False]{'a': 'b'}"],
    ["{{ '  x ' | trim }}|{{ 'xxaxx'.strip('x') }}|{{ 'xxa'.lstrip('x') }}|{{ 'axx'.rstrip('x') }}", "x|a|a|a"],
    ["{{ 'hello wORLD' | capitalize }} {{ 'hello wORLD' | title }} {{ 'aB' | upper }} {{ 'aB' | lower }}", "Hello world Hello World AB ab"],
    ["{{ [3, 1] | join('-') }} {{ ['a', 'b'] | first }} {{ ['a', 'b'] | last }} {{ 'abc' | length }} {{ 'abc' | reverse }}", "3-1 a b 3 cba"],
    ["{{ y | default('d') }} {{ '' | default('d') }} {{ '' | default('d', true) }}", "d  d"],
    ["{{ 'a\\nb\\n\\nc' | indent(2) }}|{{ 'a\\nb' | indent(2, true) }}", "a\n  b\n\n  c|  a\n  b"],
    ["{{ [{'a': 1}, {'a': 0}, {'b': 2}] | selectattr('a') | list }}{{ [{'a': 1}, {'a': 0}] | rejectattr('a') | list }}", "[{'a': 1}][{'a': 0}]"],
    ["{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'equalto', 2) | map(attribute='a') | list }}{{ ['a'] | map('upper') | list }}", "[2]['A']"],
    ["{{ 'a' in 'cat' }}{{ 1 in [2] }}{{ 'k' in {'k': 0} }}{{ 1 not in [1] }}", "TrueFalseTrueFalse"],
    ["{{ y is defined }}{{ 1 is odd }}{{ 2 is even }}{{ 's' is string }}{{ {} is mapping }}{{ none is none }}{{ [1] is iterable }}{{ 1 is not number }}{{ -3 is odd }}", "FalseTrueTrueTrueTrueTrueTrueFalseTrue"],
    ["{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith('ab') }}{{ 'abc'.find('c') }}{{ 'abab'.replace('a', 'c') }}{{ '-'.join(['a', 'b']) }}", "TrueFalse2cbcba-b"],
    ["{{ {'a': 1}.get('b', 2) }}{{ {'a': 1}.get('a') }}{{ {'a': 1}.keys() | list }}{{ {'a': 1}.values() | list }}", "21['a'][1]"],
    ["{{ range(3) | list }}{{ range(1, 7, 2) | list }}{{ range(3, 0, -1) | list }}", "[0, 1, 2][1, 3, 5][3, 2, 1]"],
    ["{{ 'a' ~ 1 ~ none }}{{ 'a' + 'b' }}{{ [1] + [2] }}{{ 'ab' * 2 }}{{ 'a' < 'b' }}{{ 1 <= 1 }}{{ '3' | int + 1 }}", "a1Noneab[1, 2]ababTrueTrue4"],
    ["{{ \"\\x41\\u0042\\t|\" }}{{ '\\\\' }}", "AB\t|\\"],
    ["{% set a, b = [1, 2] %}{{ a }}{{ b }}{% set t %}x{{ a }}{% endset %}{{ t }}", "12x1"],
    ["{{ [] | length }}{% if [] %}y{% else %}n{% endif %}{% if {} %}y{% elif 'x' %}e{% endif %}", "0ne"],
    ["{{ [1, [2, {'a': 3}]] == [1, [2, {'a': 3}]] }}{{ {'a': 1} != {'a': 1} }}", "TrueFalse"],
    ["{{ -3 is odd }}{{ -x | string }}{{ - 2 + 1 }}{{ --1 is odd }}{{ 5 - 2 is odd }}", "True-4-1True5"],
    ["{{ 3 > 2 > 1 }}{{ 1 < 3 < 2 }}{{ 1 == 1 == 2 }}{{ 1 < 2 in [2] }}{{ 1 not in [1] == false }}", "TrueFalseFalseTrueFalse"],
  ])("%s", (template, text) => {
    expect(renderTemplate(template, new Map([["x", 4]]))).toBe(text);
  }); // biome-ignore format: a row a construct
});

describe("a construct that heed does not have is refused by its name", () => {
  test.each([
    ["{% include 'x' %}", "{% include %} is not a statement"],
    ["{% import 'x' as y %}", "{% import %} is not a statement"],
    ["{{ x | pprint }}", "the filter pprint is not one heed has"],
    ["{{ x is callable }}", "the test callable is not one heed has"],
    ["{{ ''.__class__ }}{{ ''.__class__.mro() }}", "the attribute mro of an undefined value"],
    ["{{ messages.constructor('x') }}", "a call of constructor, which is not a function that heed has"],
    ["{{ cycler(1) }}", "a call of cycler"],
    ["{% for x in y recursive %}{% endfor %}", "a recursive for"],
    ["{{ 2 ** 3 }}", "was not expected"],
    ["{% if x %}", "there is no {% endif %}"],
    ["{% endif %}", "{% endif %} closes nothing"],
    ["{{ 'x }}", "a text does not end"],
    ["{{ x", "{{ does not end"],
    ["{{ 1 + 'x' }}", "+ of a number and a string"],
    ["{{ raise_exception('no system message') }}", "it refuses the messages: no system message"],
    [`{{ ${"(".repeat(100)}1${")".repeat(100)} }}`, "more than 64 levels"],
    [
      "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
      "more than 2000000 steps",
    ],
    ["{{ range(1000000) }}", "a range of 1000000"],
  ])("%s", (template, words) => {
    let error: unknown;
    try {
      renderTemplate(template, new Map([["messages", templateValue([])]]));
    } catch (one) {
      error = one;
    }
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toContain(words);
  });
});

test("templates with random changes render, or are refused by a typed error", () => {
  let state = 5;
  const draw = (n: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const parts = [
    "{%",
    "%}",
    "{{",
    "}}",
    "|",
    "(",
    ")",
    "[",
    "]",
    "'",
    ".",
    " in ",
    " if ",
    "-",
    "1",
    "x",
    "{#",
  ];
  const sources = Object.values(templates);
  for (let n = 0; n < Number(process.env.HEED_MUTATIONS ?? 500); n++) {
    let source = sources[draw(sources.length)];
    for (let i = 0; i < 3; i++) {
      const at = draw(source.length);
      source = source.slice(0, at) + parts[draw(parts.length)] + source.slice(at + draw(4));
    }
    try {
      renderTemplate(source, variablesOf(cases[draw(cases.length)].variables));
    } catch (error) {
      expect(error, source).toBeInstanceOf(FormatError);
    }
  }
});

describe("a model with a template", () => {
  const open = async (config: object) => {
    const { model, tokenizer } = await readModel(locateShipped("decoder"));
    const files = new Map(modelToFiles(model, tokenizer));
    return modelFromFiles(
      files.set("tokenizer_config.json", new TextEncoder().encode(JSON.stringify(config))),
    );
  };

  test("a conversation becomes a prompt, which generateText continues", async () => {
    const model = await open({
      chat_template:
        "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}{{ extra }}",
      bos_token: { content: "<|endoftext|>" },
    });
    const prompt = chatPrompt(model, [{ role: "user", content: "the whale" }], { variables: { extra: 1 } });
    expect(prompt).toBe("<|endoftext|>[user] the whale 1");
    const pieces = [...generateText(model, prompt, { addSpecialTokens: false, maxTokens: 3 })];
    expect(pieces.length).toBeGreaterThan(0);
  });

  test("one of several templates is the default one; without a template the error says so", async () => {
    const named = await open({
      chat_template: [
        { name: "tool_use", template: "t" },
        { name: "default", template: "d" },
      ],
    });
    expect(chatPrompt(named, [{ role: "user", content: "" }])).toBe("d");
    const plain = await open({});
    expect(() => chatPrompt(plain, [{ role: "user", content: "" }])).toThrow(OptionError);
    expect(() => chatPrompt(plain, [{ role: "user", content: "" }])).toThrow(/has no chat template/);
    expect(() => chatPrompt(named, [])).toThrow(/a list of messages/);
  });
});
