/** `heed translate` and `heed summarize`, and the pictures of an encoder–decoder's attention. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { carrierTokenizer } from "../../../tests/golden/carrier.ts";
import { at } from "../../../tools/setup.mjs";
import { openStore } from "../../store/formats/open.ts";
import { dispatch } from "../support/line/dispatch.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-translate-"));
afterAll(() => rmSync(folder, { recursive: true }));
const model = join(folder, "bart");
cpSync(at("tests/golden/encoder-decoders/bart"), model, { recursive: true });
writeFileSync(join(model, "tokenizer.json"), carrierTokenizer());
const config = JSON.parse(readFileSync(join(model, "config.json"), "utf8"));
config.task_specific_params = { summarization: { prefix: "the cat " } };
writeFileSync(join(model, "config.json"), JSON.stringify(config));

async function run(...args: string[]) {
  const texts = { out: "", err: "" };
  const writer = (name: "out" | "err") => ({
    write: (text: string) => {
      texts[name] += text;
      return true;
    },
  });
  const code = await dispatch(args, {
    stdout: writer("out"),
    stderr: writer("err"),
    env: {},
    isTTY: false,
    color: 0,
    progress: false,
    columns: 80,
    signal: new AbortController().signal,
  });
  return { code, ...texts };
}

test("translate prints a text, or the text and its ids as JSON, and beams are searched", async () => {
  const { code, out } = await run("translate", model, "the cat", "--beams", "3", "--tokens", "5", "--json");
  expect(code).toBe(0);
  const { source, ids } = JSON.parse(out);
  expect(source).toBe("the cat");
  expect(ids.length).toBeLessThanOrEqual(5);
  expect((await run("translate", model, "the cat", "--beams", "3", "--temperature", "1")).code).toBe(2);
});

test("a text alone is read by the package's translator, whose words --words lists", async () => {
  const { code, out } = await run("translate", "Today the man sees the dog.");
  expect([code, out]).toEqual([0, "Heute sieht der Mann den Hund.\n"]);
  const words = await run("translate", "--words");
  expect(words.out.split("\n")).toEqual(expect.arrayContaining(["today", "man", "sees", "Anna"]));
  const unknown = await run("translate", "the zebra sleeps");
  expect([unknown.code, unknown.out]).toEqual([1, ""]);
  expect(unknown.err).toMatch(/translator does not know "zebra".*"heed translate translator --words"/);
  const none = await run("translate", model, "--words");
  expect([none.code, none.err]).toEqual([2, expect.stringContaining("has no words.txt")]);
});

test("summarize puts the prefix of config.json before the text, or that of --prefix", async () => {
  const source = async (...more: string[]) =>
    JSON.parse((await run("summarize", model, "sat", "--tokens", "3", "--json", ...more)).out).source;
  expect(await source()).toBe("the cat sat");
  expect(await source("--prefix", "on ")).toBe("on sat");
});

test("an error of summarize begins with its name", async () => {
  const { code, err } = await run("summarize", model, "sat", "--to", "deu_Latn");
  expect(code).toBe(1);
  expect(err).toContain('summarize: "deu_Latn" is no language');
  expect(err).not.toContain("translate");
  const none = await run("summarize", "encoder", "sat");
  expect(none.err).toContain("summarize: encoder is an encoder, which fills in masks");
});

test("a capture has the blocks enc, dec and cross: rows of the written text, columns of the source", async () => {
  const file = join(folder, "run.safetensors");
  expect((await run("capture", model, "the cat sat", "-o", file)).code).toBe(0);
  const store = await openStore(readFileSync(file));
  expect(store.blocks.map(({ name, kind }) => [name, kind])).toEqual([
    ["enc", "self"],
    ["dec", "self"],
    ["cross", "cross"],
  ]);
  const [enc, dec, cross] = store.blocks;
  expect([cross.queryTokens, cross.keyTokens]).toEqual([dec.queryTokens, enc.keyTokens]);
  store.dispose();
});

test("show prints rows of each pair's written text over its source", async () => {
  const { code, out } = await run("show", "--model", model, "the cat sat", "the mat", "--json");
  expect(code).toBe(0);
  const { texts } = JSON.parse(out);
  for (const { heads, pieces, keyPieces, ids, keyIds } of texts) {
    expect([ids.length, keyIds.length]).toEqual([pieces.length, keyPieces.length]);
    expect([heads[0].weights.length, heads[0].weights[0].length]).toEqual([pieces.length, keyPieces.length]);
  }
  expect(texts[0].keyPieces).not.toEqual(texts[1].keyPieces);
});
