/** Input and output of commands: standard input, values, --causal for arrays, sizes, messages. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { causal, scaledDotProductAttention, tensor } from "../../src/index.ts";
import { readNpy, writeNpz, writeSafetensors } from "../../src/io/index.ts";
import { heed, heedFrom, work } from "./cli.ts";

const small = tensor([
  [1, 2],
  [3, 4],
  [0, 1],
]);

describe("standard input", () => {
  it("is a file of tensors as -, whatever kind of file it is", async () => {
    const three = { q: small, k: small, v: small };
    for (const [kind, bytes] of [
      ["npz", await writeNpz(three)],
      ["safetensors", writeSafetensors(three)],
    ] as const) {
      expect(await heedFrom(bytes, ["inspect", "-"])).toMatchObject({
        code: 0,
        out: expect.stringMatching(new RegExp(`^standard input: ${kind}, 3 tensors`)),
      });
      expect((await heedFrom(bytes, ["inspect", "-#k"])).out).not.toMatch(/^q /m);
      expect(await heedFrom(bytes, ["run", "-", "--causal", "-o", "out.npy"])).toMatchObject({ code: 0 });
      expect(readNpy(readFileSync(join(work, "out.npy"))).data[0]).toBe(1);
      expect(await heedFrom(bytes, ["convert", "-", "o.safetensors"])).toMatchObject({ code: 0 });
    }
    expect(await heedFrom("no tensors", ["inspect", "-"])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^heed inspect: standard input: neither npy, npz nor safetensors/),
    });
  });

  it("is read once", async () => {
    expect(await heedFrom(await writeNpz({ q: small }), ["run", "-", "-", "v.npy"])).toMatchObject({
      code: 2,
      err: "heed run: - is standard input, which can be read once (see heed run --help)\n",
    });
  });

  it("is one text per line for a command that takes texts, and one text for a command that takes one", async () => {
    const lines = "the old ship\n\nthe river bank\n";
    const show = JSON.parse((await heedFrom(lines, ["show", "-", "--json", "--layer", "0"])).out);
    expect(show.texts.map(({ text }: { text: string }) => text)).toEqual(["the old ship", "the river bank"]);
    // Without TEXT, what is piped in is read.
    expect(JSON.parse((await heedFrom(lines, ["show", "--json", "--layer", "0"])).out)).toEqual(show);
    const similar = JSON.parse((await heedFrom(lines, ["similar", "encoder", "-", "--json"])).out);
    expect(similar.texts).toEqual(["the old ship", "the river bank"]);
    const fill = await heedFrom("the [MASK] of\nthe river\n", ["fill", "encoder", "-", "--json"]);
    expect(JSON.parse(fill.out).text).toBe("the [MASK] of\nthe river");
    expect(await heedFrom("the old ship", ["figure", "--text", "-", "-o", "f.svg"])).toMatchObject({
      code: 0,
    });
    expect(await heedFrom("a\nb\n", ["embed", "encoder", "-", "-o", "e.npy"])).toMatchObject({ code: 0 });
    expect(readNpy(readFileSync(join(work, "e.npy"))).shape[0]).toBe(2);
    expect(await heedFrom(Uint8Array.of(0xff, 0xfe), ["show", "-"])).toMatchObject({
      code: 1,
      err: "heed show: standard input is not UTF-8 text\n",
    });
  });

  it("is what - means where a folder is called -", async () => {
    mkdirSync(join(work, "-"));
    expect((await heedFrom(await writeNpz({ q: small }), ["inspect", "-"])).out).toMatch(
      /^standard input: npz/,
    );
  });

  it("is a text for train, the second text of a pair, and a list of tokens", async () => {
    const text = "the old ship and the whale were in the sea\n".repeat(40);
    const size = ["--steps", "1", "--layers", "1", "--width", "16", "--heads", "2", "--context", "16"];
    const train = ["train", "-", "-o", "m", ...size, "--vocab", "300", "--batch", "2"];
    expect(await heedFrom(text, train)).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(join(work, "m/training.json"), "utf8")).texts).toEqual(["standard input"]);
    expect(await heedFrom(" ", ["train", "-", "-o", "n"])).toMatchObject({
      code: 1,
      err: "heed train: standard input is empty\n",
    });
    const show = ["show", "a ship", "--pair", "-", "--json", "--layer", "0"];
    const [pair] = JSON.parse((await heedFrom("a whale\n", show)).out).texts;
    expect(pair.text).toBe("a ship\na whale");
    writeFileSync(join(work, "a.npz"), await writeNpz({ q: tensor([[[1], [2]]]), k: tensor([[[1], [2]]]) }));
    const figure = ["figure", "a.npz", "--tokens", "-", "-o", "t.csv"];
    expect(await heedFrom('["old", "ship"]', figure)).toMatchObject({ code: 0 });
    expect(readFileSync(join(work, "t.csv"), "utf8")).toMatch(/^query,old,ship/);
  });

  it("without a writer does not block a command", async () => {
    // A program that starts heed may leave a socket open on its standard input.
    const { code, out } = await heed(["show", "--json", "--layer", "0"]);
    expect(code).toBe(0);
    expect(JSON.parse(out).texts).toHaveLength(2);
  });
});

describe("values", () => {
  it("run prints a small output, and with --values lse and weights too", async () => {
    writeFileSync(join(work, "s.npz"), await writeNpz({ q: small, k: small, v: small }));
    const { output, lse } = scaledDotProductAttention(small, small, small, { isCausal: true });
    const plain = await heed(["run", "s.npz", "--causal"]);
    const rows = output.toString().split("\n").slice(1).join("\n");
    expect(plain.out).toContain(`\noutput [3, 2] float32\n${rows}\n`);
    expect(plain.out).not.toContain("lse");
    // The time of such a small call is mostly the compilation of its kernel.
    expect(plain.out).toMatch(/\ntime {4}[\d.]+ m?s \(strict, 1 thread\)\n/);
    const all = await heed(["run", "s.npz", "--causal", "--values"]);
    expect(all.out).toContain(`\nlse [3] float32\n${lse.toString().split("\n")[1]}`);
    const json = JSON.parse((await heed(["run", "s.npz", "--causal", "--values", "--json"])).out);
    expect(json.values).toEqual({ output: output.toArray(), lse: lse.toArray() });
    // --weights need a file, or --values to be printed.
    const { weights } = scaledDotProductAttention(small, small, small, {
      isCausal: true,
      returnWeights: true,
    });
    const shown = await heed(["run", "s.npz", "--causal", "--weights", "--rows", "2", "--values"]);
    expect(shown.out).toContain(
      `\nweights [1, 3] float32\n[${weights.toString().split("\n")[3].trim().slice(0, -1)}`,
    );
    expect((await heed(["run", "s.npz", "--weights"])).err).toMatch(
      /-o FILE\.safetensors; --values prints them/,
    );
    // A large output is printed only with --values, by its edges.
    expect((await heed(["run", "qkv.npz"])).out).not.toContain("[[");
    expect((await heed(["run", "qkv.npz", "--values"])).out).toMatch(
      /output \[2, 4, 33, 8\] float32\n\[\[\[\[.*…/,
    );
  });

  it("inspect prints small tensors, and all with --values", async () => {
    const ids = tensor(Int32Array.of(7, -1), [2], "int32");
    const flags = tensor(Uint8Array.of(1, 0), [2], "bool");
    const long = tensor(new Float32Array(2000), [2000]);
    writeFileSync(join(work, "m.safetensors"), writeSafetensors({ small, ids, flags, long }));
    const { out } = await heed(["inspect", "m.safetensors"]);
    expect(out).toContain("\nsmall [3, 2] float32\n[[1, 2],\n [3, 4],\n [0, 1]]\n");
    expect(out).toMatch(/\nids \[2\] int32\n\[ 7, -1\]/);
    expect(out).toMatch(/\nflags \[2\] bool\n\[ true, false\]/);
    expect(out).not.toContain("long [2000]");
    expect((await heed(["inspect", "m.safetensors", "--values"])).out).toContain(
      "\nlong [2000] float32\n[0, 0, 0, …, 0, 0, 0]\n",
    );
    const json = JSON.parse((await heed(["inspect", "m.safetensors#ids", "--values", "--json"])).out);
    expect(json.tensors[0].values).toEqual([7, -1]);
  });
});

describe("--causal of commands that open arrays", () => {
  const scores = (seed: number) =>
    tensor(
      Float32Array.from({ length: 24 }, (_, i) => Math.sin(seed + i)),
      [2, 3, 4],
    );

  it("figure shows q and k of an npz as a decoder's", async () => {
    const [q, k] = [scores(1), scores(2)];
    writeFileSync(join(work, "a.npz"), await writeNpz({ q, k }));
    const { weights } = scaledDotProductAttention(q, k, k, { attnMask: causal(), returnWeights: true });
    const last = weights.toFloat64().slice(9 + 6);
    for (const [extra, first] of [
      [["--causal"], ["1", "masked", "masked"]],
      [[], [expect.any(String), expect.stringMatching(/^0\.\d/), expect.stringMatching(/^0\.\d/)]],
    ] as const) {
      const args = ["figure", "a.npz", "--layer", "0", "--head", "1", "-o", "w.csv", ...extra];
      expect(await heed(args)).toMatchObject({ code: 0 });
      const [, ...rows] = readFileSync(join(work, "w.csv"), "utf8").trim().split(/\r?\n/);
      const cells = rows.map((line) => line.split(",").slice(1));
      expect(cells[0]).toEqual(first);
      // The last query sees all keys either way.
      expect(cells[2].map(Number)).toEqual([...last].map((x) => expect.closeTo(x, 5)));
    }
  });

  it("html accepts it, warns that it is unused for weights and files with a recipe, and rejects it for a text", async () => {
    writeFileSync(
      join(work, "w.npz"),
      await writeNpz({
        attn: tensor([
          [
            [1, 0],
            [0.5, 0.5],
          ],
        ]),
      }),
    );
    expect(await heed(["figure", "w.npz", "--causal", "-o", "w.svg"])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^warning: .* holds weights, .* the given recipe is not used/m),
    });
    expect(await heed(["show", "the old ship", "-o", "r.safetensors"])).toMatchObject({ code: 0 });
    expect(await heed(["figure", "r.safetensors", "--causal", "-o", "w.svg"])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/has a recipe; the given one is not used/),
    });
    expect(await heed(["figure", "--text", "a b", "--causal", "-o", "w.svg"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--causal goes with a file, not with --text"),
    });
  });
});

describe("--max-bytes", () => {
  it("limits the memory of a file, and the error names it", async () => {
    for (const args of [
      ["run", "qkv.npz"],
      ["inspect", "qkv.npz", "--stats"],
      ["convert", "qkv.npz", "o.npz"],
      ["inspect", "qkv.safetensors", "--stats"],
    ])
      expect(await heed([...args, "--max-bytes", "1K"])).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringMatching(
          /^heed \w+: qkv\.\w+: .*: \d+ bytes in memory; the limit is 1024 \(--max-bytes\)\n$/,
        ),
      });
    expect(await heed(["run", "qkv.npz", "--max-bytes", "0.5G"])).toMatchObject({ code: 0 });
    expect(await heed(["run", "qkv.npz", "--max-bytes", "much"])).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        '--max-bytes must be a size such as 500M or 16G (units of 1024), got "much"',
      ),
    });
  });
});

describe("an output that is the input", () => {
  it("is rejected, and the input is unchanged", async () => {
    const attention = JSON.stringify([[[[1, 0], [0.5, 0.5]]]]); // biome-ignore format: a matrix
    writeFileSync(join(work, "attn.json"), attention);
    const before = readFileSync(join(work, "qkv.npz"));
    for (const args of [
      ["run", "qkv.npz", "-o", "./qkv.npz"],
      ["run", "qkv.npz#q", "k.npy", "v.npy", "-o", "qkv.npz"],
      ["convert", "qkv.npz#q", join(work, "qkv.npz")],
      ["figure", "attn.json", "-o", "attn.json"],
    ]) {
      const { code, err } = await heed(args);
      expect([args, code]).toEqual([args, 1]);
      expect(err).toMatch(/cannot write .*: it is the input, and would be replaced; name another file\n$/);
    }
    expect(readFileSync(join(work, "qkv.npz"))).toEqual(before);
    expect(readFileSync(join(work, "attn.json"), "utf8")).toBe(attention);
  });
});

describe("messages", () => {
  it("name the file as it was given, whatever its first bytes are", async () => {
    const npz = await writeNpz({ q: small });
    const safetensors = writeSafetensors({ q: small });
    mkdirSync(join(work, "f"));
    writeFileSync(join(work, "f/cut.npz"), npz.subarray(0, npz.length - 9));
    writeFileSync(join(work, "f/cut.safetensors"), safetensors.subarray(0, safetensors.length - 9));
    writeFileSync(join(work, "f/empty"), "");
    writeFileSync(join(work, "f/list.json"), "[1, 2]");
    writeFileSync(join(work, "f/docs.jsonl"), '{"text": "a ship"}\n');
    for (const [args, line] of [
      [["figure", "f/cut.npz", "-o", "x.svg"], /^f\/cut\.npz: not a zip file/],
      [["html", "f/cut.safetensors", "-o", "x.html"], /^f\/cut\.safetensors: tensor "q": ends at byte/],
      [["view", "f/empty"], /^f\/empty is empty$/],
      [["figure", "f/list.json", "-o", "x.svg"], /^f\/list\.json: `attn` is \[2\]/],
      [["train", "f", "-o", "m"], /^cannot read f: it is a folder$/],
      [
        ["capture", "encoder", "f/docs.jsonl", "-o", "f/empty"],
        /^cannot write the folder f\/empty: it is a file$/,
      ],
      [
        ["figure", "qkv.npz", "--tokens", "f/list.json", "-o", "x.svg"],
        /^--tokens: f\/list\.json must be a JSON list of texts, got \[1, 2\]$/,
      ],
      [
        ["figure", "qkv.npz", "--tokens", "f/empty", "-o", "x.svg"],
        /^--tokens: f\/empty must be a JSON list of texts, got ""$/,
      ],
    ] as const) {
      const { code, err } = await heed([...args]);
      expect([args, code]).toEqual([args, 1]);
      expect(err.replace(`heed ${args[0]}: `, "").trimEnd()).toMatch(line);
    }
  });

  it("name the command and no function of the library", async () => {
    writeFileSync(join(work, "s.npz"), await writeNpz({ q: small, k: small, v: small }));
    for (const [args, line] of [
      [["figure", "nope.npz", "-o", "x.svg"], "heed figure: cannot open nope.npz: no such file or directory"],
      [["view", "nope.npz"], "heed view: cannot open nope.npz: no such file or directory"],
      [["train", "nope.txt", "-o", "m"], "heed train: cannot read nope.txt: no such file or directory"],
      [
        ["embed", "encoder", "nope.txt", "-o", "e.npy"],
        "heed embed: cannot read nope.txt: no such file or directory",
      ],
      [
        ["capture", "encoder", "nope.jsonl", "-o", "m"],
        "heed capture: cannot read nope.jsonl: no such file or directory",
      ],
      [
        ["figure", "--text", "a b", "--layer", "9", "-o", "x.svg"],
        "heed figure: layer must be one of block self's layers, 0 to 3, got 9",
      ],
      [
        ["show", "hi", "--model", "gpt2"],
        /^heed show: there is no folder gpt2, and Hugging Face's cache .* "heed pull gpt2" downloads it/,
      ],
      [
        ["show", "hi", "--model", "./none"],
        /^heed show: there is no folder \.\/none\. A model is encoder, decoder or translator/,
      ],
      [["show", "hi", "--model", "s.npz"], /^heed show: s\.npz is a file; a model is a folder/],
    ] as const) {
      const { code, err } = await heed(args);
      expect([args, code]).toEqual([args, 1]);
      expect(err.trimEnd()).toEqual(typeof line === "string" ? line : expect.stringMatching(line));
    }
  });
});

it("an empty text, and a shape of another rank, are rejected by name", async () => {
  for (const [args, line] of [
    [["show", ""], "heed show: a text is empty; write one or more words (see heed show --help)"],
    [
      ["bench", "--shape", "1,1,64"],
      'heed bench: --shape must be 4 lengths between commas, as 1,12,1024,64; got "1,1,64" (see heed bench --help)',
    ],
  ] as const)
    expect(await heed(args)).toMatchObject({ code: 2, out: "", err: `${line}\n` });
});
