import { join } from "node:path";
import { contrastOf, openStore } from "heed/view";
import { expect, test } from "vitest";
import { viewOf } from "../../tests/golden/lab/listings.ts";
import { changeOf } from "../frame/page.ts";
import { compute } from "./compute.ts";
import { page } from "./page.ts";
import { looksIn, placeIn, SENTENCES, type SentenceName } from "./sentences.ts";

const { looks, finds } = {
  looks: (name: SentenceName) => placeIn(name, SENTENCES[name].looks),
  finds: (name: SentenceName) => placeIn(name, SENTENCES[name].finds),
};

test("the links are those of the design's table, and the controls have none", async () => {
  const { linkShares } = await compute(page.initial);
  // 0.802, 0.811, 0.706, 0.852, 0.628, PyTorch in float64; the captures have float16.
  const anchors = { time: 0.802, fruit: 0.811, river: 0.706, before: 0.852, savings: 0.628 };
  for (const [name, weight] of Object.entries(anchors))
    expect(linkShares[name as SentenceName], name).toBeCloseTo(weight, 2);
  expect(linkShares.table).toBeCloseTo(0.045, 2);
  expect(linkShares.green).toBeLessThan(0.06);
});

test("the stops that speak of sentences show them, and the last shows the reader's own", () => {
  const ownText = page.check({ ...page.initial, ...page.sentence?.("old kings love young queens") });
  const at = (stop: number) =>
    page.check({ ...page.initial, ...page.carry?.(ownText), ...changeOf(page.steps[stop].state, ownText) });
  expect(at(1)).toMatchObject({ line: "flies", query: looks("time") });
  expect(at(3)).toMatchObject({ line: "green", query: looks("green"), hide: true });
  expect(page.check({ ...page.initial, ...page.carry?.(at(4)), ...page.steps[5].state })).toMatchObject({
    line: "own",
    ownText: ownText.ownText,
  });
  expect(page.check({ ...page.initial, ...page.carry?.(page.initial), ...page.steps[5].state })).toEqual(
    page.initial,
  );
});

test("a sentence of the courses, typed with or without capitals and an end mark, is the page's own picture", async () => {
  for (const [name, typed] of Object.entries({
    time: "Time flies like an arrow",
    fruit: "fruit flies like a banana",
    eroding: "The river bank was eroding",
    mat: "The cat sat on the mat",
    rates: "The bank raised its rates while we sat on the bank of the river",
  }))
    for (const text of [typed, `${typed}.`, `${typed}!`, `“${typed}” `]) {
      const state = page.check({ ...page.initial, ...page.sentence?.(text) });
      expect(state, text).toMatchObject({ line: name, ownText: "", query: looks(name as SentenceName) });
    }
  const { lines } = await compute(
    page.check({ ...page.initial, ...page.sentence?.("The river bank was eroding.") }),
  );
  expect(lines[0].shares[finds("eroding")]).toBeCloseTo(0.79, 2);
});

test("both sentences of a pair have the word that looks at the same place", async () => {
  for (const line of ["flies", "banks"]) {
    const { lines } = await compute({ ...page.initial, line, query: looksIn(line) });
    expect(lines[0].tokens[lines[0].looks]).toBe(lines[1].tokens[lines[1].looks]);
  }
});

test("a link of the page says that a word looks at another only where contrast supports it", async () => {
  const links = page.trained?.more ?? [];
  expect(links.length).toBe(4);
  for (const { text, address } of links) {
    const match = /^([\w-]+)\.html#v1\/head\?l=(\d+)&h=(\d+)&i=(\d+)&j=(\d+)/.exec(address)!;
    const [layer, head, query, key] = match.slice(2).map(Number);
    const store = await openStore(
      join(import.meta.dirname, "../../models/captures", `${match[1]}.safetensors`),
    );
    const { verdict } = await contrastOf(store, { block: 0, layer, head }, query, key);
    expect(verdict, text).toBe(/every word looks at/.test(text) ? "stripe" : "link");
    const names = / (\w+) looks at (\w+)$/.exec(text)!;
    expect(store.blocks[0].keyTokens[key]).toBe(names[2]);
    if (verdict === "link") expect(store.blocks[0].queryTokens[query]).toBe(names[1]);
    store.dispose();
  }
});

test("no other word gives “time” or “fruit” more than the 7 % of the text", async () => {
  for (let query = 0; query < 7; query++) {
    if (query === looks("time")) continue;
    const { lines } = await compute({ ...page.initial, line: "flies", query });
    for (const [i, name] of (["time", "fruit"] as const).entries())
      expect(lines[i].shares[finds(name)], `${query} ${name}`).toBeLessThan(0.07);
  }
});

test("a single sentence is in the middle of a wide picture", async () => {
  const picture = page.picture((await viewOf("words")) as never);
  const edges = [...picture.matchAll(/<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g)].map(
    ([, x, width]) => [Number(x), Number(x) + Number(width)],
  );
  const [left, right] = [Math.min(...edges.map(([a]) => a)), Math.max(...edges.map(([, b]) => b))];
  expect(Math.abs(left - (860 - right))).toBeLessThan(6);
});

test("whichever word looks, its dots are 100", async () => {
  for (const line of ["time", "green", "river"])
    for (let query = 0; query < 7; query++) {
      const view = await viewOf("words", { line, query });
      for (const wide of [true, false])
        expect(
          [...page.picture({ ...view, wide } as never).matchAll(/<circle [^>]*class="fw"/g)],
          `${line}, ${query}, ${wide ? "wide" : "narrow"}`,
        ).toHaveLength(100);
    }
});
