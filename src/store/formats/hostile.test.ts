import { describe, expect, it } from "vitest";
import { Dice } from "../../../tests/files/mutants.ts";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { HeedError } from "../../core/errors.ts";
import { deflate } from "../../io/archive/deflate.ts";
import { writeNpz } from "../../io/numpy/npz.ts";
import { writeSafetensors } from "../../io/safetensors/safetensors.ts";
import { writeBundle } from "./bundle.ts";
import { openStore } from "./open.ts";

const ref = { block: 0, layer: 0, head: 0 };
const encode = (text: string) => new TextEncoder().encode(text);

/** Opens and looks around: everything works, or a typed error says why not. */
async function look(bytes: Uint8Array): Promise<string> {
  try {
    const store = await openStore(bytes, { name: "hostile" });
    try {
      for (const sentence of store.report.sentences)
        expect(sentence).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
      const { layers, Nq, Nk } = store.blocks[0];
      const first = { ...ref, layer: layers[0] };
      await store.load(first);
      if (Nq > 0 && Nk > 0 && Nq * Nk < 1e6) {
        expect(store.row(first, Nq - 1, "weights").length).toBe(Nk);
        store.ledger(first, 0, Nk - 1);
        await store.measures(first);
      }
      return "opened";
    } finally {
      store.dispose();
    }
  } catch (error) {
    if (!(error instanceof HeedError)) throw error;
    expect(error.message.length).toBeLessThan(20_000);
    return error.code;
  }
}

/** A copy with a few bytes changed, cut, doubled or exchanged for what means something there. */
function mutant(bytes: Uint8Array, dice: Dice, words: readonly string[]): Uint8Array {
  let out: Uint8Array<ArrayBuffer> = bytes.slice() as Uint8Array<ArrayBuffer>;
  for (let n = dice.below(3); n >= 0; n--) {
    const at = dice.below(out.length || 1);
    const kind = dice.below(6);
    if (kind === 0) out[at] ^= 1 << dice.below(8);
    else if (kind === 1) out[at] = dice.below(256);
    else if (kind === 2) out = out.slice(0, at);
    else if (kind === 3) out = splice(out, at, dice.below(20), new Uint8Array(0));
    else if (kind === 4) out = splice(out, at, 0, out.slice(at, at + dice.below(40)));
    else out = splice(out, at, dice.below(6), encode(dice.pick(words)));
  }
  return out;
}

function splice(bytes: Uint8Array, at: number, remove: number, insert: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...bytes.subarray(0, at), ...insert, ...bytes.subarray(at + remove)]);
}

describe("mutated files", () => {
  const words = [
    '"',
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "-1",
    "1e999",
    "NaN",
    "null",
    "9007199254740993",
    "\\ud800",
    "__proto__",
    "causal",
    '{"tensor":"x"}',
    "[[[[",
  ];

  it("bundles open, or are refused with a typed error", async () => {
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 300; seed++) {
      const bytes = await writeBundle(randomInput(seed % 12, { d: 3, dv: 2 }));
      // Most of them in the header, where the words are.
      const header = 8 + new DataView(bytes.buffer).getUint32(0, true);
      const dice = new Dice(seed);
      const broken =
        seed % 4 === 0
          ? mutant(bytes, dice, words)
          : splice(bytes, 8, header - 8, mutant(bytes.slice(8, header), dice, words));
      if (seed % 4 !== 0)
        new DataView(broken.buffer).setUint32(0, broken.length - (bytes.length - header) - 8, true);
      const result = await look(broken);
      counts.set(result, (counts.get(result) ?? 0) + 1);
    }
    expect(counts.get("opened")).toBeGreaterThan(20);
    expect(counts.size).toBeGreaterThan(5);
  });

  it("JSON opens, or is refused with a typed error", async () => {
    const samples = [
      '{"attention": [[[[0.5, 0.5], [0.1, 0.9]]]], "tokens": ["[CLS]", "a\\u00e9"], "sentence_b_start": 1}',
      '{"attention": [{"name": "x", "attn": [[[[1, 0], [0, 1]]]], "left_text": ["a", "b"], "right_text": ["a", "b"]}]}',
      '{"attention": [{"values": "AACAPwAAAAAAAAAAAACAPw==", "shape": [2, 2]}], "tokens": ["a", "b"]}',
      '{"encoder_attention": [[[1]]], "cross_attention": [[[0.5, 0.5]]], "encoder_tokens": ["a"], "decoder_tokens": ["b"]}',
    ].map(encode);
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 500; seed++) {
      const result = await look(mutant(samples[seed % samples.length], new Dice(seed + 5000), words));
      counts.set(result, (counts.get(result) ?? 0) + 1);
    }
    expect(counts.get("opened")).toBeGreaterThan(30);
  });

  it("npz files open, or are refused with a typed error", async () => {
    const shape = [1, 2, 2];
    const samples = [
      await writeNpz({ attn: { data: Float32Array.of(1, 0, 0.5, 0.5), shape } }),
      await writeNpz(
        { q: { data: new Float32Array(4), shape }, k: { data: new Float32Array(4), shape } },
        { compress: true },
      ),
    ];
    for (let seed = 0; seed < 300; seed++)
      await look(mutant(samples[seed % 2], new Dice(seed + 9000), words));
  });
});

describe("hostile files", () => {
  it("with tokens of every kind keep them as the texts they are", async () => {
    const tokens = [
      "<script>alert(1)</script>",
      "</script><img src=x onerror=alert(1)>",
      "\u202eright\u2066",
      "\ud800",
      "x".repeat(10_000),
      "\0\n\t",
      "__proto__",
      "",
      "👩‍👩‍👧",
      "שלום",
    ];
    const n = tokens.length;
    const weights = { data: new Float32Array(n * n).fill(1 / n), shape: [1, n, n] };
    const input = {
      name: "\u202ename\n",
      blocks: [
        {
          name: "self\u2066\n<b>",
          tokens,
          segments: [{ name: "\u202e", query: [0, n] as const, key: [0, n] as const }],
          layers: [{ weights }],
        },
      ],
    };
    const store = await openStore(await writeBundle(input), { name: "bad\nname\u202e" });
    expect(store.blocks[0].queryTokens).toEqual(tokens);
    expect(store.blocks[0].keyTokens).toEqual(tokens);
    for (const sentence of store.report.sentences)
      expect(sentence).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    await store.load(ref);
    expect((await store.measures(ref)).effectiveKeys).toBeCloseTo(n, 5);
    store.dispose();
    const json = await openStore(encode(`{"attention": [[[1]]], "tokens": ["\\ud800<b>"]}`));
    expect(json.blocks[0].queryTokens).toEqual(["\ud800<b>"]);
    json.dispose();
  });

  it("cannot reach an object's prototype by their names", async () => {
    const store = await openStore(
      writeSafetensors(
        { "a.w.0": { data: Float32Array.of(1), shape: [1, 1, 1] } },
        {
          metadata: {
            blocks: '{"__proto__": {"kind": "cross"}, "a": {"__proto__": {"queryOffset": 3}}}',
            "recipe.__proto__": '{"scale": 9}',
            "recipe.constructor": "{}",
          },
        },
      ),
    );
    expect(store.blocks[0]).toMatchObject({ kind: "self", queryOffset: 0, recipe: {} });
    expect(({} as { kind?: string }).kind).toBeUndefined();
    store.dispose();
  });

  it("with a header of 100 MB in a file of 50 bytes, or an npz that claims 8 GB, are rejected before anything of that size is allocated", async () => {
    const header = new Uint8Array(50);
    new DataView(header.buffer).setUint32(0, 99_000_000, true);
    header[8] = 0x7b;
    expect(await look(header)).toBe("unknown-format");
    await expect(openStore(header, { name: "x.safetensors" })).rejects.toThrow(
      /a header of 99000000 bytes in a file of 50/,
    );

    const bomb = await bombOf(8 * 2 ** 30);
    await expect(openStore(bomb, { name: "bomb.npz" })).rejects.toThrow(
      /bomb.npz: \d+ bytes in memory; the limit is 4294967296 \(maxBytes\)/,
    );
    // A smaller one is stopped by the first bytes that come out.
    expect(await look(await bombOf(2 ** 20))).toBe("npy-magic");
  });

  it("with shapes that claim more than there is are refused", async () => {
    const entry = '{"self.w.0":{"dtype":"F32","shape":[1,100000,100000],"data_offsets":[0,40000000000]}}';
    const bytes = new Uint8Array(8 + entry.length);
    new DataView(bytes.buffer).setUint32(0, entry.length, true);
    bytes.set(encode(entry), 8);
    expect(await look(bytes)).toBe("safetensors-truncated");
  });
});

/** An archive of members whose sizes come to `total` by what they say; inside each are 8 MiB of zeros. */
async function bombOf(total: number): Promise<Uint8Array> {
  const parts = await deflate(new Uint8Array(8 * 2 ** 20));
  const packed = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    packed.set(part, offset);
    offset += part.length;
  }
  // The format allows a thousandfold; a member may say that much.
  const limit = packed.length * 1000;
  const count = Math.ceil(total / limit);
  const locals: Uint8Array[] = [];
  const centrals: Uint8Array[] = [];
  let at = 0;
  for (let n = 0; n < count; n++) {
    const name = encode(`a${n}.npy`);
    const size = Math.min(limit, total - n * limit);
    const fields = (central: boolean) => {
      const head = new DataView(new ArrayBuffer(central ? 46 : 30));
      const shift = central ? 2 : 0;
      head.setUint32(0, central ? 0x02014b50 : 0x04034b50, true);
      if (central) head.setUint16(4, 20, true);
      head.setUint16(4 + shift, 20, true);
      head.setUint16(8 + shift, 8, true);
      head.setUint32(18 + shift, packed.length, true);
      head.setUint32(22 + shift, size, true);
      head.setUint16(26 + shift, name.length, true);
      if (central) head.setUint32(42, at, true);
      return new Uint8Array(head.buffer);
    };
    centrals.push(fields(true), name);
    locals.push(fields(false), name, packed);
    at += 30 + name.length + packed.length;
  }
  const directory = centrals.reduce((n, part) => n + part.length, 0);
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, count, true);
  end.setUint16(10, count, true);
  end.setUint32(12, directory, true);
  end.setUint32(16, at, true);
  const out = new Uint8Array(at + directory + 22);
  let to = 0;
  for (const part of [...locals, ...centrals, new Uint8Array(end.buffer)]) {
    out.set(part, to);
    to += part.length;
  }
  return out;
}
