/** Common mistakes of users, and the errors that they get: no silent wrong result. */
import {
  alibi, and, attentionWeights, blockSparse, cast, causal, configure, documents, globalTokens, HeedError, keyLengths, longformer,
  ones, prefixLm, queryLengths, scaledDotProductAttention, type Tensor, tensor, zeros,
} from "heed"; // biome-ignore format: one list
import { generate } from "heed/models";
import {
  eq,
  fillNormal,
  ge,
  MultiHeadAttention,
  multiply,
  SelfAttention,
  softmax,
  triu,
  where,
} from "heed/nn";
import { AdamW, languageModel, train } from "heed/train";
import { describe, expect, it } from "vitest";

const normal = (shape: number[], seed: number) => fillNormal(zeros(shape), seed);
const [q, k, v] = [normal([2, 2, 4, 8], 1), normal([2, 2, 4, 8], 2), normal([2, 2, 4, 8], 3)];
const call = (options: object) => () => scaledDotProductAttention(q, k, v, options);

/** Every case throws a HeedError of this code whose message has these words. */
function refused(cases: Record<string, [code: string, message: RegExp, work: () => unknown]>) {
  for (const [name, [code, message, work]] of Object.entries(cases))
    it(name, async () => {
      let error: unknown;
      try {
        await work();
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(HeedError);
      expect((error as HeedError).message).toMatch(message);
      expect((error as HeedError).code).toBe(code);
    });
}

describe("lists that are too long or too short for the call are rejected", () => {
  const many: Record<string, (extra: number) => object> = {
    keyLengths: (n) => ({ attnMask: keyLengths([3, 4, 1].slice(0, 2 + n)) }),
    queryLengths: (n) => ({ attnMask: queryLengths([3, 4, 1].slice(0, 2 + n)) }),
    prefixLm: (n) => ({ attnMask: prefixLm([3, 4, 1].slice(0, 2 + n)) }),
    alibi: (n) => ({ scoreMod: alibi([1, 2, 3].slice(0, 2 + n)) }),
    "alibi of each batch entry": (n) => ({
      scoreMod: alibi(
        [
          [1, 2],
          [1, 2],
          [1, 2],
        ].slice(0, 2 + n),
      ),
    }),
    blockSparse: (n) => ({
      attnMask: blockSparse(
        Array.from({ length: 2 + n }, () => [1, 1, 1].slice(0, 2 + n)),
        2,
      ),
    }),
    documents: (n) => ({ attnMask: documents([0, 0, 1, 1, 1].slice(0, 4 + n)) }),
    "documents of each batch entry": (n) => ({
      attnMask: documents(
        [
          [0, 0, 1, 1],
          [0, 1, 1, 1],
          [0, 0, 0, 0],
        ].slice(0, 2 + n),
      ),
    }),
    globalTokens: (n) => ({ attnMask: globalTokens([0, 3 + n]) }),
    "a part of a mask": (n) => ({ attnMask: and(causal(), longformer(1, [3 + n])) }),
  };
  for (const [name, options] of Object.entries(many)) {
    it(`${name}: the exact length runs`, () => expect(call(options(0))).not.toThrow());
    it(`${name}: one more is an error`, () =>
      expect(call(options(1))).toThrow(
        expect.objectContaining({ name: "ShapeError", code: "table-length" }),
      ));
    if (name !== "globalTokens" && name !== "a part of a mask")
      it(`${name}: one less is an error`, () => expect(call(options(-1))).toThrow(/entries on axis/));
  }
  it("a list of positions may be longer where queryOffset places the call in a longer text", () => {
    const row = normal([2, 2, 1, 8], 4);
    const options = { attnMask: documents([0, 0, 1, 1, 1]), queryOffset: 2 };
    expect(() => scaledDotProductAttention(row, k, v, options)).not.toThrow();
  });
});

const same = (got: Tensor, want: Tensor) => {
  expect(got.shape).toEqual(want.shape);
  const numbers = want.toFloat64();
  for (const [n, x] of got.toFloat64().entries()) expect(x).toBeCloseTo(numbers[n], 5);
};

describe("masks as users write them", () => {
  it("nested booleans are a mask: true = attend", () => {
    const rows = [
      [true, false, false, false],
      [true, true, false, false],
      [true, true, true, false],
      [true, true, true, true],
    ];
    const got = scaledDotProductAttention(q, k, v, { attnMask: rows }).output;
    same(got, scaledDotProductAttention(q, k, v, { isCausal: true }).output);
    const both = scaledDotProductAttention(q, k, v, { attnMask: [rows, keyLengths(2)] }).output;
    const want = scaledDotProductAttention(q, k, v, { attnMask: and(causal(), keyLengths(2)) }).output;
    same(both, want);
  });
  it("nested floats are added", () => {
    const rows = [
      [0, -Infinity, -Infinity, -Infinity],
      [0, 0, -Infinity, -Infinity],
      [0, 0, 0, -Infinity],
      [0, 0, 0, 0],
    ];
    const got = scaledDotProductAttention(q, k, v, { attnMask: rows }).output;
    same(got, scaledDotProductAttention(q, k, v, { isCausal: true }).output);
  });
  it("a finite number that is to mask gives one warning that names the cure, and the cure masks", () => {
    const warnings: string[] = [];
    const { onWarning } = configure();
    configure({ onWarning: (text) => warnings.push(text) });
    try {
      const textbook = tensor([[0, -1e9, -1e9, 0]]);
      for (let n = 0; n < 2; n++) scaledDotProductAttention(q, k, v, { attnMask: textbook });
      scaledDotProductAttention(q, k, v, { attnMask: tensor([[0, -9999, Number.NEGATIVE_INFINITY, 1]]) });
      expect(warnings).toEqual([
        expect.stringMatching(/attnMask holds -1000000000, which is finite.*-Infinity/),
      ]);
      same(
        scaledDotProductAttention(q, k, v, { attnMask: ge(textbook, -1) }).output,
        scaledDotProductAttention(q, k, v, { attnMask: [[true, false, false, true]] }).output,
      );
    } finally {
      configure({ onWarning });
    }
  });
  it("a mask in which true means ignore, NaN in a mask and a scale of √dk give a warning each, their cures none", () => {
    const warnings: string[] = [];
    const { onWarning } = configure();
    configure({ onWarning: (text) => warnings.push(text) });
    try {
      const later = triu(ones([4, 4]), 1);
      const ignored = cast(later, "bool");
      const cured = eq(ignored, 0);
      for (const attnMask of [cured, where(ignored, -Infinity, 0), cast(ones([4, 4]), "bool")])
        call({ attnMask })();
      call({ scale: 1 / Math.sqrt(8) })();
      expect(warnings).toEqual([]);
      same(call({ attnMask: cured })().output, call({ isCausal: true })().output);
      new MultiHeadAttention(8, 2).forward(q, q, q, { attnMask: ignored, keyMask: ones([4], "bool") });
      call({ attnMask: multiply(later, -Infinity) })();
      call({ scale: Math.sqrt(8) })();
      expect(warnings).toEqual([
        expect.stringMatching(/not its own, as where true means ignore.*eq\(mask, 0\), or isCausal: true/),
        expect.stringMatching(/attnMask holds NaN.*where\(cast\(mask, "bool"\), 0, -Infinity\)/),
        expect.stringMatching(/scale multiplies the scores, and 2\.83?\d* is √dk/),
      ]);
    } finally {
      configure({ onWarning });
    }
  });
  it("a float mask of zeros masks nothing", () =>
    same(
      scaledDotProductAttention(q, k, v, { attnMask: zeros([4, 4]) }).output,
      scaledDotProductAttention(q, k, v).output,
    ));
  const lower = [1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1];
  refused({
    "a float mask of zeros and ones": [
      "mask-zeros-ones",
      /only 0 and 1.*cast\(mask, "bool"\).*-Infinity/,
      call({ attnMask: tensor(lower, [4, 4]) }),
    ],
    "nested zeros and ones": ["mask-zeros-ones", /only 0 and 1/, call({ attnMask: [[1, 1, 0, 0]] })],
    integers: [
      "mask-dtype",
      /must be bool,? (or )?float32.*cast\(mask, "bool"\)/,
      call({ attnMask: tensor(Int32Array.from(lower), [4, 4]) }),
    ],
    "rows of two lengths": [
      "ragged",
      /attnMask: rows must have one length/,
      call({ attnMask: [[true, false], [true]] }),
    ],
    "causal, not called": [
      "mask",
      /got the function itself; call it: attnMask: causal\(\)/,
      call({ attnMask: causal }),
    ],
    "a name": ["mask", /a mask such as causal\(\).*got "causal"/, call({ attnMask: "causal" })],
    "a score mod": ["mask", /goes into scoreMod/, call({ attnMask: alibi([1, 2]) })],
    "a mask of another copy of heed": ["mask", /another copy of heed/, call({ attnMask: { ...causal() } })],
    "a score mod of another copy": [
      "score-mod",
      /another copy of heed/,
      call({ scoreMod: { ...alibi([1, 2]) } }),
    ],
    mask: ["option-name", /unknown option "mask"; did you mean attnMask\?/, call({ mask: tensor([[true]]) })],
    is_causal: ["option-name", /did you mean isCausal\?/, call({ is_causal: true })],
    "a mask as the fourth argument": [
      "options",
      /a mask goes into them: \{ attnMask: mask \}/,
      call(tensor([[true]])),
    ],
  });
});

describe("attentionWeights", () => {
  const { lse } = scaledDotProductAttention(q, k, v, { isCausal: true });
  it("with the same options sums to 1", () => {
    const weights = attentionWeights(q, k, lse, { isCausal: true, rows: [3], heads: [1] });
    expect(
      weights
        .toFloat64()
        .slice(0, 4)
        .reduce((a, b) => a + b),
    ).toBeCloseTo(1, 5);
  });
  it("with sinks, soft caps, windows and half precision as well", () => {
    const sinks = [0.5, 2];
    const with_ = scaledDotProductAttention(q, k, v, { sinks, isCausal: true });
    expect(() => attentionWeights(q, k, with_.lse, { sinks, isCausal: true })).not.toThrow();
    expect(() => attentionWeights(q, k, with_.lse, { isCausal: true })).toThrow(
      /sum to 0\.\d+, not to 1\.000/,
    );
    const big = tensor(
      q.data.map((x) => 3e4 * x),
      q.shape,
    );
    const far = scaledDotProductAttention(big, k, v);
    expect(() => attentionWeights(big, k, far.lse)).not.toThrow();
  });
  it("of a part of the keys needs checkSums: false", () => {
    const part = tensor(k.data, [2, 2, 2, 8], "float32", { strides: k.strides });
    const full = scaledDotProductAttention(q, k, v);
    expect(() => attentionWeights(q, part, full.lse)).toThrow(/checkSums: false/);
    expect(attentionWeights(q, part, full.lse, { checkSums: false }).shape).toEqual([2, 2, 4, 2]);
  });
  refused({
    "of another call's options": [
      "weights-sum",
      /row 0 of head 0 of batch entry 0 sum to \d.*options of the call/,
      () => attentionWeights(q, k, lse),
    ],
  });
});

describe("tensors", () => {
  refused({
    "nested arrays of another head size": [
      "head-size",
      /same head size dk, got 1 and 8/,
      () => scaledDotProductAttention([[1]], k, v),
    ],
    "a wrong length": [
      "extent",
      /\[2, 2\] needs 4 numbers, the array has 3/,
      () => tensor(new Float32Array(3), [2, 2]),
    ],
    "rows of two lengths": ["ragged", /has 2 entries, \[1\] has 1/, () => tensor([[1, 2], [3]])],
    "numbers and booleans": [
      "dtype-mixed",
      /the first is a number, \[1\] is true/,
      () => tensor([1, true] as never),
    ],
    "a shape that is a string": ["dtype", /dtype/, () => tensor(new Float32Array(4), "2, 2" as never)],
    "an array that was handed to another thread": [
      "detached",
      /transferred to another thread/,
      () => {
        const data = new Float32Array(8);
        const t = tensor(data, [1, 8]);
        structuredClone(data, { transfer: [data.buffer] });
        return scaledDotProductAttention(t, t, t);
      },
    ],
  });
});

describe("layers and training", () => {
  const x = normal([1, 4, 8], 5);
  it("softmax takes an axis", () => {
    const columns = softmax(
      tensor([
        [1, 5],
        [1, 1],
      ]),
      0,
    ).toFloat64();
    expect(columns[0] + columns[2]).toBeCloseTo(1, 6);
    expect(columns[0]).toBeCloseTo(0.5, 6);
  });
  it("AdamW takes a list of tensors", () => {
    const parameter = tensor([1, 2]);
    const optimizer = new AdamW([parameter], { lr: 0.1, weightDecay: 0 });
    optimizer.step(new Map([[parameter, tensor([1, -1])]]));
    expect(parameter.data[0]).toBeCloseTo(0.9, 5);
  });
  it("keyMask takes nested booleans", () => {
    const layer = new MultiHeadAttention(8, 2, { seed: 1 });
    const got = layer.forward(x, x, x, { keyMask: [[true, true, false, false]] }).output;
    const mask = tensor([[true, true, false, false]]);
    expect(got.data).toEqual(layer.forward(x, x, x, { keyMask: mask }).output.data);
  });
  refused({
    key_padding_mask: [
      "option-name",
      /MultiHeadAttention: unknown option "key_padding_mask"; did you mean keyMask: eq\(.* past/,
      () => new MultiHeadAttention(8, 2).forward(x, x, x, { key_padding_mask: mask } as never),
    ],
    "layout in a layer": [
      "option-name",
      /SelfAttention: unknown option "layout"; expected one of attnMask/,
      () => new SelfAttention(8).forward(x, { layout: "bshd" } as never),
    ],
    "AdamW without tensors": [
      "parameters",
      /a Map of tensors by name or a list/,
      () => new AdamW({} as never),
    ],
    "train without a model": ["model", /an object with parameters\(\) and loss/, () => train({} as never)],
    "a kind of model that is none": [
      "kind",
      /kind must be decoder or encoder, got "gpt"/,
      () => languageModel("gpt" as never, {} as never),
    ],
    "a text to go on from": [
      "ids",
      /token ids, got the text "hello"; encode/,
      () => [
        ...generate(
          languageModel("decoder", { vocabulary: 8, context: 8, layers: 1, heads: 1, width: 4 })
            .model as never,
          "hello" as never,
        ),
      ],
    ],
    "a text model to go on with": [
      "model",
      /a decoder with a cache.*got Object; pass its field model/,
      () => [...generate({ model: { cache() {} } } as never, [1])],
    ],
  });
});
const mask = tensor([[true]]);
