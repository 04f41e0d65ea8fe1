/** A picture in one call: what `figureOf` and `show` draw, and what they refuse. */
import { inspect } from "node:util";
import { causal, randn, scaledDotProductAttention, tensor } from "heed";
import { figureOf, renderFigure, show, storeFrom } from "heed/view";
import { expect, it } from "vitest";

const TOKENS = ["time", "flies", "fast"];
const WEIGHTS = [
  [1, 0, 0],
  [0.25, 0.75, 0],
  [0.2, 0.3, 0.5],
];
const query = randn([2, 3, 4], { seed: 1 });
const key = randn([2, 3, 4], { seed: 2 });

it("figureOf of nested weights is the figure of a store of these weights", async () => {
  const store = storeFrom({
    name: "attention",
    blocks: [{ tokens: TOKENS, layers: [{ weights: tensor(WEIGHTS).reshape([1, 3, 3]) }] }],
  });
  const figure = await figureOf(WEIGHTS, { tokens: TOKENS });
  expect(figure.svg).toBe((await renderFigure(store)).svg);
  expect(`${figure}`).toBe(figure.svg);
});

it("figureOf of query and key has the numbers of the call's weights", async () => {
  const { weights } = scaledDotProductAttention(query, key, key, { attnMask: causal(), returnWeights: true });
  const options = { tokens: TOKENS, head: 1, values: true, width: 100 } as const;
  const numbers = (svg: string) => (svg.match(/>(?:0?\.\d+|1\.00)</g) ?? []).slice(0, 6);
  const computed = numbers((await figureOf({ query, key }, { ...options, isCausal: true })).svg);
  expect(computed).toHaveLength(6);
  expect(computed).toEqual(numbers((await figureOf(weights, options)).svg));
  expect(new Set(computed).size).toBeGreaterThan(3);
});

it("a result with weights and a batch axis of length 1 are taken as they are", async () => {
  const q = query.reshape([1, 2, 3, 4]);
  const result = scaledDotProductAttention(q, q, q, { returnWeights: true });
  expect((await figureOf(result)).svg).toBe((await figureOf(result.weights)).svg);
});

it("show prints the tokens, the weights and whether a link is above chance, and gives a notebook the figure", async () => {
  const picture = await show(WEIGHTS, { tokens: TOKENS });
  expect(String(picture)).toContain("flies   25%");
  expect(String(picture)).toContain("strongest links  none is above those of random heads");
  expect(inspect(picture)).toBe(String(picture));
  const display = (picture as unknown as Record<symbol, () => Record<string, string>>)[
    Symbol.for("Jupyter.display")
  ]();
  expect(display["text/plain"]).toBe(String(picture));
  expect(display["image/svg+xml"]).toBe(picture.figure.svg);
});

it.each([
  ["two tokens for three rows", () => figureOf(WEIGHTS, { tokens: ["a", "b"] }), "figureOf: tokens must be a list of 3 texts, one for each of the rows, got 2"],
  ["a text as tokens", () => show(WEIGHTS, { tokens: "abc" as never }), 'show: tokens must be a list of 3 texts, one for each of the rows, got "abc"'],
  ["two batch entries", () => figureOf(randn([2, 2, 3, 3], { seed: 1 })), "figureOf: weights must be [N, columns] or [heads, N, columns]"],
  ["a result without weights", () => figureOf(scaledDotProductAttention(query, key, key) as never), "figureOf: this result has no weights"],
  ["a scale for weights", () => figureOf(WEIGHTS, { scale: 2 }), "figureOf: isCausal and scale are for { query, key }"],
  ["a missing head", () => figureOf(WEIGHTS, { head: 3 }), "figure: head must be an integer from 0 to 0"],
  ["an unknown option", () => figureOf(WEIGHTS, { labels: TOKENS } as never), 'figureOf: unknown option "labels"'],
  ["nothing", () => show(undefined as never), "show: weights: expected a tensor"],
  ["one row", () => show([1, 2]), "show: weights must be [N, columns]"],
])("%s is refused by name", async (_, call, message) => {
  await expect(call()).rejects.toThrow(message);
}); // biome-ignore format: a row a line
