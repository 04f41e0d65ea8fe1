/** Thousands of corrupted tokenizer.json, config.json and model folders: each is read, or rejected by a typed error. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { HeedError } from "heed";
import {
  Gpt2,
  modelFromFiles,
  modelToFiles,
  readConfig,
  readTokenizer,
  trainTokenizer,
  writeTokenizer,
} from "heed/models";
import { describe, expect, test } from "vitest";
import { carrierTokenizer } from "../golden/carrier.ts";
import { seed } from "../support/cases/seed.ts";
import { Dice } from "./mutants.ts";

const text = "the cat sat on the mat, the cat sat; 12 cats\n".repeat(4);
const bpe = trainTokenizer([text], { kind: "bpe", vocabSize: 270 });
const wordPiece = trainTokenizer([text], { kind: "wordpiece", vocabSize: 40 });

const VALUES =
  '0 1 2 -1 1.5 1e9 1e400 4294967296 9007199254740993 null true false "" "a" "##" "[CLS]" "BPE" "WordPiece" "(a+)+$" "\\ud800" "\\u0000" "__proto__" [] {} [[[[[[[[[[[[[[[[[[ {"a":1} ["a","b"]'.split(
    " ",
  );

/** The text of a JSON file with values, keys, structure or bytes of it replaced, left out or doubled. */
function mutate(json: string, dice: Dice): string {
  let out = json;
  for (let rounds = 1 + dice.below(2); rounds > 0; rounds--) {
    // Most changes keep the file JSON: those reach the checks behind the scanner.
    const kind = dice.pick([0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5]);
    const places = [
      ...out.matchAll([/: ?("[^"]*"|-?\d+|true|false|null)/g, /"[^"]*"/g, /[{}[\],:]/g][kind % 3]),
    ];
    const at = places.length === 0 ? undefined : dice.pick(places);
    const [start, end] = at ? [at.index, at.index + at[0].length] : [dice.below(out.length + 1), out.length];
    const value = dice.pick(VALUES);
    if (kind === 0) out = `${out.slice(0, start)}: ${value}${out.slice(end)}`;
    else if (kind === 1) out = out.slice(0, start) + value + out.slice(end);
    else if (kind === 2)
      out = out.slice(0, start) + dice.pick(["", "{", "}", "[", "]", ",", ":", '"']) + out.slice(end);
    else if (kind === 3) out = out.slice(0, start) + out.slice(end);
    else if (kind === 4) out = out.slice(0, end) + out.slice(start, end) + out.slice(end);
    else out = out.slice(0, dice.below(out.length + 1));
  }
  return out;
}

/** Reads mutants; counts the outcomes. Anything but a typed error fails the test with its mutant. */
async function readAll(count: number, json: string, read: (mutant: string) => unknown) {
  const dice = new Dice(seed);
  const codes = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    const mutant = mutate(json, dice);
    let code = "read";
    try {
      await read(mutant);
    } catch (error) {
      if (!(error instanceof HeedError))
        throw new Error(`mutant ${i}: ${mutant.slice(0, 4000)}`, { cause: error });
      code = error.code;
    }
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  console.log(`seed ${seed}: ${JSON.stringify(Object.fromEntries(codes))}`);
  return codes;
}

describe(`mutated models (HEED_SEED=${seed})`, () => {
  test.each([
    ["byte-level BPE", bpe],
    ["WordPiece", wordPiece],
  ])("no tokenizer.json of %s does anything but read or raise a typed error", async (_, tokenizer) => {
    const json = new TextDecoder().decode(writeTokenizer(tokenizer));
    const codes = await readAll(2000, json, (mutant) => {
      const read = readTokenizer(mutant);
      read.decode(read.encode("The cats sat.\u0301 😀", "12 [MASK]").ids);
    });
    // Both outcomes happen, and by many checks: otherwise the generator tests too little.
    expect(codes.get("read")).toBeGreaterThan(10);
    expect(codes.size).toBeGreaterThan(6);
  });

  const model = new Gpt2({ vocab_size: 270, n_positions: 8, n_embd: 4, n_layer: 1, n_head: 2 });
  const files = modelToFiles(model, bpe);
  const json = new TextDecoder().decode(files.get("config.json"));

  test("no config.json does, and no size in one makes an allocation", async () => {
    const codes = await readAll(4000, json, (mutant) => readConfig(new TextEncoder().encode(mutant)));
    expect(codes.get("read")).toBeGreaterThan(100);
    expect(codes.size).toBeGreaterThan(4);
  });

  test("no model with a changed config does", { timeout: 120_000 }, async () => {
    // Some 3 of 1,000 ask for weights that are not there.
    const codes = await readAll(6000, json, (mutant) =>
      modelFromFiles(new Map([...files, ["config.json", new TextEncoder().encode(mutant)]])),
    );
    expect(codes.get("read")).toBeGreaterThan(20);
    expect(codes.get("weights")).toBeGreaterThan(0);
  });

  const golden = join(import.meta.dirname, "../golden");
  const kinds = readdirSync(join(golden, "tokenizers/families")).filter((name) => name.endsWith(".json"));
  const texts = kinds
    .filter((name) => name !== "expected.json")
    .map((name) => readFileSync(join(golden, "tokenizers/families", name), "utf8"));

  test("no tokenizer.json of a published kind does anything but read or raise a typed error", {
    timeout: 240_000,
  }, async () => {
    const codes = new Map<string, number>();
    for (const text of texts)
      for (const [code, n] of await readAll(120, text, (mutant) => {
        const read = readTokenizer(mutant);
        read.decode(read.encode("The cats sat.\u0301 😀 12", "a  b").ids);
      }))
        codes.set(code, (codes.get(code) ?? 0) + n);
    expect(codes.get("read")).toBeGreaterThan(10);
    expect(codes.get("tokenizer")).toBeGreaterThan(10);
  });

  test("500 malformed folders of every family: typed errors only, and no more memory than the files have", {
    timeout: 240_000,
  }, async () => {
    const families = readdirSync(join(golden, "models"), { withFileTypes: true }).filter((one) =>
      one.isDirectory(),
    );
    const dice = new Dice(seed);
    const carrier = carrierTokenizer();
    const codes = new Map<string, number>();
    for (let n = 0; n < 500; n++) {
      const folder = join(golden, "models", dice.pick(families).name);
      const config = readFileSync(join(folder, "config.json"), "utf8");
      const weights = Uint8Array.from(readFileSync(join(folder, "model.safetensors")));
      const parts = new Map<string, Uint8Array>([
        ["config.json", new TextEncoder().encode(config)],
        ["model.safetensors", weights],
        ["tokenizer.json", dice.below(4) === 0 ? new TextEncoder().encode(dice.pick(texts)) : carrier],
      ]);
      const kind = dice.below(6);
      if (kind < 3) parts.set("config.json", new TextEncoder().encode(mutate(config, dice)));
      else if (kind === 3) weights[dice.below(Math.min(weights.length, 4000))] = dice.below(256);
      else if (kind === 4) parts.set("model.safetensors", weights.slice(0, dice.below(weights.length)));
      else parts.delete(dice.pick([...parts.keys()]));
      let code = "read";
      try {
        const { model } = await modelFromFiles(parts);
        model.hidden([5, 6, 7]);
      } catch (error) {
        if (!(error instanceof HeedError)) throw new Error(`folder ${n}, seed ${seed}`, { cause: error });
        code = error.code;
      }
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    console.log(`seed ${seed}: ${JSON.stringify(Object.fromEntries(codes))}`);
    expect(codes.get("read")).toBeGreaterThan(20);
    expect(codes.size).toBeGreaterThan(6);
  });
});
