/** `heed heads` measures heads over files of texts, bundles and folders. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runCommand as heed } from "../../../tests/support/processes/command.ts";
import { locateShipped, readModel } from "../../models/index.ts";
import { storeFromModel } from "../../store/layout/from.ts";
import { headsOverTexts } from "../../store/measures/over-texts.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-heads-"));
afterAll(() => rmSync(folder, { recursive: true }));
const captures = join(import.meta.dirname, "../../../models/captures");
const TEXTS = ["the old ship sails", "a whale swims"];
const lines = join(folder, "texts.txt");
writeFileSync(lines, `${TEXTS.join("\n")}\n\n${TEXTS[0]}\n`);

describe("heed heads", () => {
  test("the lines of a text file are texts of the model, each once", async () => {
    const { code, out, err } = await heed("heads", lines, "--model", "encoder", "--json", "--examples", "3");
    expect([code, err]).toEqual([0, ""]);
    const model = await readModel(locateShipped("encoder"));
    const wanted = await headsOverTexts(
      TEXTS.map((name) => ({ name, open: () => storeFromModel(model.attention(name)), dispose: true })),
    );
    const { texts, heads } = JSON.parse(out);
    expect(texts).toEqual(TEXTS);
    expect(heads).toEqual(JSON.parse(JSON.stringify(wanted)));
  });

  test("bundles of a folder need no model, and the text names heads, links and failures", async () => {
    const banks = join(folder, "banks");
    mkdirSync(banks);
    for (const name of ["river-bank", "savings-bank", "bank-of-the-table"])
      copyFileSync(join(captures, `${name}.safetensors`), join(banks, `${name}.safetensors`));
    const { code, out, err } = await heed("heads", banks, "--query", "bank", "--layer", "0", "--head", "4");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^L0 H4 +2 of 3 +0\.\d\d/m);
    expect(out).toContain("  + bank → river 0.85  river-bank.safetensors");
    expect(out).toMatch(/ {2}− bank → \S+ 0\.\d\d {2}bank-of-the-table\.safetensors/);
    const all = await heed("heads", banks, "--top", "1");
    expect(all.out).toContain("71 more heads hold in fewer texts (--top)");
  });

  test("of a word, the heading says how many of the texts have it, as the counts do", async () => {
    const { out } = await heed("heads", lines, "--model", "encoder", "--query", "ship", "--top", "1");
    expect(out.replace(/\s+/g, " ")).toMatch(
      /^2 texts, 1 with a link from "ship": in how many of those the strongest link .* L\d H\d [01] of 1 /,
    );
    const all = await heed("heads", lines, "--model", "encoder", "--top", "1");
    expect(all.out).toMatch(/^2 texts: in how many of them the strongest link/);
  });

  test("without files, with files of nothing and with wrong options it says what to do", async () => {
    mkdirSync(join(folder, "empty"));
    for (const [args, exit, words] of [
      [[], 2, "name files of texts"],
      [[join(folder, "empty")], 1, "has no .txt and no .safetensors file"],
      [[join(folder, "none.txt")], 1, "no such file"],
      [[join(captures, "river-bank.safetensors"), "--model", "encoder"], 2, "--model belongs to text files"],
      [[join(captures, "river-bank.safetensors"), "--layer", "9"], 2, "no head has --layer 9"],
      [[lines, "--top", "0"], 2, "--top"],
    ] as const) {
      const { code, err } = await heed("heads", ...args);
      expect([code, err]).toEqual([exit, expect.stringContaining(words)]);
    }
  });
});
