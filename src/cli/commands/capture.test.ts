/** `heed capture` writes what the model computed. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runCommand as heed } from "../../../tests/support/processes/command.ts";
import { attentionWeights } from "../../index.ts";
import { locateShipped, readModel } from "../../models/index.ts";
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

  test("--python prints the recorder, which Python reads where there is one", async () => {
    const { code, out } = await heed("capture", "--python");
    expect(code).toBe(0);
    expect(out).toContain("def record(run, tokens, path");
    const python = spawnSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], {
      input: out,
    });
    // Without Python the text alone is checked.
    if (python.error === undefined) expect(String(python.stderr)).toBe("");
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
