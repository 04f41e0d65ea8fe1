import { expect, test } from "vitest";
import { scaledDotProductAttention } from "../attention.ts";
import { OptionError, ShapeError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { widthOf } from "../store/text/label.ts";
import { explainSentence, explainStrongest, fixed, headsOf, type SeenText } from "./report.ts";
import { renderSvg } from "./svg.ts";
import { renderSimilarity, renderText } from "./terminal/report.ts";

/** A text of `pieces` through two layers of two heads with made-up queries and keys, computed by heed. */
function seen(pieces: string[], text = pieces.join("").replaceAll("▁", " ").trim()): SeenText {
  const n = pieces.length;
  let state = 5;
  const next = () => ((state = (Math.imul(state, 1664525) + 1013904223) | 0) >> 8) / 2 ** 21;
  const made = () => new Tensor(Float32Array.from({ length: 2 * n * 4 }, next), [2, n, 4], "float32");
  const layers = [0, 1].map(() => {
    const [q, k] = [made(), made()];
    const { lse, weights } = scaledDotProductAttention(q, k, k, { returnWeights: true });
    return { q, k, lse, weights: weights! };
  });
  return { text, pieces, layers };
}

const cat = seen(["▁the", "▁cat", "▁the"]);

test("heads come layer by layer, and one layer or head can be chosen", () => {
  const at = (choice?: object) => headsOf(cat, choice).map(({ layer, head }) => `${layer}${head}`);
  expect(at()).toEqual(["00", "01", "10", "11"]);
  expect(at({ layer: 1 })).toEqual(["10", "11"]);
  expect(at({ head: 0 })).toEqual(["00", "10"]);
  expect(() => headsOf(cat, { layer: 2 })).toThrow(OptionError);
  expect(() => headsOf(cat, { head: 2 })).toThrow(/head must be an integer from 0 to 1, got 2/);
  expect(() => headsOf({ ...cat, pieces: ["a"] })).toThrow(ShapeError);
});

test("the explained weight is the strongest between two tokens, and e^(score − lse) gives it again", () => {
  const heads = headsOf(cat);
  const it = explainStrongest(cat, heads)!;
  expect(it.query).not.toBe(it.key);
  const others = heads.flatMap((head) => Array.from(head.weights).filter((_, i) => i % 4 !== 0));
  expect(it.weight).toBe(Math.max(...others));
  expect(it.recomputed).toBeCloseTo(it.weight, 6);
  expect(it.score - it.lse).toBeCloseTo(Math.log(it.weight), 5);
});

test("the sentence holds the numbers and tells equal tokens apart", () => {
  const it = {
    layer: 1,
    head: 0,
    query: 2,
    key: 1,
    weight: 0.5,
    score: 1,
    lse: -0.25,
    d: 64,
    recomputed: 0.5,
  };
  expect(explainSentence(it, ["the", "cat", "the₂"]).replaceAll("\u00a0", " ")).toBe(
    "In layer 1, head 0, “the₂” gives 50.0 % of its attention to “cat”: its score q·k/√64 is 1.000, " +
      "the log-sum-exp over all 3 keys is −0.250, and e^(1.000 − (−0.250)) = 0.500.",
  );
  expect(explainSentence({ ...it, key: 2 }, ["the", "cat", "the₂"])).toContain("to itself");
  expect([fixed(-0.001), fixed(-1.5), fixed(2, 0)]).toEqual(["0.00", "−1.50", "2"]);
});

test("a page names every layer and head, and no line is wider than asked", () => {
  for (const columns of [20, 40, 80]) {
    const lines = renderText(cat, { columns, paint: "mono" });
    expect(lines.filter((line) => /^layer [01]/.test(line)).length).toBe(2);
    expect(lines.join("\n").match(/head \d/g)!.length).toBeGreaterThanOrEqual(4);
    for (const line of lines) if (columns >= 40) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  }
});

test("the ASCII page is ASCII, and a page without colour has no escapes", () => {
  const text = seen(["▁naïve", "▁日本", "😀"]);
  expect(renderText(text, { paint: "ascii" }).join("\n")).toMatch(/^[\x20-\x7e\n]*$/);
  expect(renderText(text, { paint: "mono" }).join("\n")).not.toContain("\x1b");
  expect(renderText(text, { paint: "truecolor" }).join("\n")).toContain("\x1b[48;2;");
});

test("a token cannot bring escapes or reorder the page", () => {
  const hostile = seen(["▁a\x1b[2J", "\u202eb", "<x>&\"'"], "a\x1b[2J\n\u202eb");
  for (const text of [renderText(hostile, { paint: "mono" }).join("\n"), renderSvg([hostile])]) {
    expect(text).not.toContain("\x1b");
    expect(text).not.toContain("\u202e");
  }
});

test("two texts are compared in a line, three in a table", () => {
  expect(renderSimilarity(["a"], [[1]])).toEqual([]);
  expect(
    renderSimilarity(
      ["a", "b"],
      [
        [1, -0.5],
        [-0.5, 1],
      ],
      { columns: 40 },
    )[1],
  ).toBe("−0.500");
  const cosines = [
    [1, 0.25, 0],
    [0.25, 1, 0],
    [0, 0, 1],
  ];
  const table = renderSimilarity(["one", "two", "three"], cosines);
  expect(table.at(-2)).toBe("2  two   0.250  1.000  0.000");
});
