import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { HeedError } from "../../core/errors.ts";
import { UsageError } from "../support/command.ts";
import { command, show } from "./show.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-show-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The sentence encoder, whose numbers are known. */
const useLite = (...args: string[]) => run(...args, "--model", "use-lite");

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

test("without a text it shows the two sentences, every layer and head, and how alike they are", async () => {
  const { code, out } = await useLite();
  expect(code).toBe(0);
  expect(out).toContain("“time flies like an arrow”\n8 pieces");
  expect(out).toContain("▁fruit ▁fl ies ▁like ▁a ▁banana");
  expect(out.match(/^layer \d/gm)).toEqual(["layer 0", "layer 1", "layer 0", "layer 1"]);
  expect(out).toMatch(/“ies” gives 84\.0\s% of its attention\s+to “fl”/);
  expect(out).toMatch(/^0\.451 {2}━/m);
  expect(out).not.toContain("\x1b");
});

test("--color decides over the pipe; ascii is ASCII", async () => {
  expect((await useLite("a b", "--color", "truecolor")).out).toContain("\x1b[48;2;");
  expect((await useLite("naïve", "--color", "ascii")).out).toMatch(/^[\x20-\x7e\n]*$/);
});

test("--json has pieces, ids, weights whose rows sum to 1, measures, embeddings and cosines", async () => {
  const { out } = await useLite(
    "time flies like an arrow",
    "fruit flies like a banana",
    "--json",
    "--layer",
    "1",
  );
  const { texts, similarity } = JSON.parse(out);
  expect(texts[0].ids).toEqual([99, 1042, 459, 60, 58, 11, 93, 1385]);
  expect(texts[0].heads.map((head: { layer: number }) => head.layer)).toEqual([1, 1, 1, 1]);
  for (const row of texts[1].heads[2].weights)
    expect(row.reduce((sum: number, weight: number) => sum + weight, 0)).toBeCloseTo(1, 6);
  expect(texts[1].heads[0].entropy).toBeCloseTo(1.83, 2);
  expect(texts[0].embedding.length).toBe(512);
  expect(similarity[0][1]).toBeCloseTo(0.4506, 4);
});

test("-o writes the SVG and says so", async () => {
  const file = join(folder, "map.svg");
  const { err } = await useLite("time flies", "-o", file);
  expect(err).toBe(`wrote ${file}\n`);
  expect(readFileSync(file, "utf8")).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
});

test("wrong options are told before any work", async () => {
  await expect(useLite("a", "--layer", "2")).rejects.toThrow(/layer must be an integer from 0 to 1, got 2/);
  await expect(run("a", "--head", "x")).rejects.toThrow(UsageError);
  await expect(run("a", "--color", "blue")).rejects.toThrow(/--color must be auto/);
  await expect(run("a", "-o", "map.png")).rejects.toThrow(/ends in \.svg/);
  await expect(run("a", "--model", folder)).rejects.toThrow(/model\.json/);
  await expect(useLite("")).rejects.toThrow(HeedError);
});

test("a text beyond 128 pieces is shown as far as it is read, and it is said", async () => {
  const { out, err } = await useLite("word ".repeat(200), "--layer", "0", "--head", "0");
  expect(err).toMatch(/reads the first 128 pieces; \d+ more are left out/);
  expect(out).toContain("128 pieces");
});

test("every option has its help", () => {
  expect(Object.keys(command.help).sort()).toEqual(Object.keys(command.options).sort());
});
