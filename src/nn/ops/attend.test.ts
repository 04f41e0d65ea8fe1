/** Attention as a recorded operation: every tensor that acts gets its gradient, by central differences. */
import {
  type AttentionOptions,
  alibi,
  and,
  causal,
  keyLengths,
  longformer,
  relativeBias,
  scoreMod,
  slidingWindow,
  softcap,
  table,
  tensor,
} from "heed";
import * as nn from "heed/nn";
import { describe, expect, it } from "vitest";
import { normals } from "../../../tests/support/cases/tensors.ts";
import { gradcheck, gradientsOf } from "../../../tests/support/oracles/gradcheck.ts";

const make = normals(2);
const query = make(2, 4, 5, 3);
const key = make(2, 2, 5, 3);
const value = make(2, 2, 5, 4);
const bias = make(4, 1, 5);
const mask = make(5, 5);
const sinks = make(4);
const slopes = make(4);
const relative = make(8, 4);
const random = make(5);

const CASES: Record<string, [Record<string, nn.FloatTensor>, () => AttentionOptions]> = {
  "grouped heads": [{}, () => ({})],
  causal: [{}, () => ({ isCausal: true })],
  "a window, a key length and a scale": [
    {},
    () => ({ attnMask: and(slidingWindow(2, 1), keyLengths([3, 5])), scale: 0.7 }),
  ],
  longformer: [{}, () => ({ attnMask: longformer(1, [0]) })],
  "a float mask that broadcasts": [{ bias }, () => ({ attnMask: bias })],
  "two float masks beside a mask expression": [{ bias, mask }, () => ({ attnMask: [bias, causal(), mask] })],
  sinks: [{ sinks }, () => ({ sinks, isCausal: true })],
  "slopes of ALiBi": [{ slopes }, () => ({ scoreMod: alibi(slopes) })],
  "a relative table under a soft cap": [
    { relative },
    () => ({ scoreMod: [relativeBias(relative, { maxDistance: 4 }), softcap(2)] }),
  ],
  "three tables at once": [
    { random, slopes, relative },
    () => ({
      scoreMod: [
        alibi(slopes),
        scoreMod(({ score, k }) => score.mul(table(random).at(k))),
        relativeBias(relative, { maxDistance: 4 }),
      ],
    }),
  ],
  dropout: [{}, () => ({ dropoutP: 0.3, seed: 9 })],
};

describe("gradients of attention", () => {
  for (const [name, [extra, options]] of Object.entries(CASES))
    it(name, () => {
      gradcheck({ query, key, value, ...extra }, () => nn.attention(query, key, value, options()).output, {
        limit: 24,
      });
    });

  it("layout bshd", () => {
    const [q, k, v] = [make(2, 5, 4, 3), make(2, 5, 2, 3), make(2, 5, 2, 4)];
    gradcheck({ q, k, v }, () => nn.attention(q, k, v, { layout: "bshd", isCausal: true }).output);
  });

  it("the gradient of one tensor as query, key and value is the sum of three", () => {
    const x = make(2, 5, 4);
    gradcheck({ x }, () => nn.attention(x, x, x).output);
  });
});

it("a fully masked row returns zeros, and so do its gradients", () => {
  const lengths = { attnMask: keyLengths([0, 5]) };
  const { outputs, gradients } = gradientsOf(
    { query, key, value },
    () => [nn.attention(query, key, value, lengths).output],
    (t) => t,
  );
  for (const t of [outputs[0], gradients.query!, gradients.key!, gradients.value!]) {
    const numbers = t.toFloat64();
    expect(numbers.slice(0, numbers.length / 2).every((x) => x === 0)).toBe(true);
    expect(numbers.slice(numbers.length / 2).every(Number.isFinite)).toBe(true);
  }
});

it("extras that nobody wants are not computed, and a mask of -Infinity and bool masks take no gradient", () => {
  const steps: nn.Operation[] = [];
  const hear = (work: () => unknown) => nn.withRecorder((step) => steps.push(step), work);
  hear(() => nn.attention(query, key, value, { attnMask: [bias, mask], sinks }));
  const d = make(2, 4, 5, 4);
  const got = steps[0].backward([d], [true, true, true, false, false, false]);
  expect(got.slice(3)).toEqual([undefined, undefined, undefined]);
  const bool = tensor(new Uint8Array(25).fill(1), [5, 5], "bool");
  hear(() => nn.attention(query, key, value, { attnMask: bool }));
  expect(steps.findLast(({ name }) => name === "attention")?.inputs.length).toBe(3);
});

it("weights on request are those of the plain call", () => {
  const { weights, lse } = nn.attention(query, key, value, { returnWeights: true });
  expect(weights!.shape).toEqual([2, 4, 5, 5]);
  expect(lse.shape).toEqual([2, 4, 5]);
  for (let n = 0; n < 40; n++) {
    const row = weights!.toFloat64().slice(n * 5, n * 5 + 5);
    expect(row.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 12);
  }
});
