/** `heed capture` writes what the model computed. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { carrierTokenizer } from "../../../tests/golden/carrier.ts";
import { runCommand as heed } from "../../../tests/support/processes/command.ts";
import { attentionWeights } from "../../index.ts";
import {
  layerWeights,
  locateShipped,
  readImageModel,
  readModel,
  readPicture,
  recordActivations,
} from "../../models/index.ts";
import { openStore } from "../../store/formats/open.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-capture-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("heed capture", () => {
  test("the file gives the model's weights, a block for each text", async () => {
    const path = join(folder, "run.safetensors");
    const { code, out } = await heed("capture", "decoder", "the old ship", "a whale", "-o", path);
    expect(code).toBe(0);
    expect(out).toContain("4 layers of 4 heads");
    const model = await readModel(locateShipped("decoder"));
    const store = await openStore(readFileSync(path), { name: "run" });
    expect(store.blocks.map(({ name }) => name)).toEqual(["text1", "text2"]);
    for (const [block, text] of ["the old ship", "a whale"].entries()) {
      const attention = model.attention(text);
      expect(store.blocks[block].queryTokens).toEqual(attention.tokens);
      const ref = { block, layer: 2, head: 1 };
      await store.load(ref);
      const { query, key, lse, options } = attention.layers[2];
      const weights = attentionWeights(query, key, lse, options);
      for (let i = 0; i < attention.ids.length; i++)
        store.row(ref, i, "weights").forEach((w, j) => expect(w).toBeCloseTo(weights.at(1, i, j), 6));
    }
    store.dispose();
  });

  test("--globals names the tokens of a Longformer that see all and are seen by all", async () => {
    const golden = join(import.meta.dirname, "../../../tests/golden");
    const folderOf = join(folder, "longformer");
    cpSync(join(golden, "models/longformer"), folderOf, { recursive: true });
    writeFileSync(join(folderOf, "tokenizer.json"), carrierTokenizer());
    const path = join(folder, "globals.safetensors");
    const text = "the cat sat on the mat the cat";
    expect((await heed("capture", folderOf, text, "--globals", "0,3", "-o", path)).code).toBe(0);
    const store = await openStore(readFileSync(path), { name: "globals" });
    const ref = { block: 0, layer: 0, head: 1 };
    await store.load(ref);
    const N = store.blocks[0].queryTokens.length;
    for (let i = 0; i < N; i++)
      store.row(ref, i, "weights").forEach((weight, j) => {
        const sees = Math.abs(i - j) <= 2 || [0, 3].includes(i) || [0, 3].includes(j);
        expect(weight > 0, `${i} → ${j}`).toBe(sees);
      });
    store.dispose();
    const wrong = await heed("capture", folderOf, text, "--globals", "99", "-o", path);
    expect([wrong.code, wrong.err]).toEqual([
      1,
      expect.stringContaining("globals must be a list of positions"),
    ]);
    const decoder = await heed("capture", "decoder", text, "--globals", "0", "-o", path);
    expect([decoder.code, decoder.err]).toEqual([1, expect.stringContaining("has no global tokens")]);
    const both = await heed("capture", folderOf, text, "--globals", "0", "--states", "-o", path);
    expect([both.code, both.err]).toEqual([
      2,
      expect.stringContaining("--globals does not go with --states"),
    ]);
  });

  test("a picture gives a block whose keys are its patches, with the picture that the model read", async () => {
    const golden = join(import.meta.dirname, "../../../tests/golden");
    const model = join(folder, "dinov2");
    cpSync(join(golden, "image-models/dinov2"), model, { recursive: true });
    writeFileSync(
      join(model, "preprocessor_config.json"),
      JSON.stringify({
        size: { shortest_edge: 12 },
        image_processor_type: "BitImageProcessor",
        image_mean: 0.5,
        image_std: 0.5,
      }),
    );
    const path = join(folder, "photo.safetensors");
    const image = join(golden, "pictures/gradient.jpg");
    const { code, out, err } = await heed("capture", "--model", model, "--image", image, "-o", path);
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toContain("2 layers of 3 heads, 3 × 4 patches");
    const attention = (await readImageModel(model)).attention(await readPicture(readFileSync(image)));
    const store = await openStore(readFileSync(path), { name: "photo" });
    expect(store.report.problems).toEqual([]);
    const [block] = store.blocks;
    expect(block.keyTokens).toEqual(attention.tokens);
    expect(block.pictures).toEqual([{ tensor: "self.picture.0", first: 1, rows: 3, columns: 4 }]);
    expect(await store.picture(0)).toEqual(attention.picture);
    await expect(store.picture(0, 1)).rejects.toThrow("has 1 pictures; there is no number 1");
    const ref = { block: 0, layer: 1, head: 2 };
    await store.load(ref);
    const weights = layerWeights(attention.layers[1]);
    store.row(ref, 5, "weights").forEach((w, j) => expect(w).toBeCloseTo(weights.at(2, 5, j), 6));
    // A part of the file keeps the picture where all patches are kept.
    const part = await openStore(await store.bundle({ heads: [1] }));
    expect(part.blocks[0].pictures).toEqual(block.pictures);
    expect(await part.picture(0)).toEqual(attention.picture);
    const few = await openStore(await store.bundle({ tokens: 5 }));
    expect(few.blocks[0].pictures).toBeUndefined();
    for (const one of [store, part, few]) one.dispose();

    const wrong = await heed("capture", model, "--image", join(folder, "photo.safetensors"), "-o", path);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toContain("photo.safetensors: readPicture: the file begins with");
    expect((await heed("capture", model, "text", "--image", image, "-o", path)).err).toContain(
      "--image takes the place of texts",
    );
    expect((await heed("capture", model, "text", "-o", path)).err).toContain(
      "a dinov2 reads pictures, not text",
    );
  });

  test("states and results of other commands are in the file, and are read back", async () => {
    const text = "the old ship";
    const paths = ["why", "off", "prediction", "run"].map((name) => join(folder, `${name}.json`));
    const commands = [
      ["why", "decoder", text, "--layer", "2", "--head", "1", "--query", "2", "--key", "0"],
      ["ablate", "decoder", text, "--sentence", "--part", "mlp"],
      ["ablate", "decoder", text, "--part", "attention"],
      ["patch", "decoder", text, "the new ship", "--word", "0"],
    ];
    for (const [n, args] of commands.entries()) writeFileSync(paths[n], (await heed(...args, "--json")).out);
    const output = join(folder, "results.safetensors");
    const files = paths.flatMap((path) => ["--evidence", path]);
    const { code, err } = await heed(
      "capture",
      "decoder",
      text,
      "a whale",
      "-o",
      output,
      "--states",
      ...files,
    );
    expect([code, err]).toEqual([0, ""]);
    const store = await openStore(readFileSync(output));
    expect(store.report.problems).toEqual([]);
    const [{ evidence, states }, other] = store.blocks;
    expect(evidence.map(({ kind }) => kind)).toEqual(["score", "effects", "prediction", "effects"]);
    for (const [n, { command }] of evidence.entries())
      expect(command).toBe(
        `heed ${commands[n].map((one) => (one.includes(" ") ? `"${one}"` : one)).join(" ")} --json`,
      );
    expect(JSON.parse(JSON.stringify(evidence[0]))).toEqual(JSON.parse(readFileSync(paths[0], "utf8")));
    expect([states, other.states, other.evidence]).toEqual([[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], []]);
    const model = await readModel(locateShipped("decoder"));
    const recorded = recordActivations(model, model.tokenize(text));
    for (const layer of states) {
      const { data, width } = await store.states(0, layer);
      expect(width).toBe(model.model.sizes.width);
      expect([...data]).toEqual([...recorded.states[layer].toFloat64()]);
    }
    // Some layers: the states before and after them. Some heads or tokens: no results, which name both by number.
    const part = await openStore(await store.bundle({ blocks: ["text1"], layers: [2], tokens: 2 }));
    expect([part.blocks[0].states, part.blocks[0].evidence]).toEqual([[2, 3], []]);
    const [cut, complete] = [(await part.states(0, 3)).data, (await store.states(0, 3)).data];
    expect([...cut]).toEqual([...complete.subarray(0, cut.length)]);
    expect(cut.length).toBe(2 * model.model.sizes.width);
    const layers = await openStore(await store.bundle({ layers: [2] }));
    expect(layers.blocks[0].evidence).toEqual(evidence);
    for (const one of [store, part, layers]) one.dispose();
  });

  test("results about another text, and files that are no results, are refused", async () => {
    const output = join(folder, "refused.safetensors");
    const path = join(folder, "result.json");
    for (const [content, words, exit] of [
      ['{"kind":"score","text":"a boat"}', 'a result about "a boat", which is none of the texts', 1],
      ["[1]", "expected what heed why, heed ablate or heed patch print with --json", 1],
      ["not json", "expected what heed why, heed ablate or heed patch print with --json", 1],
      [
        '{"kind":"score","text":"a ship"}',
        "--evidence: result 0: command: expected the command that made it",
        1,
      ],
    ] as const) {
      writeFileSync(path, content);
      const { code, err } = await heed("capture", "decoder", "a ship", "-o", output, "--evidence", path);
      expect([code, err]).toEqual([exit, expect.stringContaining(words)]);
    }
    const missing = await heed(
      "capture",
      "decoder",
      "a ship",
      "-o",
      output,
      "--evidence",
      join(folder, "none.json"),
    );
    expect(missing.err).toContain("no such file");
    writeFileSync(join(folder, "d.jsonl"), '"a ship"\n');
    const corpus = await heed(
      "capture",
      "decoder",
      join(folder, "d.jsonl"),
      "-o",
      join(folder, "m"),
      "--states",
    );
    expect([corpus.code, corpus.err]).toEqual([
      2,
      expect.stringContaining("--states and --evidence belong to texts"),
    ]);
  });

  test("--python prints the recorder, which Python reads where there is one", async () => {
    const { code, out } = await heed("capture", "--python");
    expect(code).toBe(0);
    expect(out).toContain("def record(run, tokens, path");
    // Without PyTorch: what the recorder imports is empty. Of two lists of tokens that fit, a decoder has the last.
    const program = `import sys, types
for name in ("torch", "torch.nn", "torch.nn.functional", "safetensors", "safetensors.torch"):
    sys.modules[name] = types.ModuleType(name)
    if "." in name: setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], sys.modules[name])
sys.modules["safetensors.torch"].save_file = None
exec(sys.stdin.read())
lists = [["a", "cat"], ["ein", "Kater"], ["x"]]
print(tokens_of(lists, 2, False), tokens_of(lists, 2, True), tokens_of(lists, 3, True))`;
    const python = spawnSync("python3", ["-c", program], { input: out });
    // Without Python the text alone is checked.
    if (python.error === undefined)
      expect([String(python.stderr), String(python.stdout)]).toEqual(["", "0 1 n3\n"]);
  });

  test("a file of documents gives a bundle each, in shares, and what is there is left alone", async () => {
    const [docs, maps] = [join(folder, "docs.jsonl"), join(folder, "maps")];
    writeFileSync(docs, '{"text":"time flies","id":"a"}\n"a whale"\n{"text":"the old ship","id":"c"}\n');
    const shard = (share: string) => heed("capture", "encoder", docs, "-o", `${maps}/`, "--shard", share);
    expect((await shard("1/2")).out).toContain("share 1 of 2, 1 written, 0 there already");
    expect(readdirSync(maps)).toEqual(["000002.safetensors"]);
    expect((await shard("0/2")).out).toContain("share 0 of 2, 2 written, 0 there already");
    const before = readFileSync(join(maps, "a.safetensors"));
    expect((await shard("0/1")).out).toContain("share 0 of 1, 0 written, 3 there already");
    expect(readFileSync(join(maps, "a.safetensors")).equals(before)).toBe(true);
    const store = await openStore(before, { name: "a" });
    expect(store.blocks[0].queryTokens).toContain("time");
    store.dispose();
    expect((await heed("capture", "encoder", docs, "-o", "x.safetensors")).err).toContain(
      "a folder of bundles",
    );
  });

  test.each([
    [["capture", "--python", "encoder"], "--python takes no model"],
    [["capture", "encoder"], "name a model and a text"],
    [["capture", "encoder", "hi"], "name the file to write"],
    [["capture", "encoder", "hi", "-o", "x.npz"], "must end in .safetensors"],
    [["capture", "encoder", "a", "b", "--pair", "c", "-o", "x.safetensors"], "--pair takes one first text"],
    [
      ["capture", "encoder", "hi", "--shard", "0/2", "-o", "x.safetensors"],
      "--shard belongs to a file of documents",
    ],
  ])("%j is refused before any work", async (args, text) => {
    const { code, err } = await heed(...args);
    expect(code).toBe(2);
    expect(err).toContain(text);
  });
});
