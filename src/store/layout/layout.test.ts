import { describe, expect, it } from "vitest";
import { OptionError } from "../../core/errors.ts";
import type { TensorLike } from "../../core/tensor.ts";
import { writeSafetensors } from "../../io/safetensors/safetensors.ts";
import { openStore } from "../formats/open.ts";
import type { HeadStore } from "../head-store.ts";
import { isSpecial } from "../text/tokens.ts";
import { storeFrom } from "./from.ts";

const f32 = (...shape: number[]): TensorLike => ({
  data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(0.5),
  shape,
});
const open = (
  tensors: Record<string, TensorLike>,
  metadata: Record<string, unknown> = {},
): Promise<HeadStore> =>
  openStore(
    writeSafetensors(tensors, {
      metadata: Object.fromEntries(
        Object.entries(metadata).map(([key, value]) => [
          key,
          typeof value === "string" ? value : JSON.stringify(value),
        ]),
      ),
    }),
    { name: "file" },
  );
const qk = (layer = 0, heads = 2, n = 3, d = 4) => ({
  [`self.q.${layer}`]: f32(heads, n, d),
  [`self.k.${layer}`]: f32(heads, n, d),
});

describe("a bundle that does not fit", () => {
  it("names the tensor, the value expected and the value found; nothing left to show is an error", async () => {
    const cases: [Record<string, TensorLike>, RegExp][] = [
      [{ "self.q.0": f32(2, 3, 4) }, /`self.q.0` is present, but `self.k.0` is missing; scores need both/],
      [{ "self.k.0": f32(2, 3, 4) }, /`self.k.0` is present, but `self.q.0` is missing/],
      [{ "self.v.0": f32(2, 3, 4) }, /it needs `self.q.0` and `self.k.0`, or `self.w.0`/],
      [{ ...qk(), "self.q.0": f32(3, 4) }, /`self.q.0` is \[3, 4\] float32, expected \[heads, queries, d\]/],
      [{ ...qk(), "self.k.0": f32(2, 3, 5) }, /their last axes must be equal/],
      [{ ...qk(), "self.k.0": f32(3, 3, 4) }, /3 heads of `self.k.0` do not divide the 2 of `self.q.0`/],
      [{ ...qk(), "self.v.0": f32(2, 4, 4) }, /`self.v.0` is \[2, 4, 4\] float32, expected \[2, 3, dv\]/],
      [{ ...qk(), "self.vnorm.0": f32(2, 4) }, /`self.vnorm.0` is \[2, 4\] float32, expected \[2, 3\]/],
      [
        { ...qk(), "self.wo.0": f32(8, 4) },
        /`self.wo.0` is \[8, 4\] float32, expected \[heads·dv = \?, width\] beside values/,
      ],
      [{ ...qk(), "self.v.0": f32(2, 3, 5), "self.wo.0": f32(8, 4) }, /expected \[heads·dv = 10, width\]/],
      [{ ...qk(), "self.lse.0": f32(2, 4) }, /`self.lse.0` is \[2, 4\] float32, expected \[2, 3\]/],
      [
        { ...qk(), "self.q.0": { data: new Int32Array(24), shape: [2, 3, 4] } },
        /`self.q.0` is \[2, 3, 4\] int32, expected float32, float16, bfloat16 or float64/,
      ],
      [{ "self.w.0": f32(3, 3) }, /`self.w.0` is \[3, 3\] float32, expected \[heads, queries, keys\]/],
      [{ "self.w.0": { data: new Int32Array(9), shape: [1, 3, 3] } }, /expected floats, or uint8 \(n\/255\)/],
      [{ "self.q.0": f32(0, 3, 4), "self.k.0": f32(0, 3, 4) }, /it has no heads/],
    ];
    for (const [tensors, message] of cases) {
      const error = await open(tensors).catch((e) => e);
      expect(error.code, String(message)).toBe("nothing-to-show");
      expect(error.message).toMatch(message);
      expect(error.message).toMatch(/layer 0 of `self` is left out/);
    }
  });

  it("leaves a layer out that is not like the others, and shows the rest", async () => {
    const store = await open({ ...qk(0), ...qk(1, 2, 5), ...qk(3) });
    expect(store.blocks[0].layers).toEqual([0, 3]);
    expect(store.report.problems.map(({ severity, text }) => [severity, text])).toContainEqual([
      "error",
      "layer 1 of `self` is left out: it has 5 queries where the layers before have 3; put layers of another shape into another block",
    ]);
    expect(store.report.sentences[1]).toMatch(/2 layers \(0, 3\) × 2 heads/);
    store.dispose();
  });

  it("has positions instead of the names of other rows, where tokens do not match", async () => {
    const store = await open(qk(), { "tokens.text": ["a", "b"] });
    expect(store.blocks[0].keyTokens).toEqual(["0", "1", "2"]);
    expect(store.report.problems.map(({ text }) => text)).toContain(
      "`self` has 3 key positions, 2 tokens are given in `tokens.text`; positions are shown instead, so that no row has the wrong name",
    );
    store.dispose();
    const named = await open(qk(), {
      "tokens.text": ["a", "b", "c"],
      blocks: { self: { queryTokens: "prompt" } },
    });
    expect(named.report.problems[0].text).toMatch(
      /`self` names the token list `prompt`, which is not in the file/,
    );
    named.dispose();
  });

  it("with a recipe that is not known is refused by the field's name; weights that were given are shown", async () => {
    const recipe = { "recipe.self": { mask: "causal", rope: 10000 } };
    await expect(open(qk(), recipe)).rejects.toThrow(
      /the field "rope" is unknown, so the scores cannot be computed/,
    );
    const store = await open({ ...qk(), "self.w.0": f32(2, 3, 3) }, recipe);
    expect(store.blocks[0].stages).toEqual(["weights", "contrast"]);
    expect(store.report.problems[0].text).toMatch(
      /layer 0 of `self` shows the weights it was given, because recipe of `self`: the field "rope"/,
    );
    store.dispose();
  });

  it("with a recipe whose tensors are missing or of another shape says which", async () => {
    const cases: [unknown, Record<string, TensorLike>, RegExp][] = [
      [
        { mask: { tensor: "self.mask", polarity: "keep" } },
        {},
        /its recipe reads the tensor `self.mask`, which is not in the file/,
      ],
      [
        { mask: { tensor: "self.mask", polarity: "keep" } },
        { "self.mask": f32(2, 3) },
        /`self.mask` is \[2, 3\] float32, expected \[3, 3\] or \[2, 3, 3\]/,
      ],
      [
        { bias: { dense: "self.bias" } },
        { "self.bias": { data: new Uint8Array(9), shape: [3, 3] } },
        /`self.bias` is \[3, 3\] uint8, expected floats/,
      ],
      [
        { bias: { relative: "self.relative" } },
        { "self.relative": f32(8, 3) },
        /`self.relative` is \[8, 3\] float32, expected \[buckets, 2\]/,
      ],
      [
        { bias: { disentangled: { keys: "self.positionKeys", rows: [0, 1, 2, 3, 4] } } },
        { "self.positionKeys": f32(3, 5, 1) },
        /`self.positionKeys` is \[3, 5, 1\] float32, expected \[2, buckets, \d\]/,
      ],
      [
        { bias: { disentangled: { rows: [0, 1, 2] } } },
        {},
        /its recipe has rows for 3 distances; 3 queries and 3 keys have more/,
      ],
      [{ bias: { alibi: [1] } }, {}, /its recipe has 1 ALiBi slopes for 2 heads/],
      [{ keyLengths: [1, 2, 3] }, {}, /its recipe has 3 keyLengths for 2 heads; give one, or one per head/],
      [{ sinks: "self.sinks" }, { "self.sinks": f32(3) }, /`self.sinks` is \[3\] float32, expected \[2\]/],
    ];
    for (const [recipe, tensors, message] of cases)
      await expect(open({ ...qk(), ...tensors }, { "recipe.self": recipe })).rejects.toThrow(message);
  });

  it("with DeBERTa's terms and an offset of the queries reads the content of each query, at its own distance", async () => {
    const tensors = {
      "self.q.0": { data: Float32Array.of(1, 2, 3, 4), shape: [1, 2, 2] },
      "self.k.0": { data: Float32Array.of(1, 0, 0, 1, 1, 1), shape: [1, 3, 2] },
      "self.positionKeys": { data: Float32Array.of(1, 0, 0, 1, 2, 0, 0, 2, 3, 0), shape: [1, 5, 2] },
    };
    const bias = { disentangled: { keys: "self.positionKeys", rows: [0, 1, 2, 3, 4] } };
    const store = await open(tensors, { "recipe.self": { scale: 1, queryOffset: 1, bias } });
    const ref = { block: 0, layer: 0, head: 0 };
    await store.load(ref);
    // q·k + q·positions[i + 1 − j + 2]
    const [q, k] = [[[1, 2], [3, 4]], [[1, 0], [0, 1], [1, 1]]]; // biome-ignore format: one matrix each
    const positions = [[1, 0], [0, 1], [2, 0], [0, 2], [3, 0]]; // biome-ignore format: one matrix
    const dot = (a: number[], b: number[]) => a[0] * b[0] + a[1] * b[1];
    for (const i of [0, 1])
      expect([...store.row(ref, i, "masked")]).toEqual(
        k.map((key, j) => dot(q[i], key) + dot(q[i], positions[i + 1 - j + 2])),
      );
    store.dispose();
  });

  it("of a newer version is refused; broken metadata is left out and reported", async () => {
    await expect(open(qk(), { heed: "2" })).rejects.toThrow(
      /a bundle of version "2"; this reader knows version "1"/,
    );
    const store = await open(qk(), {
      "tokens.text": "[1, 2]",
      "tokens.other": "not json",
      blocks: { self: { kind: "both" } },
      "recipe.self": { scale: 1 },
    });
    expect(store.report.problems.map(({ text }) => text)).toEqual([
      expect.stringMatching(/`blocks.self`: kind: expected "self" or "cross", got "both"; it is left out/),
      expect.stringMatching(/metadata `tokens.other` is not JSON \(.*\); it is left out/),
      expect.stringMatching(/tokens.text: expected a list of texts/),
      expect.stringMatching(/has no key tokens/),
    ]);
    store.dispose();
  });

  it("puts an encoder first and cross attention last, whatever the alphabet says", () => {
    const x = { data: new Float32Array(4), shape: [1, 2, 2] };
    const block = (name: string) => ({ name, layers: [{ query: x, key: x }] });
    const store = storeFrom({ blocks: [block("cross"), block("dec"), block("enc")] });
    expect(store.blocks.map(({ name }) => name)).toEqual(["enc", "dec", "cross"]);
  });

  it("tells of tensors that are no part of a block", async () => {
    const store = await open({ ...qk(), "model.embed": f32(2, 2), "self.mask": f32(3, 3) });
    expect(store.report.problems.map(({ code, text }) => [code, text])).toContainEqual([
      "tensor-ignored",
      "`model.embed` is not recognized and is left out; parts of a block are named BLOCK.q.0, BLOCK.k.0, BLOCK.w.0 …",
    ]);
    expect(store.report.problems.length).toBe(2);
    store.dispose();
  });
});

describe("a block", () => {
  it("of fewer queries than keys names its queries by their positions among the keys", async () => {
    const tensors = { "self.q.0": f32(2, 2, 4), "self.k.0": f32(1, 5, 4) };
    const store = await open(tensors, {
      "tokens.text": ["a", "b", "c", "d", "e"],
      blocks: { self: { queryOffset: 3 } },
      "recipe.self": { mask: "causal" },
    });
    expect(store.blocks[0]).toMatchObject({
      queryOffset: 3,
      queryTokens: ["d", "e"],
      keyTokens: ["a", "b", "c", "d", "e"],
      keyHeads: 1,
      kind: "self",
    });
    await store.load({ block: 0, layer: 0, head: 1 });
    expect([...store.visible({ block: 0, layer: 0, head: 1 }, 0)]).toEqual([1, 1, 1, 1, 0]);
    expect(store.report.problems).toEqual([]);
    store.dispose();
    const silent = await open(tensors);
    expect(silent.report.problems.map(({ code }) => code)).toContain("offset");
    silent.dispose();
  });

  it("takes a recipe's tensors of its own layer before shared ones, and layers' overrides", async () => {
    const tensors = {
      ...qk(0),
      ...qk(1),
      "self.bias": { data: Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0), shape: [3, 3] },
      "self.bias.1": { data: Float32Array.of(0, 9, 0, 0, 0, 0, 0, 0, 0), shape: [3, 3] },
    };
    const store = await open(tensors, {
      "recipe.self": { bias: { dense: "self.bias" }, layerOverrides: { 1: { scale: 2 } } },
    });
    const score = async (layer: number, j: number) => {
      const ref = { block: 0, layer, head: 0 };
      await store.load(ref);
      return store.cell(ref, 0, j, "masked");
    };
    expect(await score(0, 0)).toBe(4 * 0.25 * 0.5 + 1);
    expect(await score(1, 0)).toBe(4 * 0.25 * 2);
    expect(await score(1, 1)).toBe(4 * 0.25 * 2 + 9);
    store.dispose();
  });

  it("contributes weight × ‖v·W_O‖ where W_O is there", () => {
    const value = { data: Float32Array.of(1, 2, 0, 3), shape: [1, 2, 2] };
    const outputWeight = { data: Float32Array.of(1, 0, 2, 0, 1, 1), shape: [2, 3] };
    const weights = { data: Float32Array.of(0.25, 0.75), shape: [1, 1, 2] };
    const store = storeFrom({ blocks: [{ layers: [{ weights, value, outputWeight }] }] });
    const ref = { block: 0, layer: 0, head: 0 };
    // v·W_O = (1, 2, 4) and (0, 3, 3).
    expect(store.cell(ref, 0, 0, "contribution")).toBeCloseTo(0.25 * Math.sqrt(21), 12);
    expect(store.cell(ref, 0, 1, "contribution")).toBeCloseTo(0.75 * Math.sqrt(18), 12);
    store.dispose();
  });

  it("knows markers by their looks, and by their places where a file says so", async () => {
    const markers = [
      "[CLS]",
      "[SEP]",
      "[PAD]",
      "<s>",
      "</s>",
      "<pad>",
      "<unk>",
      "<|endoftext|>",
      "<bos>",
      "<start_of_turn>",
      "<｜begin▁of▁sentence｜>",
      "<extra_id_0>",
    ];
    for (const token of markers) expect(isSpecial(token), token).toBe(true);
    for (const token of ["[", "CLS", "[note]", "<b>", "s", "", "<|a b|>", "[CLS] x", "<".repeat(10_000)])
      expect(isSpecial(token), token.slice(0, 20)).toBe(false);
    const store = await open(qk(), {
      "tokens.text": ["[CLS]", "a", "b"],
      blocks: { self: { special: { query: [1], key: [2] } } },
    });
    expect(store.blocks[0].special).toEqual({ query: [false, true, false], key: [false, false, true] });
    store.dispose();
  });
});

describe("storeFrom", () => {
  it("refuses what does not fit at once, with the same words", () => {
    expect(() => storeFrom({ blocks: [{ layers: [{ query: f32(2, 3, 4) }] }] })).toThrow(
      /storeFrom: layer 0 of `self` is left out: `self.q.0` is present, but `self.k.0` is missing/,
    );
    expect(() => storeFrom({ blocks: [] })).toThrow(/no heads were given/);
    expect(() => storeFrom(undefined as never)).toThrow(/expected \{ blocks: \[...\] \} .*, got undefined/);
    expect(() => storeFrom({ blocks: [{ layers: [] }, { layers: [] }] })).toThrow(
      /two blocks are called "self"/,
    );
    expect(() => storeFrom({ blocks: [{ layers: 3 as never }] })).toThrow(OptionError);
    expect(() =>
      storeFrom({
        blocks: [{ recipe: { rope: 1 } as never, layers: [{ query: f32(1, 1, 1), key: f32(1, 1, 1) }] }],
      }),
    ).toThrow(/the field "rope"/);
    expect(() =>
      storeFrom(
        { blocks: [{ layers: [{ weights: f32(1, 1, 1) }] }] },
        { worker: () => ({}) as never, workers: -1 },
      ),
    ).toThrow(/workers must be an integer from 0 to 64/);
  });

  it("takes strided views, as models give them, without asking for dense ones", () => {
    // [n, heads, d] in memory, seen as [heads, n, d].
    const data = Float32Array.from({ length: 24 }, (_, n) => Math.sin(n));
    const view = { data, shape: [2, 3, 4], strides: [4, 8, 1] };
    const dense = {
      data: Float32Array.from(
        { length: 24 },
        (_, n) => data[(Math.floor(n / 12) % 2) * 4 + (Math.floor(n / 4) % 3) * 8 + (n % 4)],
      ),
      shape: [2, 3, 4],
    };
    const [a, b] = [view, dense].map((t) => storeFrom({ blocks: [{ layers: [{ query: t, key: t }] }] }));
    for (const head of [0, 1])
      for (const i of [0, 1, 2])
        expect(a.row({ block: 0, layer: 0, head }, i, "scores")).toEqual(
          b.row({ block: 0, layer: 0, head }, i, "scores"),
        );
    a.dispose();
    b.dispose();
  });
});
