/** The strings of the Lab as a catalog: what is text, what is not, and the code with a translation. */
import { expect, it } from "vitest";
import { labStrings, translated } from "../../tools/build/lab-strings.mjs";

const CODE = `
const KEYS = ["dot", "scaled"];
const NAMES = /* text */ ["dot", "scaled"] as const;
export const page = {
  title: "Two banks",
  view: oneOf(["plot", "bars"]),
  text: (n: number) => html\`<p class="a b">\${n} of <b>\${n === 1 ? "one word" : html\`all \${n} words\`}</b> look</p>\`,
  mark: (x: number) => text(x, 0, "query", { class: "mid bold s12" }),
  code: { typescript: () => "const a = softmax(b);" },
};`;

it("templates and labels are translated, values in another order, and names of states, styles and code stay", () => {
  const catalog = {
    "Two banks": "Zwei Ufer",
    '<p class="a b">{0} of <b>{1}</b> look</p>': '<p class="a b"><b>{1}</b> schauen, von {0}</p>',
    "one word": "ein Wort",
    "all {0} words": "alle {0} Wörter",
    query: "Frage",
    dot: "Punkt",
    scaled: "",
    plot: "never",
    "mid bold s12": "never",
    "const a = softmax(b);": "never",
  };
  const code = translated(CODE, catalog);
  expect(code).toContain('title: "Zwei Ufer"');
  expect(code).toMatch(
    /<b>\$\{n === 1 \? "ein Wort" : html`alle \$\{n\} Wörter`\}<\/b> schauen, von \$\{n\}<\/p>/,
  );
  expect(code).toContain('text(x, 0, "Frage", { class: "mid bold s12" })');
  expect(code).toContain('KEYS = ["dot", "scaled"]');
  expect(code).toContain('NAMES = /* text */ ["Punkt", "scaled"]');
  expect(code).not.toContain("never");
});

it("a translation that lacks a value or has one that the text has not is refused", () => {
  const of = (text: string) => () =>
    translated(["const a = html`<p>$", "{b} and $", "{c}</p>`;"].join(""), { "<p>{0} and {1}</p>": text });
  expect(of("<p>{1} und {0}</p>")()).toMatch(/html`<p>\$\{c\} und \$\{b\}<\/p>`;/);
  expect(of("<p>{0}</p>")).toThrow(/all 2 values/);
  expect(of("<p>{0} {1} {2}</p>")).toThrow(/no value \{2\}/);
});

it("the catalog has the titles, steps and pictures of all pages once", () => {
  const strings = labStrings();
  expect(new Set(strings).size).toBe(strings.length);
  expect(strings.length).toBeGreaterThan(1000);
  for (const text of ["Two banks", "What a word becomes", "heed refuses:", "not yet", "{0} · The Lab"])
    expect(strings).toContain(text);
});
