/** What a block adds: against the hooks' outputs of the same run, and states that are replaced in a run of their own. */
import { expect, test } from "vitest";
import { dot } from "../../core/numbers.ts";
import { Tensor } from "../../core/tensor.ts";
import type { FloatTensor } from "../../nn/index.ts";
import { locateShipped, readModel, recordActivations, tokenShares } from "../index.ts";
import { blockParts } from "./block.ts";
import { runOptions } from "./intervene.ts";

const TEXT = "the president of the united";
const decoder = await readModel(locateShipped("decoder"));
const encoder = await readModel(locateShipped("encoder"));
const rowOf = (states: FloatTensor, position: number) => {
  const C = states.shape.at(-1) as number;
  return states.toFloat64().slice(position * C, (position + 1) * C);
};

test("the parts of a decoder's block are what its hooks see, and their shares of the state add up to 1", () => {
  const tokens = decoder.tokenize(TEXT);
  const { states, feedForward } = recordActivations(decoder, tokens);
  const [layer, position] = [2, 4];
  const { parts, length, token, prior } = blockParts(decoder, TEXT, layer, position);
  const [before, after] = [states[layer], states[layer + 1]].map((one) => rowOf(one, position));
  const mlp = rowOf(feedForward[layer], position);
  const attention = after.map((value, c) => value - before[c] - mlp[c]); // with its bias
  const near = (a: number | undefined, b: number) => expect(a).toBeCloseTo(b, 5);
  const part = (name: string) => parts.find((one) => one.part === name)!;
  near(length, Math.hypot(...after));
  near(part("before").length, Math.hypot(...before));
  near(part("mlp").length, Math.hypot(...mlp));
  const share = (vector: Float64Array) => dot(vector, after) / dot(after, after);
  near(part("mlp").share, share(mlp));
  near(part("attention").share + part("biases").share, share(attention));
  const sum = (names: readonly string[]) =>
    parts.reduce((all, one) => all + (names.includes(one.part) ? one.share : 0), 0);
  near(sum(["before", "attention", "mlp", "biases"]), 1);
  near(sum(["head"]), part("attention").share);
  // A run whose last state is replaced predicts from that state.
  const predicted = (row: Float64Array) => {
    const last = states[decoder.layers].toFloat64();
    last.set(row, position * row.length);
    const state = new Tensor(Float32Array.from(last), states[0].shape, "float32") as FloatTensor;
    const hooks = { onHidden: (at: number) => (at === decoder.layers ? state : undefined) };
    const hidden = decoder.model.hidden(tokens.ids, runOptions(decoder, tokens, hooks));
    return tokenShares(rowOf(decoder.model.logits(hidden), position));
  };
  const shares = predicted(after);
  expect(token?.id).toBe(shares.indexOf(Math.max(...shares)));
  near(token?.probability, shares[token!.id]);
  near(prior, predicted(before)[token!.id]);
  near(part("mlp").without, predicted(after.map((value, c) => value - mlp[c]))[token!.id]);
});

test("a block whose norms follow its sums adds up to its state; wrong places are refused", () => {
  const tokens = encoder.tokenize(TEXT);
  const { states } = recordActivations(encoder, tokens);
  for (let layer = 0; layer < encoder.layers; layer++) {
    const { length, parts } = blockParts(encoder, TEXT, layer, 2);
    expect(length).toBeCloseTo(Math.hypot(...rowOf(states[layer + 1], 2)), 4);
    expect(parts.length).toBe(4 + encoder.heads);
  }
  expect(() => blockParts(encoder, TEXT, 9, 0)).toThrow("layer must be 0 to");
  expect(() => blockParts(encoder, TEXT, 0, 99)).toThrow("position must be 0 to");
});
