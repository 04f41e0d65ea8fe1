import { expect, it } from "vitest";
import { randn } from "../../index.ts";
import { wordRow } from "../measures/aggregate.ts";
import { storeFrom } from "./from.ts";
import { storeOfWords } from "./words.ts";

const tokens = ["[CLS]", "e", "##ro", "##ding", "bank", "[SEP]", "farm", "##land", "[SEP]"];
const spans = [
  [0, 1],
  [1, 4],
  [4, 5],
  [5, 6],
  [6, 8],
  [8, 9],
].map(([start, end]) => ({ start, end }));

function storeOfTokens(mask: "none" | "causal") {
  const [query, key] = [1, 2].map((seed) => randn([2, tokens.length, 4], { seed }));
  const segments = [
    { name: "A", query: [0, 6], key: [0, 6] },
    { name: "B", query: [6, 9], key: [6, 9] },
  ] as const;
  return storeFrom({ blocks: [{ tokens, recipe: { mask }, segments, layers: [{ layer: 3, query, key }] }] });
}

it("the weight of a word is the sum over the tokens of the key and the mean over those of the query", async () => {
  const store = storeOfTokens("none");
  const words = storeOfWords(store);
  const [block] = words.blocks;
  expect(block.queryTokens).toEqual(["[CLS]", "eroding", "bank", "[SEP]", "farmland", "[SEP]"]);
  expect(block.special.key).toEqual([true, false, false, true, false, true]);
  expect(block.segments).toEqual([
    { name: "A", query: [0, 4], key: [0, 4] },
    { name: "B", query: [4, 6], key: [4, 6] },
  ]);
  expect([block.layers, block.stages]).toEqual([[3], ["weights"]]);
  const ref = { block: 0, layer: 3, head: 1 };
  await Promise.all([store.load(ref), words.load(ref)]);
  for (const [i, span] of spans.entries()) {
    const row = words.row(ref, i, "weights");
    expect([...row]).toEqual([...wordRow((n) => store.row(ref, n, "weights"), span, spans)]);
    expect(row.reduce((sum, w) => sum + w, 0)).toBeCloseTo(1, 12);
  }
  // Measures count words.
  expect((await words.measures(ref)).effectiveKeys).toBeLessThanOrEqual(6);
  words.dispose();
  await expect(store.measures(ref)).rejects.toThrow();
});

it("a cell between two words is masked where all cells of their tokens are", async () => {
  const words = storeOfWords(storeOfTokens("causal"));
  const ref = { block: 0, layer: 3, head: 0 };
  await words.load(ref);
  for (const i of spans.keys())
    expect([...words.visible(ref, i)]).toEqual(spans.map((_, j) => Number(j <= i)));
  words.dispose();
});
