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
