import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { at } from "../../../tools/setup.mjs";
import { readSafetensors, writeSafetensors } from "../../io/index.ts";
import { locateShipped } from "../../models/files/locate.ts";
import { openStore } from "../../store/formats/open.ts";
import { UsageError } from "../support/line/command.ts";
import { show } from "./show.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-show-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The decoder, whose numbers are known. */
const decoder = (...args: string[]) => run(...args, "--model", "decoder");

async function run(...args: string[]) {
  let [out, err] = ["", ""];
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (err += text) };
  const code = await show(args, {
    stdout,
    stderr,
    env: {},
    isTTY: false,
    signal: new AbortController().signal,
  });
  return { code, out, err };
}

test("without a text it shows one head of each sentence, the links, and the heads that stand out", async () => {
  const { code, out } = await decoder();
  expect(code).toBe(0);
  expect(out).toContain("“time flies like an arrow”\n9 tokens · 4 layers × 4 heads");
  expect(out).toContain("t ime f l ies like an ar row");
  expect(out.match(/^layer \d, head \d/gm)?.length).toBe(2);
  expect(out.match(/^strongest links/gm)?.length).toBe(2);
  expect(out.match(/^heads that stand out/gm)?.length).toBe(2);
  expect(out).toMatch(/gives \d+\u202f% of its attention\s+to “\w+”/);
  expect(out).not.toContain("\x1b");
  // One screen each, not one after the other.
  expect(out.split("\n").length).toBeLessThan(110);
});

test("--all draws every head and prints its measures, in nats or in bits", async () => {
  const { out } = await decoder("time flies like an arrow", "--all");
  expect(out.match(/^layer \d /gm)).toEqual(["layer 0 ", "layer 1 ", "layer 2 ", "layer 3 "]);
  const entropy = (text: string) => Number(/^L1 H0 +([\d.]+)/m.exec(text)![1]);
  const bits = (await decoder("time flies like an arrow", "--all", "--bits")).out;
  expect(out).toMatch(/the entropy, in nats\)[\s\S]*^ +entropy +spread/m);
  expect(entropy(bits) * Math.LN2).toBeCloseTo(entropy(out), 1);
});

test("--words joins the pieces of a word, and --token asks every head about a word", async () => {
  const text = "time flies like an arrow";
  const { out } = await decoder(text, "--words");
  expect(out).toContain("9 tokens, joined to 5 words");
  expect(out).toMatch(/^ *flies +\d+/m);
  const words = (await decoder(text, "--token", "flies")).out;
  expect(words).toMatch(/^where “flies” looks/m);
  expect(words).toMatch(/^who looks at “flies”/m);
  expect(words.match(/^L\d H\d +[01]\.\d\d/gm)!.length).toBeGreaterThan(8);
});

test("--token with a word of no text is an error that lists the words", async () => {
  const text = "time flies like an arrow";
  await expect(decoder(text, "--token", "banana")).rejects.toThrow(
    new UsageError('--token: "banana" is not a word of the text; the words are time, flies, like, an, arrow'),
  );
  // One text has it: the other one says that it does not.
  const { code, out } = await decoder(text, "fruit flies like a banana", "--token", "banana");
  expect(code).toBe(0);
  expect(out).toMatch(/“banana” is not a word of this text$/m);
  expect(out).toMatch(/^who looks at “banana”/m);
  await expect(decoder("a b", "c d", "--token", "x")).rejects.toThrow("not a word of the texts");
  await expect(decoder(text, "--token", "flies", "--json")).rejects.toThrow("give one of them");
});

test("texts of one word each, as without quotes, get a hint; --words and texts of several words none", async () => {
  const { code, out, err } = await decoder("the", "cat", "sat");
  expect(code).toBe(0);
  expect(out.match(/^“\w+”/gm)).toHaveLength(3);
  expect(err).toBe(
    'note: 3 texts of one word each; with quotes they are one text: heed show "the cat sat"\n',
  );
  expect((await decoder("the cat", "sat down")).err).toBe("");
  expect((await decoder("cat")).err).toBe("");
});

test("the name of a file is read as a text, with a note on how to open the file", async () => {
  const path = join(folder, "lines.txt");
  writeFileSync(path, "the cat\n");
  const { code, err } = await decoder(path);
  expect(code).toBe(0);
  expect(err).toBe(
    `note: ${path} is a file, but its name was read as a text; heed view ${path} opens a file of attention, heed show - < ${path} reads each of its lines as a text\n`,
  );
});

test("--token numbers the occurrences of a word, as the tokens are", async () => {
  const { out } = await run("the cat and the dog", "--token", "the");
  expect(out.match(/^where “.*?”/gm)).toEqual(["where “the”", "where “the₂”"]);
  expect(out.match(/^who looks at “.*?”/gm)).toEqual(["who looks at “the”", "who looks at “the₂”"]);
});

test("a text whose tokens have no link above chance lists links of all tokens", async () => {
  expect((await run("a b")).out).toMatch(/^strongest links\n {2}of all tokens; L1 H2/m);
  expect((await run("p q r s t u v")).out).toContain("between tokens that are not neighbors");
});

test("--pair shows one text with a second one", async () => {
  const { out } = await run("the cat sat", "--pair", "it was tired");
  expect(out).toContain("“the cat sat · it was tired”");
  expect(out.match(/\[SEP\]/g)!.length).toBeGreaterThan(1);
  for (const [args, text] of [
    [["--pair", "b"], '--pair is the second text: heed show "first text" --pair "second text"'],
    [["a", "b", "--pair", "c"], "--pair takes one first text, got 2"],
    [["a", "--pair", " "], "--pair is empty; write --pair=TEXT"],
  ] as const)
    await expect(run(...args)).rejects.toThrow(text);
});

test("--color decides over the pipe; ascii is ASCII", async () => {
  expect((await decoder("a b", "--color", "truecolor")).out).toContain("\x1b[48;2;");
  expect((await decoder("naïve", "--color", "ascii")).out).toMatch(/^[\x20-\x7e\n]*$/);
});

test("--json has pieces, ids, weights whose rows sum to 1, and measures", async () => {
  const { out } = await decoder(
    "time flies like an arrow",
    "fruit flies like a banana",
    "--json",
    "--layer",
    "1",
  );
  const { texts } = JSON.parse(out);
  expect(texts[0].ids).toEqual([84, 556, 282, 76, 396, 923, 361, 565, 846]);
  expect(texts[0].heads.map((head: { layer: number }) => head.layer)).toEqual([1, 1, 1, 1]);
  for (const row of texts[1].heads[2].weights)
    expect(row.reduce((sum: number, weight: number) => sum + weight, 0)).toBeCloseTo(1, 6);
  expect(texts[0].heads[0].entropy).toBeCloseTo(0.0986, 3);
  expect(texts[1].heads[0].unit).toBe("nat");
});

test("-o writes a figure of one head, of all of them, or the bundle, and says so", async () => {
  const file = join(folder, "map.svg");
  const { err } = await decoder("time flies", "-o", file);
  expect(err).toBe(`wrote ${file}\n`);
  expect(readFileSync(file, "utf8")).toMatch(/^<svg [\s\S]*<\/svg>\n?$/);
  const errors = (await decoder("time flies", "fruit flies", "--all", "-o", file)).err;
  expect(errors).toBe(`wrote ${file.replace(".svg", "-1.svg")}\nwrote ${file.replace(".svg", "-2.svg")}\n`);
  const bundle = join(folder, "run.safetensors");
  await decoder("time flies", "-o", bundle);
  const store = await openStore(bundle);
  expect(store.blocks[0].has).toMatchObject({ qk: true, lse: true });
  expect(store.report.verified!.passed).toBe(true);
  store.dispose();
});

test("a long text: JSON without its weights says so, and a figure stays small", async () => {
  const text = "the old ship sailed over the sea and ".repeat(80);
  const { out, err } = await run(text, "--model", "decoder", "--json");
  expect(err).toMatch(/warning: \d+ weights are too many for JSON and are left out/);
  const [{ heads }] = JSON.parse(out).texts;
  expect(heads.length).toBe(16);
  expect(heads[0].weights).toBeUndefined();
  expect(out.length).toBeLessThan(2e6);
  const file = join(folder, "long.svg");
  await run(text, "--model", "decoder", "--all", "-o", file);
  expect(readFileSync(file).length).toBeLessThan(2e6);
});

test("a model with a NaN: a warning that says where, NaN instead of zeros, and exit code 1", async () => {
  const broken = join(folder, "broken");
  cpSync(locateShipped("encoder"), broken, { recursive: true });
  const file = join(broken, "model.safetensors");
  const { tensors } = readSafetensors(readFileSync(file));
  const copies = new Map([...tensors].map(([name, x]) => [name, { ...x, data: x.data.slice() }]));
  copies.get("bert.encoder.layer.1.attention.self.query.weight")!.data[0] = 0x7e00;
  writeFileSync(file, writeSafetensors(copies as never, { metadata: { format: "pt" } }));
  const { code, out, err } = await run("the old ship", "--model", broken, "--all");
  expect(code).toBe(1);
  expect(err).toMatch(
    /warning: \d+ of 16 heads have weights that are not numbers, the first in layer 1, head 0/,
  );
  expect(out).toMatch(/^L1 H0 +NaN +NaN/m);
  expect(out).not.toMatch(/^L1 H0 +0\.00/m);
  const json = JSON.parse((await run("the old ship", "--model", broken, "--json")).out);
  const head = json.texts[0].heads.find(
    (one: { layer: number; head: number }) => one.layer === 1 && one.head === 0,
  );
  expect(head).toMatchObject({ entropy: "NaN", rows: 0 });
});

test("wrong options are errors before any work", async () => {
  await expect(decoder("a", "--layer", "4")).rejects.toThrow(/--layer must be an integer from 0 to 3, got 4/);
  await expect(run("a", "--head", "x")).rejects.toThrow(UsageError);
  await expect(run("a", "--color", "blue")).rejects.toThrow(/--color must be auto/);
  await expect(run("a", "-o", "map.png")).rejects.toThrow(/must end in \.svg or \.safetensors/);
  await expect(run("a", "--model", folder)).rejects.toThrow(/has no config\.json/);
  await expect(decoder("")).rejects.toThrow(UsageError);
});

test("of a text of more than 128 tokens the first 128 are shown, with a warning", async () => {
  const { out, err } = await decoder("word ".repeat(200), "--layer", "0", "--head", "0");
  expect(err).toMatch(/^warning: decoder reads at most 128 tokens; \d+ are left out$/m);
  expect(out).toContain("128 tokens");
});

test("COLUMNS is the width where the output goes to a pipe", () => {
  const longest = (columns: string) => {
    const main = [at("src/cli/main.ts"), "show", "the cat sat on the mat", "--model", "decoder"];
    const { stdout, status } = spawnSync(process.execPath, main, {
      encoding: "utf8",
      env: { ...process.env, COLUMNS: columns },
    });
    expect(status).toBe(0);
    return Math.max(...stdout.split("\n").map((line) => line.length));
  };
  expect(longest("60")).toBeLessThanOrEqual(60);
  expect(longest("x")).toBeGreaterThan(60);
});
