/** `heed fill`, `generate`, `embed` and `similar` on the models of the package. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runCommand as heed } from "../../../tests/support/processes/command.ts";
import { readNpy } from "../../io/index.ts";
import {
  ablate,
  embedTexts,
  fillMask,
  type Gpt2,
  generate,
  locateShipped,
  logitLens,
  measureEffects,
  readModel,
} from "../../models/index.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-language-"));
afterAll(() => rmSync(folder, { recursive: true }));

const encoder = await readModel(locateShipped("encoder"));
const decoder = await readModel(locateShipped("decoder"));

describe("heed fill", () => {
  const text = "the president of the united [MASK] of [MASK]";

  test("prints the tokens of each mask with the text that they make", async () => {
    const { code, out } = await heed("fill", "encoder", text, "--top", "2");
    expect(code).toBe(0);
    const [first, second] = fillMask(encoder, text, { top: 2 });
    const groups = out.trim().split("\n\n");
    expect(groups.length).toBe(2);
    expect(groups[0]).toContain(`the president of the united ${first.candidates[0].token} of [MASK]`);
    expect(groups[1]).toContain(`${(100 * second.candidates[0].probability).toFixed(1)} %`);
  });

  test("--json has ids and probabilities", async () => {
    const { masks } = JSON.parse((await heed("fill", "encoder", text, "--json")).out);
    expect(masks).toEqual(fillMask(encoder, text));
  });
});

describe("texts that are too long or empty", () => {
  const long = "the old ship sailed over the sea and ".repeat(60).trim();

  test("a warning says how many tokens are left out", async () => {
    const left = (model: { tokenize(text: string): { leftOut: number } }, text: string) => {
      const { leftOut } = model.tokenize(text);
      expect(leftOut).toBeGreaterThan(0);
      return `reads at most ${model === encoder ? encoder.maxTokens : decoder.maxTokens} tokens; ${leftOut} are left out`;
    };
    const mask = `the [MASK] ship and ${long}`;
    expect((await heed("fill", "encoder", mask)).err).toContain(left(encoder, mask));
    expect((await heed("similar", "encoder", "a ship", long)).err).toContain(
      `text 2: ${encoder.name} ${left(encoder, long)}`,
    );
    const one = ["--layer", "0", "--head", "0"];
    expect((await heed("ablate", "decoder", long, ...one)).err).toContain(left(decoder, long));
    const [file, output] = [join(folder, "long.txt"), join(folder, "long.npy")];
    writeFileSync(file, `a ship\n${long}\n`);
    const { code, err } = await heed("embed", "encoder", file, "-o", output);
    expect([code, err]).toEqual([
      0,
      `warning: ${encoder.name} reads at most ${encoder.maxTokens} tokens of a text; 1 of 2 texts are longer and were cut, the first is text 2\n`,
    ]);
  });

  test("ablate reads both spellings of a mask, and says where a mask is too far", async () => {
    const [words, other] = await Promise.all(
      ["the [MASK] ship", "the <mask> ship"].map((text) => heed("ablate", "encoder", text, "--layer", "0")),
    );
    expect(words.code).toBe(0);
    expect(words.out).toMatch(/^predicted in place of "\[MASK\]" \(token 2, from 0\)/);
    expect(other).toEqual(words);
    const { code, err } = await heed("ablate", "encoder", `${long} [MASK]`);
    expect(code).toBe(1);
    expect(err).toContain("tokens, and each mask of the text is after them");
  });

  test("fill prints the text around the mask, and says where a mask is too far", async () => {
    const { out } = await heed("fill", "encoder", `the [MASK] ship and ${long}`, "--top", "1");
    expect(out.length).toBeLessThan(120);
    expect(out).toMatch(/the \w+ ship and the old ship sailed over the sea and .*…\n$/);
    const { code, err } = await heed("fill", "encoder", `${long} [MASK]`);
    expect(code).toBe(1);
    expect(err).toContain("tokens, and each mask of the text is after them");
  });

  test("generate names the tokens of a prompt that is too long", async () => {
    const { code, err } = await heed("generate", "decoder", long);
    expect(code).toBe(1);
    const tokens = decoder.tokenizer.encode(long).ids.length;
    expect(err).toBe(
      `heed generate: the prompt has ${tokens} tokens; ${decoder.name} reads at most ${decoder.maxTokens}, so shorten it\n`,
    );
  });

  test.each([
    ["capture", "encoder", "", "-o", join(folder, "x.safetensors")],
    ["similar", "encoder", "", "a"],
    ["fill", "encoder", ""],
    ["ablate", "decoder", ""],
    ["figure", "--text", "", "-o", join(folder, "x.svg")],
    ["html", "--text", "", "-o", join(folder, "x.html")],
    ["view", "--text", "", "--no-open"],
    ["capture", "encoder", " ", "-o", join(folder, "x.safetensors")],
    ["similar", "encoder", "  ", "a"],
    ["fill", "encoder", " \t"],
    ["ablate", "decoder", "   "],
    ["figure", "--text", " ", "-o", join(folder, "x.svg")],
  ])("heed %s refuses an empty text: %#", async (...args) => {
    const { code, err } = await heed(...args);
    expect(code).toBe(2);
    expect(err).toMatch(/a text is empty; write one or more words|--text is empty; write --text=TEXT/);
  });
});

test("heed generate takes an empty prompt where the model begins with a token of its own", async () => {
  // The shipped decoder has none.
  const { code, err } = await heed("generate", "decoder", "");
  expect([code, err]).toEqual([
    expect.any(Number),
    expect.stringContaining("the prompt has no token; write one or more words"),
  ]);
});

describe("models that cannot do what is asked, or are not found", () => {
  test.each([
    [["fill", "decoder", "the [MASK]"], "continues a text (generateText, heed generate)"],
    [
      ["generate", "encoder", "the"],
      "which fills in masks (fillMask, heed fill) but does not continue a text",
    ],
    [["show", "hi", "--model", "encodr"], "; did you mean encoder?"],
    [["similar", "Decoder", "a", "b"], "; did you mean decoder?"],
  ])("heed %s: %s", async (args, text) => {
    const { code, err } = await heed(...args);
    expect(code).toBe(1);
    expect(err).toContain(text);
  });
});

describe("heed ablate", () => {
  test("prints what is predicted where, and the change in percentage points", async () => {
    const decoded = await heed("ablate", "decoder", "the president of the united", "--top", "3");
    expect(decoded.out).toMatch(/^predicted after "ited": " of" \d/);
    expect(decoded.out).toContain('the probability of " of", its change in percentage points');
    const [header, ...rows] = decoded.out.split("\n\n")[2].split("\n");
    expect(header).toBe('without   " of"  change  most likely then');
    expect(rows[0]).toMatch(/^L\d H\d {4,}\d+\.\d % +[+−]\d+\.\d {2}".+" \d+\.\d %$/);
    const encoded = await heed("ablate", "encoder", "the president of the united states", "--position", "5");
    expect(encoded.out).toMatch(/^predicted in place of "united" \(token 5, from 0\): "united" \d/);
    for (const line of [...decoded.out.split("\n"), ...encoded.out.split("\n")])
      expect(line.length).toBeLessThanOrEqual(80);
  });

  test("switches off parts, and a link by its words", async () => {
    const text = "the president of the united";
    const json = async (...more: string[]) =>
      JSON.parse((await heed("ablate", "decoder", text, "--json", ...more)).out);
    const { effects } = await json("--part", "attention,mlp");
    expect(effects).toHaveLength(2 * decoder.layers);
    expect(new Set(effects.map((it: { part: string }) => it.part))).toEqual(new Set(["attention", "mlp"]));
    const ambiguous = await heed("ablate", "decoder", text, "--link", "ident:zebra");
    expect([ambiguous.code, ambiguous.err]).toEqual([
      2,
      expect.stringContaining('no token is "zebra"; the tokens are 0 t, 1 he'),
    ]);
    const link = await json("--link", "ident:0", "--layer", "0", "--renormalize");
    const wanted = ablate(decoder, text, { layer: 0, link: { query: 4, key: 0, renormalize: true } });
    expect(link.effects).toEqual(JSON.parse(JSON.stringify(wanted.effects)));
    const { out } = await heed("ablate", "decoder", text, "--link", "ident:0", "--head", "1");
    expect(out).toContain("Without the link in one head:");
    expect(out).toMatch(/^link in L\d H1 +\d+\.\d %/m);
  });

  test("measures the state of a word or of the sentence", async () => {
    const [text, other] = ["the old ship", "the new ship"];
    const word = JSON.parse(
      (await heed("ablate", "encoder", text, "--word", "ship", "--other", other, "--json")).out,
    );
    const quantity = { of: "state", position: 3, otherPosition: 3 } as const;
    const wanted = measureEffects(encoder, text, quantity, { other, parts: ["head"] });
    expect(word.value).toBe(wanted.value);
    expect(word.effects).toEqual(JSON.parse(JSON.stringify(wanted.effects)));
    const { out } = await heed("ablate", "encoder", text, "--sentence", "--part", "mlp", "--top", "1");
    expect(out).toMatch(/^Cosine of the mean of the last states with that of the unchanged run: 1\.0000/);
    expect(out).toMatch(/^MLP \d +0\.\d{4} +−0\.\d{4}$/m);
    expect(out).toMatch(/more parts? changes? less/);
    for (const [wrong, words] of [
      [["--other", other], "--other belongs to"],
      [["--word", "ship", "--sentence"], "not both"],
      [["--weight", "old:ship"], "LAYER.HEAD:QUERY:KEY"],
      [["--weight", "0.1:old:boat"], "no token is"],
      [["--sentence", "--position", "1"], "--position belongs to a prediction"],
      [["--link", "old"], "QUERY:KEY"],
      [["--link", "old:ship", "--part", "mlp"], "not both"],
      [["--renormalize"], "--renormalize belongs to --link"],
      [["--part", "neuron"], "must be head, attention or mlp"],
    ] as const) {
      const { code, err } = await heed("ablate", "encoder", text, ...wrong);
      expect([code, err]).toEqual([2, expect.stringContaining(words)]);
    }
  });
});

describe("heed generate", () => {
  const ids = [...generate(decoder.model as Gpt2, decoder.tokenizer.ids("The whale"), { maxTokens: 12 })];

  test("writes the prompt and what follows, and says the speed on stderr", async () => {
    const { code, out, err } = await heed("generate", "decoder", "The whale", "--tokens", "12");
    expect(code).toBe(0);
    expect(out).toBe(`The whale${decoder.tokenizer.decode(Int32Array.from(ids))}\n`);
    expect(err).toMatch(/^12 tokens, the first after \d+ ms, then [\d.e+]+ tokens\/s\n$/);
  });

  test("one token is not called tokens", async () => {
    expect((await heed("generate", "decoder", "The whale", "--tokens", "1")).err).toMatch(
      /^1 token, the first/,
    );
  });

  test("--json, --stop and seeds", async () => {
    const json = async (...more: string[]) =>
      JSON.parse((await heed("generate", "decoder", "The whale", "--json", ...more)).out);
    expect((await json("--tokens", "12")).ids).toEqual(ids);
    const { text } = await json("--tokens", "40", "--stop", ",");
    expect(text).not.toContain(",");
    const drawn = ["--tokens", "8", "--top-p", "0.9", "--seed", "4"];
    expect((await json(...drawn)).ids).toEqual((await json(...drawn)).ids);
  });

  test.each([
    [["generate", "decoder"], "name a model and one prompt"],
    [["generate", "decoder", "a", "b"], "name a model and one prompt"],
    [["generate", "decoder", "a", "--top-p", "1.5"], "--top-p must be above 0, at most 1"],
    [["generate", "decoder", "a", "--temperature", "-1"], "--temperature must be ≥ 0"],
    [["generate", "decoder", "a", "--seed", "3"], "--seed draws nothing without a temperature"],
    [
      ["generate", "decoder", "a", "--temperature", "0", "--top-k", "3"],
      "--temperature 0 takes the most likely token",
    ],
    [["generate", "decoder", "a", "--stop", ""], "--stop is empty; write --stop=TEXT"],
    [["fill", "encoder"], "name a model and one text"],
    [["embed", "encoder", "x.txt"], "name the file to write"],
    [["similar", "encoder", "one"], "two or more texts"],
  ])("%j is refused before any work", async (args, message) => {
    const { code, err, out } = await heed(...args);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(out).toBe("");
  });

  test("the other kind of model is refused, and nothing is written", async () => {
    expect(await heed("generate", "encoder", "a")).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringMatching(/fillMask/),
    });
    expect(await heed("fill", "decoder", "a [MASK]")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/generateText/),
    });
  });
});

describe("heed embed and similar", () => {
  test("a row of the file for each line that has text", async () => {
    const [file, output] = [join(folder, "lines.txt"), join(folder, "v.npy")];
    writeFileSync(file, "the river bank\r\n\nthe savings bank\n");
    const { code, out } = await heed("embed", "encoder", file, "-o", output);
    expect(code).toBe(0);
    expect(out).toContain("float32, mean of the tokens' states\n");
    const { shape, data } = readNpy(readFileSync(output));
    const want = embedTexts(encoder, ["the river bank", "the savings bank"]);
    expect(shape).toEqual(want.shape);
    expect(Array.from(data as Float32Array)).toEqual(Array.from(want.data));
  });

  test("the pooling of a decoder is the last token's state", async () => {
    expect((await heed("similar", "decoder", "a river", "money")).out).toMatch(
      /\ndecoder: the last token's state\n$/,
    );
  });

  test("similar prints the cosines of all pairs", async () => {
    const { out } = await heed("similar", "encoder", "a river", "a river", "money");
    expect(out).toMatch(/^1 {2}a river {2}1\.000 {2}1\.000 {2}-?0\.\d{3}$/m);
    const { similarity } = JSON.parse((await heed("similar", "encoder", "a river", "money", "--json")).out);
    expect(similarity[0][1]).toBeCloseTo(similarity[1][0], 12);
  });
});

describe("heed why", () => {
  const link = ["--layer", "1", "--head", "0", "--query", "flies", "--key", "time"];

  test("prints terms that add up to the score", async () => {
    const { code, out } = await heed("why", "encoder", "time flies like an arrow", ...link, "--json");
    expect(code).toBe(0);
    const split = JSON.parse(out);
    const sum = split.terms.reduce(
      (all: number, { value }: { value: number }) => all + value,
      split.rest.value,
    );
    expect(sum).toBeCloseTo(split.score.value, 4);
    expect(split.tokens[split.key].trim()).toBe("time");
    const printed = await heed("why", "encoder", "time flies like an arrow", ...link, "--top", "3");
    expect(printed.out).toMatch(/layer 1, head 0: "flies" gives "time" [\d.]+ %/);
    expect(printed.out).toContain("all other terms");
  });

  test("a token that the text lacks or has twice is refused with the tokens", async () => {
    const query = async (word: string) =>
      (await heed("why", "encoder", "the ship and the sea", "--query", word, "--key", "0")).err;
    expect(await query("queen")).toContain("2 ship");
    expect(await query("the")).toContain("tokens 1 and 4");
    expect(await query("99")).toContain("must be 0 to 6");
  });
});

describe("heed lens", () => {
  test("prints what each layer's state would predict, and the token in question with its rank", async () => {
    const text = "the president of the united";
    const { code, out, err } = await heed("lens", "decoder", text, "--top", "2");
    expect([code, err]).toEqual([0, ""]);
    const { token, rows } = logitLens(decoder, text, { top: 2 });
    expect(out).toContain(`: ${JSON.stringify(token.token.trim())} `);
    const lines = out.trim().split("\n").slice(-rows.length);
    for (const [n, line] of lines.entries()) {
      expect(line).toMatch(n === 0 ? /^embedding/ : new RegExp(`^layer ${n - 1} `));
      for (const one of rows[n].tokens) expect(line).toContain(JSON.stringify(one.token.trim()));
      expect(line).toMatch(new RegExp(` ${rows[n].rank} `));
    }
    const json = JSON.parse((await heed("lens", "encoder", "the [MASK] ship", "--json")).out);
    expect(json.rows).toEqual(logitLens(encoder, "the [MASK] ship", { top: 3 }).rows);
    expect((await heed("lens", "encoder", "the ship")).err).toContain(
      "write [MASK] where a token is predicted",
    );
    const at = JSON.parse((await heed("lens", "encoder", "the ship", "--at", "ship", "--json")).out);
    expect(at.position).toBe(2);
  });
});

describe("heed patch", () => {
  test("prints the parts by their change, and what they recover", async () => {
    const texts = ["the president of the", "the captain of the"];
    const tokens = ["--token", " of", "--against", ","];
    const { code, out } = await heed("patch", "decoder", ...texts, ...tokens, "--top", "2");
    expect(code).toBe(0);
    expect(out).toMatch(/patched +value +change +recovered\n(?:L\d H\d|MLP \d) /);
    expect(out).toContain("more parts change less");
  });

  test("compares a word in two texts, and refuses a call without a quantity", async () => {
    const texts = ["time flies like an arrow", "fruit flies like a banana"];
    const { out } = await heed("patch", "encoder", ...texts, "--word", "flies", "--json");
    expect(JSON.parse(out).otherValue).toBe(1);
    expect((await heed("patch", "encoder", ...texts)).err).toContain("--token and --against, or --word");
  });
});
