/** `heed answer`: spans, probabilities, JSON, and the attention on question and text. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { carrierTokenizer } from "../../../tests/golden/carrier.ts";
import { at } from "../../../tools/setup.mjs";
import { openStore } from "../../store/formats/open.ts";
import { dispatch } from "../support/line/dispatch.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-answer-"));
afterAll(() => rmSync(folder, { recursive: true }));
const model = join(folder, "bert");
cpSync(at("tests/golden/answerers/bert"), model, { recursive: true });
writeFileSync(join(model, "tokenizer.json"), carrierTokenizer());

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

test("prints each answer with its probability, and that of no answer", async () => {
  const args = [model, "the cat", "sat on the mat", "--top", "2", "--tokens", "2"];
  const { code, out, err } = await run("answer", ...args);
  expect([code, err]).toEqual([0, ""]);
  const { answers, noAnswer } = JSON.parse((await run("answer", ...args, "--json")).out);
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const lines = out.trimEnd().split("\n");
  expect(lines).toHaveLength(answers.length + 1);
  answers.forEach(({ text, probability }: { text: string; probability: number }, n: number) => {
    expect(lines[n].trim().startsWith(percent(probability))).toBe(true);
    expect(lines[n]).toContain(text);
  });
  expect(lines.at(-1)!.trim()).toBe(`${percent(noAnswer)}  (no answer)`);
});

test("-o writes the attention on both texts", async () => {
  const file = join(folder, "run.safetensors");
  expect((await run("answer", model, "the cat", "sat on", "-o", file)).code).toBe(0);
  const store = await openStore(readFileSync(file));
  expect(store.blocks[0].segments.map(({ name }) => name)).toEqual(["A", "B"]);
  store.dispose();
});

test("a model without the head is an error that names it", async () => {
  const { code, err } = await run("answer", "encoder", "who sails?", "the old ship sails");
  expect(code).toBe(1);
  expect(err).toContain("encoder was not trained to answer questions");
  expect((await run("answer", model, "the cat")).code).toBe(2);
});
