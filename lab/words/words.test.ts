import { join } from "node:path";
import { contrastOf, openStore } from "heed/view";
import { expect, test } from "vitest";
import { changeOf } from "../frame/page.ts";
import { page } from "./page.ts";

test("each stop about “it” shows it and its sentence, and the last shows the reader's own sentence", () => {
  const ownText = page.check({ ...page.initial, ...page.sentence?.("old kings love young queens") });
  const at = (stop: number) =>
    page.check({ ...page.initial, ...page.carry?.(ownText), ...changeOf(page.steps[stop].state, ownText) });
  expect(at(1)).toMatchObject({ line: "warm", query: page.initial.query, hide: true });
  expect(at(4)).toMatchObject({ line: "tired", query: page.initial.query });
  // The stops between them have sentences of their own.
  expect(page.check({ ...page.initial, ...page.carry?.(at(4)), ...page.steps[5].state })).toMatchObject({
    line: "own",
    ownText: ownText.ownText,
  });
  expect(page.check({ ...page.initial, ...page.carry?.(page.initial), ...page.steps[5].state })).toEqual(
    page.initial,
  );
});

test("a link of the page says that a word looks at another only where contrast supports it", async () => {
  const links = page.trained?.more ?? [];
  expect(links.length).toBe(5);
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
