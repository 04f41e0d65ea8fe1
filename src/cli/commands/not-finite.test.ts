/** A model with NaN or infinity in its weights: results that are not numbers are errors, and files say what they hold. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runCommand as heed } from "../../../tests/support/processes/command.ts";
import { readSafetensors, writeSafetensors } from "../../io/index.ts";
import { locateShipped } from "../../models/index.ts";
import { openStore } from "../../store/formats/open.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-not-finite-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A copy of one of the package's models with one number changed, as float16 bits. */
function broken(which: "encoder" | "decoder", tensor: string, bits: number): string {
  const path = join(folder, `${which}-${bits}`);
  cpSync(locateShipped(which), path, { recursive: true });
  const file = join(path, "model.safetensors");
  const { tensors } = readSafetensors(readFileSync(file));
  const copies = new Map([...tensors].map(([name, x]) => [name, { ...x, data: x.data.slice() }]));
  copies.get(tensor)!.data[0] = bits;
  writeFileSync(file, writeSafetensors(copies as never, { metadata: { format: "pt" } }));
  return path;
}

const [NAN, INFINITY] = [0x7e00, 0x7c00];
const queries = "bert.encoder.layer.1.attention.self.query.weight";
const joint = "transformer.h.1.attn.c_attn.weight";
const [encoder, infinite, decoder] = [
  broken("encoder", queries, NAN),
  broken("encoder", queries, INFINITY),
  broken("decoder", joint, NAN),
];

describe("a model with a weight that is not finite", () => {
  test.each([
    ["similar", encoder, queries],
    ["similar", infinite, queries],
    ["similar", decoder, joint],
  ])("heed %s exits with 1, names the tensor and prints no number: %#", async (name, model, tensor) => {
    const { code, out, err } = await heed(name, model, "the old ship", "a whale");
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toMatch(/heed similar: number \d+ of the vector of text 0 \("the old ship"\) is/);
    expect(err.split("heed similar: ")[1]).toContain(`first in ${tensor}`);
  });

  test("heed embed exits with 1 and writes no file", async () => {
    const [lines, output] = [join(folder, "lines.txt"), join(folder, "vectors.npy")];
    writeFileSync(lines, "the old ship\na whale\n");
    const { code, err } = await heed("embed", encoder, lines, "-o", output);
    expect(code).toBe(1);
    expect(err.split("heed embed: ")[1]).toContain(`first in ${queries}`);
    expect(existsSync(output)).toBe(false);
  });

  test.each([
    ["generate", decoder, "the old"],
    ["fill", encoder, "the old [MASK]"],
    ["ablate", decoder, "the old"],
  ])("heed %s exits with 1", async (name, model, text) => {
    const { code, err } = await heed(name, model, text);
    expect(code).toBe(1);
    expect(err).toContain("no token can be predicted");
  });

  test("a captured bundle stores the warning, and heed html passes it on", async () => {
    const run = join(folder, "run.safetensors");
    expect((await heed("capture", encoder, "the old ship", "-o", run)).code).toBe(0);
    const store = await openStore(readFileSync(run), { name: "run" });
    const stored = ({ problems }: { problems: readonly { code: string; text: string }[] }) =>
      problems.filter(({ code }) => code === "stored").map(({ text }) => text);
    expect(stored(store.report)).toEqual([expect.stringContaining(`first in ${queries}`)]);
    const again = await openStore(await store.bundle({ layers: [0] }), { name: "part" });
    expect(stored(again.report)).toEqual(stored(store.report));
    for (const one of [store, again]) one.dispose();
    const { err } = await heed("figure", run, "--layer", "0", "-o", join(folder, "whole.svg"));
    expect(err).toContain(`first in ${queries}`);
  });

  test("a figure of a head without numbers says so in its caption, and its table holds NaN", async () => {
    const of = async (output: string, ...more: string[]) => {
      const path = join(folder, output);
      const args = ["--text", "the old ship", "--model", encoder, "--layer", "1", "--head", "0"];
      const { code, err } = await heed("figure", ...args, ...more, "-o", path);
      expect(code).toBe(0);
      expect(err).toMatch(/warning: layer 1, head 0: \d+ weights are not numbers \(NaN\)/);
      return readFileSync(path, "utf8");
    };
    const svg = await of("head.svg");
    const words = svg.replace(/<[^>]*>\s*/g, " ");
    expect(words).toMatch(/weights that are\s+not\s+numbers:\s+\d+/);
    expect(svg).toMatch(/<title>[^<]* not a number<\/title>/);
    expect(svg).not.toMatch(/<title>[^<]* to [^<]* 0<\/title>/);
    const rows = (await of("head.csv")).trim().split("\r\n").slice(1);
    for (const row of rows) expect(row.split(",").slice(1)).toEqual(rows.map(() => "NaN"));
    const text = await of("text.csv", "--view", "text", "--rows", "1,2", "--aggregate", "mean");
    for (const row of text.trim().split("\r\n").slice(1)) expect(row).toMatch(/,NaN$/);
  });

  test("the table of all heads holds NaN, in JSON too", async () => {
    const path = join(folder, "atlas.json");
    const args = ["--text", "the old ship", "--model", encoder, "--view", "atlas", "-o", path];
    expect((await heed("figure", ...args)).code).toBe(0);
    const { columns, rows } = JSON.parse(readFileSync(path, "utf8"));
    const entropy = columns.indexOf("entropy");
    const head = rows.find(([layer, head]: number[]) => layer === 1 && head === 0);
    expect(head[entropy]).toBe("NaN");
  });
});

test("heed similar and embed read a decoder, which has no token types", async () => {
  const { code, out } = await heed("similar", "decoder", "the old ship", "the old ship", "--json");
  expect(code).toBe(0);
  const { similarity, pooling } = JSON.parse(out);
  expect(pooling.modes).toEqual(["lasttoken"]);
  expect(similarity[0][1]).toBeCloseTo(1, 6);
});
