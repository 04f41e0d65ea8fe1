import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { textNpy } from "../../../tests/support/cases/npy-text.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import { writeNpy } from "../../io/numpy/npy.ts";
import { writeNpz } from "../../io/numpy/npz.ts";
import { writeSafetensors } from "../../io/safetensors/safetensors.ts";
import type { HeadRef } from "../block.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import type { StoreInput } from "../layout/input.ts";
import { sampleBundle } from "../sample.ts";
import { writeBundle } from "./bundle.ts";
import { openStore } from "./open.ts";

const text = (value: unknown) =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
const ref: HeadRef = { block: 0, layer: 0, head: 0 };
const weightsOf = async (store: HeadStore, at = ref) => {
  await store.load(at);
  return Array.from({ length: store.blocks[at.block].Nq }, (_, i) => [...store.row(at, i, "weights")]);
};
const problem = (store: HeadStore, code: string) =>
  store.report.problems.find((one) => one.code === code)?.text;

describe("a bundle", () => {
  it("has its first head in memory, which was read to check it, so that the first picture reads nothing", async () => {
    const bytes = await writeBundle(randomInput(3, { layers: 1 }));
    let reads = 0;
    const read = (offset: number, length: number) => {
      reads++;
      return bytes.slice(offset, offset + length);
    };
    const store = await openStore({ size: bytes.length, read });
    const opened = reads;
    expect(store.ready(ref)).toBe(true);
    await store.load(ref);
    expect(store.row(ref, 0, "weights").length).toBe(store.blocks[0].Nk);
    expect(reads).toBe(opened);
    store.dispose();
  });

  it("opened from bytes, a Blob, a path or ranges gives the numbers it was written from", async () => {
    const folder = mkdtempSync(join(tmpdir(), "heed-store-"));
    try {
      for (let seed = 0; seed < 6; seed++) {
        const input = randomInput(seed + 20, { layers: 2 });
        const bytes = await writeBundle(input);
        const path = join(folder, `${seed}.safetensors`);
        writeFileSync(path, bytes);
        const memory = storeFrom(input);
        const sources = [
          bytes,
          new Blob([bytes as Uint8Array<ArrayBuffer>]),
          path,
          { size: bytes.length, read: (at: number, n: number) => bytes.slice(at, at + n) },
        ];
        for (const from of sources) {
          const store = await openStore(from);
          expect(store.blocks).toEqual(memory.blocks);
          expect(store.report.format).toBe("bundle");
          const last = { block: 0, layer: 1, head: store.blocks[0].heads - 1 };
          expect(await weightsOf(store, last)).toEqual(await weightsOf(memory, last));
          expect(await store.measures(last)).toEqual(await memory.measures(last));
          store.dispose();
        }
        memory.dispose();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("is read by byte range: a head's own rows and no more", async () => {
    const input = sampleBundle("causal");
    const bytes = await writeBundle(input);
    let read = 0;
    const store = await openStore({
      size: bytes.length,
      read(offset: number, length: number) {
        read += length;
        return bytes.slice(offset, offset + length);
      },
    });
    expect(store.ready({ ...ref, layer: 1 })).toBe(false);
    expect(() => store.row({ ...ref, layer: 1 }, 0, "weights")).toThrow(
      /layer 1, head 0 is not in memory; await store.load\(ref\) first/,
    );
    read = 0;
    await store.load({ ...ref, layer: 1 });
    // q and k of 26 × 64, v of 26 × 16, in float32.
    expect(read).toBe(26 * (64 + 64 + 16) * 4);
    expect(store.ready({ ...ref, layer: 1 })).toBe(true);
    store.dispose();
  });

  it("is reported in sentences", async () => {
    const input = sampleBundle("bidirectional");
    const lse = storeFrom(input);
    const sums = await lse.lse({ ...ref, layer: 0, head: 0 });
    lse.dispose();
    const [block] = input.blocks;
    const layers = block.layers.map((layer) => ({
      ...layer,
      lse: { data: new Float32Array(4 * 16), shape: [4, 16] },
    }));
    layers[0].lse.data.set(sums);
    const one = { ...input, blocks: [{ ...block, layers: [{ ...layers[0], ...cutHeads(layers[0]) }] }] };
    const store = await openStore(await writeBundle(one as StoreInput), { name: "run.safetensors" });
    expect(store.report.sentences).toEqual([
      "run.safetensors is a heed bundle of 10\u202fkB.",
      "Model: planted heads.",
      "`self`: 1 layer × 1 head, 16 tokens, queries and keys of 64 numbers (float32), values, the model's log-sum-exp, segments A, B; scale 1/√64, no mask.",
      expect.stringMatching(
        /^Verified: the log-sum-exp of 3 rows matches the model's own to [\d.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+\.$/,
      ),
    ]);
    expect(store.report.verified!.maxDelta).toBeLessThan(2e-6);
    expect((await store.measures(ref)).lseDelta).toBeLessThan(2e-6);
    store.dispose();

    expect(store.report.verified!.passed).toBe(true);
    const wrong = { ...one, blocks: [{ ...one.blocks[0], recipe: { mask: "causal" } }] };
    const other = await openStore(await writeBundle(wrong as StoreInput));
    expect(problem(other, "lse")).toMatch(
      /differs from the model's own by .*; the recipe .* is not the model's/,
    );
    expect(other.report.verified).toMatchObject({ passed: false, differs: true, notNumbers: 0 });
    other.dispose();

    // Where both sides are NaN the recipe is not to blame.
    const q = { data: new Float32Array(4).fill(Number.NaN), shape: [1, 2, 2] };
    const lse2 = { data: new Float32Array(2).fill(Number.NaN), shape: [1, 2] };
    const nan = storeFrom({ blocks: [{ tokens: ["a", "b"], layers: [{ query: q, key: q, lse: lse2 }] }] });
    expect(nan.report.verified).toMatchObject({ passed: false, differs: false, notNumbers: 2 });
    expect(problem(nan, "lse")).toMatch(/is not a number, both in the file and computed/);
    nan.dispose();
  });
});

/** The first head alone. */
function cutHeads(layer: StoreInput["blocks"][0]["layers"][0]) {
  return Object.fromEntries(
    Object.entries(layer).map(([name, value]) => {
      const t = value as { data: Float32Array; shape: number[] };
      const shape = [1, ...t.shape.slice(1)];
      return [
        name,
        {
          data: t.data.slice(
            0,
            shape.reduce((a, b) => a * b),
          ),
          shape,
        },
      ];
    }),
  );
}

describe("npz, npy and plain safetensors", () => {
  const q = Float32Array.from({ length: 2 * 3 * 4 * 5 }, (_, n) => Math.sin(n));
  const k = Float32Array.from({ length: 2 * 3 * 4 * 5 }, (_, n) => Math.cos(3 * n));
  const attn = Float32Array.from({ length: 2 * 3 * 4 * 4 }, () => 0.25);

  it("with tokens as an array of texts, as numpy users have them", async () => {
    const weights = writeNpy({ data: attn.slice(0, 16), shape: [1, 4, 4] });
    const words = ["the", "cat", "sat", "naïve"];
    const file = zipSync({
      "attn.npy": weights,
      "tokens.npy": textNpy(words, "U"),
      "notes.npy": textNpy(["x"], "S"),
    });
    const store = await openStore(file);
    expect(store.blocks[0].keyTokens).toEqual(words);
    expect(problem(store, "tensor-ignored")).toMatch(/`notes` holds texts and is left out/);
    store.dispose();
    const named = await openStore(file, { tokens: ["a", "b", "c", "d"] });
    expect(named.blocks[0].keyTokens).toEqual(["a", "b", "c", "d"]);
    named.dispose();
  });

  it("with q and k, or weights, under the names people give them", async () => {
    const shape = [2, 3, 4, 5];
    const tensors = { q: { data: q, shape }, k: { data: k, shape } };
    for (const bytes of [
      await writeNpz(tensors),
      await writeNpz(tensors, { compress: true }),
      writeSafetensors(tensors),
    ]) {
      const store = await openStore(bytes, { tokens: ["a", "b", "c", "d"] });
      expect(store.blocks[0]).toMatchObject({
        name: "self",
        layers: [0, 1],
        heads: 3,
        Nq: 4,
        d: 5,
        queryTokens: ["a", "b", "c", "d"],
      });
      const want = storeFrom({
        blocks: [
          {
            layers: [
              {
                query: { data: q.slice(60), shape: [3, 4, 5] },
                key: { data: k.slice(60), shape: [3, 4, 5] },
              },
            ],
          },
        ],
      });
      expect(await weightsOf(store, { ...ref, layer: 1, head: 2 })).toEqual(
        await weightsOf(want, { ...ref, head: 2 }),
      );
      store.dispose();
      want.dispose();
    }
    const cases: [string, number[], number, number][] = [
      ["attentions", [2, 3, 4, 4], 2, 3],
      ["attn", [2, 1, 3, 4, 4], 2, 3],
      ["weights", [6, 4, 4], 1, 6],
      ["pattern", [4, 24], 1, 1],
    ];
    for (const [name, shape, layers, heads] of cases) {
      const store = await openStore(await writeNpz({ [name]: { data: attn, shape } }));
      expect([store.blocks[0].layers.length, store.blocks[0].heads], name).toEqual([layers, heads]);
      expect(store.report.format).toBe("npz");
      expect(problem(store, "tokens")).toMatch(/has no key tokens: positions are shown/);
      store.dispose();
    }
  });

  it("as numpy.savez(*attentions) writes them, one array a layer with a batch axis", async () => {
    const shape = [1, 3, 4, 4];
    const store = await openStore(
      await writeNpz({ arr_0: { data: attn.slice(48), shape }, arr_1: { data: attn.slice(48), shape } }),
    );
    expect([store.blocks[0].layers, store.blocks[0].heads]).toEqual([[0, 1], 3]);
    store.dispose();
    const batch = await openStore(await writeNpz({ arr_0: { data: attn, shape: [2, 3, 4, 4] } }));
    expect(problem(batch, "batch")).toMatch(/`arr_0` holds a batch of 2 texts; only the first is shown/);
    batch.dispose();
  });

  it("of an npz, arrays that are not used are not read: one with a wrong checksum does not matter", async () => {
    const marker = Float32Array.of(1234.5678);
    const bytes = await writeNpz({
      attn: { data: attn, shape: [2, 3, 4, 4] },
      extra: { data: marker, shape: [1] },
    });
    const at = Buffer.from(bytes).indexOf(Buffer.from(marker.buffer));
    bytes[at] ^= 1;
    const store = await openStore(bytes);
    expect(problem(store, "tensor-ignored")).toMatch(/`extra` is not recognized and is left out/);
    expect(store.blocks[0].heads).toBe(3);
    store.dispose();
  });

  it("an npy file is weights; float16 and uint8 are read as they are", async () => {
    const store = await openStore(writeNpy({ data: attn.slice(0, 16), shape: [4, 4] }), {
      tokens: JSON.stringify({ tokens: ["a", "b", "c", "d"] }),
    });
    expect([store.report.format, store.blocks[0].keyTokens[3]]).toEqual(["npy", "d"]);
    expect(store.cell(ref, 1, 1, "weights")).toBe(0.25);
    store.dispose();
    const bytes = await openStore(
      writeNpy({ data: Uint8Array.of(255, 0, 51, 204), shape: [2, 2], dtype: "uint8" }),
    );
    expect(await weightsOf(bytes)).toEqual([
      [1, 0],
      [0.2, 0.8],
    ]);
    expect(bytes.report.sentences[1]).toMatch(/weights \(uint8, to ±0.002\)/);
    bytes.dispose();
    const half = await openStore(
      writeNpy({ data: Uint16Array.of(0x3c00, 0x3800), shape: [1, 2], dtype: "float16" }),
    );
    expect(await weightsOf(half)).toEqual([[1, 0.5]]);
    half.dispose();
  });

  it("that do not sum to 1 is reported with the worst row's sum and what it may be", async () => {
    const report = async (weights: number[], shape = [2, 2]) => {
      const store = await openStore(writeNpy({ data: Float32Array.from(weights), shape }));
      store.dispose();
      return store.report;
    };
    const codes = async (weights: number[]) => (await report(weights)).problems.map(({ code }) => code);
    const warningOf = async (weights: number[], code: string) =>
      (await report(weights)).problems.find((one) => one.code === code)?.text;
    expect(await warningOf([3, 4, 2, 2], "row-sum")).toBe(
      "rows of the given weights should sum to 1; the worst row checked sums to 7: are these scores (logits), or is the last axis not the keys?",
    );
    expect(await warningOf([0.25, 0, 0.5, 0.5], "row-sum")).toMatch(/sums to 0.250: are some keys missing/);
    expect(await warningOf([0.75, 0.5, 0.25, 0.5], "row-sum")).toMatch(
      /the columns sum to 1, so queries and keys seem to be exchanged/,
    );
    expect(await warningOf([1.4, -0.4, 0.5, 0.5], "negative")).toMatch(
      /^1 given weight is negative \(the smallest is −0.400\)/,
    );
    expect(await codes([1.4, -0.4, 0.5, 0.5])).toEqual(["tokens", "negative"]);
    expect(await warningOf([Math.log(0.5), Math.log(0.5), 0, -Infinity], "negative")).toMatch(
      /these are log-weights/,
    );
    expect(await warningOf([-1, -3, -2, -2], "negative")).toMatch(/scores \(logits\) or log-weights/);
    // Every row is checked, not three of them.
    const n = 40;
    const many = Array.from({ length: n * n }, (_, at) => (Math.floor(at / n) === 17 ? Number.NaN : 1 / n));
    const { problems, sentences, rowSum } = await report(many, [n, n]);
    expect(problems.map(({ text }) => text)).toContain(
      "40 weights are not numbers (NaN or infinite); they are marked and left out of all means",
    );
    expect(rowSum).toMatchObject({ rows: 39, notNumbers: 40, negative: 0 });
    expect(sentences.at(-1)).toMatch(/^Checked all 39 rows without NaN: each sums to 1 \(error ≤/);
  });
});

describe("JSON", () => {
  it("takes tokens that come with it where it has none of its own, and says where it has", async () => {
    const attention = [
      [
        [
          [0.5, 0.5],
          [0.1, 0.9],
        ],
      ],
    ];
    const bare = await openStore(text({ attention }), { tokens: ["x", "y"] });
    expect(bare.blocks[0].keyTokens).toEqual(["x", "y"]);
    const store = await openStore(text({ attention, tokens: ["a", "b"] }), { tokens: ["x", "y"] });
    expect(store.blocks[0].keyTokens).toEqual(["a", "b"]);
    expect(problem(store, "tokens")).toMatch(/has tokens; the given ones are not used/);
  });

  it("that is cut off says so", async () => {
    const cut = new TextEncoder().encode('{"attention": [[[[0.5, 0.5],[0.1,');
    await expect(openStore(cut, { name: "cut.json" })).rejects.toThrow(
      "openStore: cut.json: the file ends in the middle of a value: it is cut off (byte 33)",
    );
  });

  const n2 = [
    [0.5, 0.5],
    [0.1, 0.9],
  ];
  const open = (value: unknown) => openStore(text(value), { name: "attention.json" });

  it("as BertViz users have it: layers of a batch of heads, tokens, where sentence B starts", async () => {
    const store = await open({
      attention: [[[n2, n2]], [[n2, n2]]],
      tokens: ["[CLS]", "a"],
      sentence_b_start: 1,
    });
    expect(store.blocks[0]).toMatchObject({
      layers: [0, 1],
      heads: 2,
      queryTokens: ["[CLS]", "a"],
      special: { query: [true, false] },
    });
    expect(store.blocks[0].segments).toEqual([
      { name: "A", query: [0, 1], key: [0, 1] },
      { name: "B", query: [1, 2], key: [1, 2] },
    ]);
    expect(await weightsOf(store, { block: 0, layer: 1, head: 1 })).toEqual(n2);
    store.dispose();
    const bare = await open([[n2], [n2]]);
    expect([bare.blocks[0].layers.length, bare.blocks[0].heads]).toEqual([2, 1]);
    bare.dispose();
  });

  it("as BertViz's own parameters, and with an encoder, a decoder and cross attention", async () => {
    const views = await open({
      attention: [
        { name: "All", attn: [[n2]], left_text: ["x", "y"], right_text: ["u", "v"] },
        { name: "A → B", attn: [[n2]], left_text: ["x", "y"], right_text: ["x", "y"] },
      ],
      default_filter: "0",
    });
    expect(
      views.blocks.map(({ name, kind, queryTokens, keyTokens }) => [name, kind, queryTokens, keyTokens]),
    ).toEqual([
      ["all", "cross", ["x", "y"], ["u", "v"]],
      ["a-b", "self", ["x", "y"], ["x", "y"]],
    ]);
    views.dispose();
    const both = await open({
      encoder_attention: [[n2], [n2], [n2]],
      decoder_attention: [[[[1]]]],
      cross_attention: [[[[0.25, 0.75]]]],
      encoder_tokens: ["u", "v"],
      decoder_tokens: ["x"],
    });
    expect(both.blocks.map(({ name, kind, layers, Nq, Nk }) => [name, kind, layers.length, Nq, Nk])).toEqual([
      ["enc", "self", 3, 2, 2],
      ["dec", "self", 1, 1, 1],
      ["cross", "cross", 1, 1, 2],
    ]);
    expect(both.blocks[2].keyTokens).toEqual(["u", "v"]);
    both.dispose();
  });

  it("as CircuitsVis has it, with names of heads, and as Inspectus has it, in base64", async () => {
    const store = await open({
      tokens: ["a", "b"],
      attention: [n2, n2],
      attentionHeadNames: ["L0H0", "L0H1"],
    });
    expect([store.blocks[0].heads, store.blocks[0].headNames]).toEqual([2, ["L0H0", "L0H1"]]);
    store.dispose();
    const values = Buffer.from(Float32Array.of(0.5, 0.5, 0.25, 0.75).buffer).toString("base64");
    const packed = await open({
      attention: [
        { values, shape: [1, 2, 2] },
        { values, shape: [1, 2, 2] },
      ],
      tokens: ["a", "b"],
    });
    expect(packed.blocks[0].layers).toEqual([0, 1]);
    expect(await weightsOf(packed, { block: 0, layer: 1, head: 0 })).toEqual([
      [0.5, 0.5],
      [0.25, 0.75],
    ]);
    packed.dispose();
  });

  it("with NaN, Infinity and null keeps them, counted", async () => {
    const store = await openStore(
      text('{"attention": [[[NaN, 0.5], [-Infinity, null]]], "tokens": ["a", "b"]}'),
    );
    expect(await weightsOf(store)).toEqual([
      [Number.NaN, 0.5],
      [-Infinity, Number.NaN],
    ]);
    expect((await store.measures(ref)).notNumbers).toBe(3);
    store.dispose();
  });

  it("reads numbers exactly, whatever their digits", async () => {
    const numbers = [
      "0.1",
      "1e-7",
      "0.30000000000000004",
      "5e-324",
      "1.7976931348623157e308",
      "123456789012345678",
      "-0.5E+2",
      "0",
      "3.14159265358979323846",
    ];
    const store = await openStore(text(`[[${numbers.join(",")}]]`));
    expect(await weightsOf(store)).toEqual([numbers.map(Number)]);
    store.dispose();
  });

  it("that does not fit says where, and what was expected", async () => {
    const cases: [unknown, RegExp][] = [
      [
        "[[1,2],[3]]",
        /attention.json: a list of 1 at depth 2 beside lists of 2; all must be of one length \(byte 7\)/,
      ],
      ["[[1,[2]]]", /a list where a number should be/],
      ["[[[1],2]]", /a number where a list should be/],
      [{ hello: 1 }, /no attention in it: expected nested lists .* got an object with "hello"/],
      ["[]", /no attention in it: .* got a list of 0/],
      ["[[1,2]", /it is cut off \(byte 6\)/],
      ['{"attention": [[1]], "attention": 1}', /the key "attention" appears twice/],
      ["[[01]]", /not a JSON number/],
      ["[[1.]]", /not a JSON number/],
      ['{"tokens": ["a\u0001"]}', /a control character in a string/],
      [`${"[".repeat(100)}1${"]".repeat(100)}`, /nested deeper than 32/],
      [`${'{"a":'.repeat(100)}1${"}".repeat(100)}`, /nested deeper than 32/],
      [
        { attention: [[[[[[[1]]]]]]] },
        /`attn` is \[1, 1, 1, 1, 1, 1, 1\]; expected \[layers, heads, queries, keys or numbers\]/,
      ],
      [{ attention: [{ values: "!", shape: [1] }] }, /values that are not base64/],
      [
        { attention: [{ values: "AAAA", shape: [1] }] },
        /values of 3 bytes for the shape \[1\], which takes 4 as float32/,
      ],
    ];
    for (const [value, message] of cases)
      await expect(open(value), String(value).slice(0, 40)).rejects.toThrow(message);
    const store = await open({ attention: [n2], tokens: ["a", "b"], sentence_b_start: 7 });
    expect(problem(store, "sentence-b-start")).toMatch(/must be an integer from 0 to 2, got 7/);
    store.dispose();
  });

  it("beyond 256 MiB is refused before it is read, with what to do instead", async () => {
    let read = 0;
    const huge = {
      size: 2 ** 30,
      read(_: number, length: number) {
        read += length;
        return text("[".padEnd(length));
      },
    };
    await expect(openStore(huge)).rejects.toThrow(
      /\(JSON\): 1073741824 bytes in memory; the limit is 268435456 \(maxBytes\)\. Save q and k/,
    );
    expect(read).toBeLessThan(100);
  });
});

describe("what is not opened", () => {
  it("is a pickle: torch's old and new files, and Python's own, with the two lines that convert", async () => {
    const pickles = [Uint8Array.of(0x80, 2, 0x8a, 10, 0x6c, 0xfc), await zipWith("model/data.pkl")];
    for (const bytes of pickles) {
      const error = await openStore(bytes, { name: "weights.pt" }).catch((e) => e);
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(error.code).toBe("pickle");
      const lines = error.message.split("\n");
      expect(lines.length).toBe(3);
      expect(lines[1]).toBe("import torch; from safetensors.torch import save_file");
      expect(lines[2]).toBe(
        'save_file({k: v.contiguous() for k, v in torch.load("weights.pt", weights_only=True).items()}, "weights.safetensors")',
      );
    }
  });

  it("is detected by its first bytes", async () => {
    const cases: [Uint8Array, RegExp][] = [
      [new Uint8Array(0), /x is empty/],
      [text("GGUF\0\0\0\0"), /begins with "GGUF.*; run the model and save q and k/],
      [text("hello world, this is text"), /begins with "hello wo": not a safetensors, npz, npy or JSON file/],
      [
        Uint8Array.of(0x89, 0x48, 0x44, 0x46, 13, 10, 26, 10, 0),
        /begins with the bytes 89 48 44 46 0d 0a 1a 0a: not a safetensors/,
      ],
    ];
    for (const [bytes, message] of cases)
      await expect(openStore(bytes, { name: "x" })).rejects.toThrow(message);
    await expect(openStore(text("short"), { name: "run.safetensors" })).rejects.toThrow(FormatError);
    await expect(openStore(3 as never)).rejects.toThrow(/expected a path, a file handle, a Blob, bytes/);
    await expect(
      openStore(writeNpy({ data: Float32Array.of(1), shape: [1, 1] }), { tokens: "[1]" }),
    ).rejects.toThrow(/expected a list of texts/);
    await expect(
      openStore(writeNpy({ data: Float32Array.of(1), shape: [1, 1] }), { tokens: "[" }),
    ).rejects.toThrow(/tokens must be a list of texts or JSON/);
  });
});

/** A zip archive with one empty stored member. */
async function zipWith(name: string): Promise<Uint8Array> {
  const { zipSync } = await import("fflate");
  return zipSync({ [name]: new Uint8Array(0) }, { level: 0 });
}
