/** `heed figure` on words. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { runCommand as heed } from "../../../tests/support/processes/command.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-figure-"));
afterAll(() => rmSync(folder, { recursive: true }));

const TEXT = "The river bank was eroding.";
const HEAD = ["--layer", "0", "--head", "2"];
const rowsOf = (path: string) =>
  readFileSync(path, "utf8")
    .trim()
    .split("\r\n")
    .map((line) => line.split(","));

describe("heed figure --words", () => {
  it("merges the tokens of a word, in tables and pictures, and the caption says so", async () => {
    const [tokens, words] = ["tokens.csv", "words.csv"].map((name) => join(folder, name));
    await heed("figure", "--text", TEXT, ...HEAD, "-o", tokens);
    expect((await heed("figure", "--text", TEXT, ...HEAD, "--words", "-o", words)).code).toBe(0);
    const [plain, merged] = [rowsOf(tokens), rowsOf(words)];
    expect(plain[0]).toEqual([
      "query",
      "[CLS]",
      "the",
      "river",
      "bank",
      "was",
      "e",
      "##ro",
      "##ding",
      ".",
      "[SEP]",
    ]);
    expect(merged[0]).toEqual(["query", "[CLS]", "the", "river", "bank", "was", "eroding", ".", "[SEP]"]);
    // The weight from "bank" to "eroding" is the sum over its three tokens.
    const sum = plain[4].slice(6, 9).reduce((total, cell) => total + Number(cell), 0);
    expect(Number(merged[4][6])).toBeCloseTo(sum, 12);
    const svg = join(folder, "words.svg");
    const { out } = await heed("figure", "--text", TEXT, "--words", "--view", "lines", "-o", svg, "--json");
    expect(JSON.parse(out).caption).toContain("tokens merged to words: summed over those of a key");
    expect(readFileSync(svg, "utf8")).toContain(">eroding<");
  });

  it("rejects stages and views of single tokens", async () => {
    const svg = join(folder, "no.svg");
    for (const [option, value, words] of [
      ["--stage", "scores", "--words merges weights; --stage scores shows numbers of two tokens"],
      ["--view", "row", "--words merges weights; --view row explains one of two tokens"],
    ])
      expect(await heed("figure", "--text", TEXT, "--words", option, value, "-o", svg)).toEqual({
        code: 2,
        out: "",
        err: `heed figure: ${words} (see heed figure --help)\n`,
      });
  });
});
