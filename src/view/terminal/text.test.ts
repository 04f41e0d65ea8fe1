import { expect, test } from "vitest";
import { storeFrom } from "../../store/layout/from.ts";
import { contrastOf } from "../../store/measures/contrast.ts";
import { sampleBundle } from "../../store/sample.ts";
import { widthOf } from "../../store/text/label.ts";
import { renderSimilarity } from "./similarity.ts";
import { explainLink, renderText } from "./text.ts";

const store = storeFrom(sampleBundle("causal"));
const draw = async (options: object = {}) => (await renderText(store, "the cat sat", options)).join("\n");

/** A store of the sample's heads over these tokens. */
const over = (tokens: string[]) => storeFrom(sampleBundle("causal", { tokens }));

test("a summary has one head, links, heads that stand out, and one weight step by step", async () => {
  const page = await draw();
  expect(page.match(/^layer \d, head \d/gm)?.length).toBe(1);
  for (const part of ["strongest links", "heads that stand out", "÷\u00a0√d_k", "--all prints all 8 heads"])
    expect(page).toContain(part);
});

test("with all, every layer and head is shown, and no line is wider than the terminal", async () => {
  for (const columns of [40, 80, 133]) {
    const page = await draw({ columns, all: true });
    expect(page.match(/^layer \d/gm)).toEqual(["layer 0", "layer 1"]);
    expect(page.match(/^L\d H\d/gm)!.length).toBe(8);
    for (const line of page.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  }
});

test("a summary lists links above chance only, and says where there is none", async () => {
  const tokens = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const n = tokens.length;
  /** Even attention, but for the cells of `links`, which have 0.93. */
  const linksOf = async (links: readonly (readonly [number, number])[]) => {
    const data = new Float32Array(n * n).fill(1 / n);
    for (const [query, key] of links) {
      data.fill(0.01, query * n, (query + 1) * n);
      data[query * n + key] = 0.93;
    }
    const heads = storeFrom({ blocks: [{ tokens, layers: [{ weights: { data, shape: [1, n, n] } }] }] });
    const lines = await renderText(heads, "a b c d", { columns: 200 });
    return lines.slice(lines.findIndex((line) => line.startsWith("strongest links")));
  };
  const none = await linksOf([]);
  expect(none.slice(0, 3)).toEqual([
    "strongest links  none is above those of random heads",
    "",
    expect.any(String),
  ]);
  const far = await linksOf([[5, 2]]);
  expect(far[0]).toMatch(/^strongest links {2}between tokens that are not neighbors, /);
  expect(far.slice(1, 3)).toEqual([expect.stringMatching(/^f → c {2}0\.93 {2}contrast/), ""]);
  // Neighbors are listed where no link over a distance is above chance.
  const near = await linksOf([[5, 4]]);
  expect(near[0]).toMatch(/^strongest links {2}between tokens, /);
  expect(near.slice(1, 3)).toEqual([expect.stringMatching(/^f → e {2}0\.93 {2}contrast/), ""]);
});

test("head numbers of two digits keep the columns aligned", async () => {
  const n = 4;
  const weights = { data: new Float32Array(12 * n * n).fill(1 / n), shape: [12, n, n] };
  const many = storeFrom({ blocks: [{ tokens: ["a", "b", "c", "d"], layers: [{ weights }] }] });
  const lines = (await renderText(many, "a b c d", { all: true })).filter((line) => /^L0 H\d+ /.test(line));
  expect(lines.length).toBe(12);
  expect(new Set(lines.map((line) => line.indexOf("1.39"))).size).toBe(1);
});

test("the marks of pieces are explained only if the tokens have them", async () => {
  const first = async (tokens: string[]) => (await renderText(over(tokens), "x"))[1];
  expect(await first(["the", "cat", "##s"])).toBe("3 tokens · 2 layers × 4 heads; ## continues a word");
  expect(await first(["▁the", "▁cat", "s"])).toMatch(/; ▁ marks the space before a word$/);
  expect(await first(["the", "cat"])).toBe("2 tokens · 2 layers × 4 heads");
});

test("scores too large for float32 are explained with the right weight", () => {
  const q = { data: Float64Array.of(1e10, 0, 1e10, 0), shape: [1, 2, 2] };
  const k = { data: Float64Array.of(1e10, 0, 0, 1), shape: [1, 2, 2] };
  const large = storeFrom({ blocks: [{ tokens: ["a", "b"], layers: [{ query: q, key: k }] }] });
  const sentence = explainLink(large, { block: 0, layer: 0, head: 0, query: 1, key: 0 });
  expect(sentence).toMatch(/gives 100\u202f% of its attention to “a”/);
  expect(sentence).toMatch(/exp\u00a01 → .*exp\u00a0÷\u00a0sum\u00a01\.$/);
});

test("the ASCII page is ASCII, and a page without color has no escapes", async () => {
  const text = over(["naïve", "日本", "😀"]);
  expect((await renderText(text, "ï", { paint: "ascii" })).join("\n")).toMatch(/^[\x20-\x7e\n]*$/);
  expect((await renderText(text, "x", { paint: "mono", all: true })).join("\n")).not.toContain("\x1b");
  expect((await renderText(text, "x", { paint: "truecolor" })).join("\n")).toContain("\x1b[48;2;");
});

test("a token cannot write escape sequences or reorder the page", async () => {
  const hostile = over(["a\x1b[2J", "\u202eb", "<x>&\"'"]);
  const page = (await renderText(hostile, "a\x1b[2J\n\u202eb", { all: true })).join("\n");
  expect(page).not.toContain("\x1b");
  expect(page).not.toContain("\u202e");
});

test("two texts are compared in a line, three in a table", () => {
  expect(renderSimilarity(["a"], [[1]])).toEqual([]);
  const pair = [
    [1, -0.5],
    [-0.5, 1],
  ];
  expect(renderSimilarity(["a", "b"], pair, { columns: 40 }).at(-1)).toBe("−0.500");
  const cosines = [
    [1, 0.25, 0],
    [0.25, 1, 0],
    [0, 0, 1],
  ];
  const table = renderSimilarity(["one", "two", "three"], cosines);
  expect(table.at(-2)).toBe("2  two   0.250  1.000  0.000");
});

test("a chosen cell is the one explained below the head", async () => {
  const cell = { layer: 0, head: 0, query: 4, key: 2 };
  const contrast = await contrastOf(store, { block: 0, layer: 0, head: 0 }, cell.query, cell.key);
  const sentence = explainLink(store, { block: 0, ...cell, ...contrast });
  // The others give more, so that chance is not spoken of.
  expect(sentence).toMatch(/ The other tokens give “[a-z]+” .*% on average\./);
  expect((await draw({ ...cell, columns: 1000 })).split("\n")).toContain(sentence);
  expect(sentence).not.toBe(explainLink(store, { block: 0, ...cell, query: 5 }));
});

test("without color, the scale is shown if the cells are shaded, and left out if they have numbers", async () => {
  const hasScale = async (tokens: number, columns: number) => {
    const shown = over(Array.from({ length: tokens }, (_, i) => `t${i}`));
    const page = await renderText(shown, "a discount of 5% today", { layer: 0, head: 0, columns });
    return page.some((line) => /^0\s+\.01/.test(line));
  };
  expect(await hasScale(40, 80)).toBe(true);
  expect(await hasScale(6, 80)).toBe(false);
  // Cells of four columns have numbers without a percent sign.
  expect(await hasScale(17, 76)).toBe(false);
});
