// @ts-check
/** The flow: the drawn rollout is that of the store, its row sums are shown, and the keyboard reaches every number. */
import { expect } from "@playwright/test";
import { attentionFlow, storeFrom } from "heed/view";
import { test } from "../support/fixtures.ts";
import { makeInput } from "../support/heads.mjs";
import { settled, textOf } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const HEADS = { heads: 3, layers: 3, Nq: 8 };

/** Waits for the rollout. @param {Page} page */
const computed = (page) =>
  page.waitForFunction(
    () => /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".side .keys td data") !== null,
  );

/** The rollout by plain loops over the store's weights: one row of it. @param {Page} page @param {{ alpha: number, fuse: "mean" | "max" }} how @returns {Promise<number[]>} */
const plainly = (page, how) =>
  page.evaluate(
    async ({ alpha, fuse }) => {
      const { store, state } = /** @type {any} */ (globalThis).view;
      const { Nq: N, heads, layers } = store.blocks[0];
      let row = Array.from({ length: N }, (_, j) => Number(j === state.query));
      for (const layer of [...layers].reverse()) {
        /** @type {Float64Array[]} */
        const all = [];
        for (let head = 0; head < heads; head++) all.push(await store.weights({ block: 0, layer, head }));
        const next = new Array(N).fill(0);
        for (let i = 0; i < N; i++) {
          const joined = Array.from({ length: N }, (_, j) => {
            const values = all.map((weights) => weights[i * N + j]);
            const one =
              fuse === "max" ? Math.max(...values) : values.reduce((a, b) => a + b, 0) / values.length;
            return (1 - alpha) * one + (i === j ? alpha : 0);
          });
          const sum = joined.reduce((a, b) => a + b, 0);
          for (let j = 0; j < N; j++) next[j] += (row[i] * joined[j]) / sum;
        }
        row = next;
      }
      return row;
    },
    /** @type {any} */ (how),
  );

/** The listed input tokens' shares. @param {Page} page @returns {Promise<number[]>} */
const listed = (page) =>
  page.evaluate(() =>
    [.../** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".side table.keys")][0] === undefined
      ? []
      : [
          .../** @type {any} */ (globalThis).view.shadowRoot
            .querySelector(".side table.keys")
            .querySelectorAll("td.num data"),
        ].map((data) => Number(data.value)),
  );

test("the flow shows the rollout, its row sums and what it leaves out", async ({ visit }) => {
  await visit({ heads: HEADS, hash: "#v1/flow?i=5&j=2" }, async (page) => {
    await computed(page);
    const text = await textOf(page, ".side");
    expect(text).toMatch(/Σ 1\.000\. Each of the 8 rows sums to 1/);
    expect(text).toMatch(/ignores the value vectors/);
    for (const how of /** @type {const} */ ([
      { alpha: 0.5, fuse: "mean" },
      { alpha: 0.2, fuse: "max" },
    ])) {
      const before = await listed(page);
      await page.evaluate((to) => {
        /** @type {any} */ (globalThis).view.state = to;
      }, how);
      const want = (await plainly(page, how)).sort((a, b) => b - a);
      if (how.alpha !== 0.5)
        await page.waitForFunction(
          (old) =>
            Number(
              /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".side table.keys td.num data")
                .value,
            ) !== old,
          before[0],
        );
      const got = await listed(page);
      expect(got).toHaveLength(8);
      for (const [n, share] of got.entries()) expect(share).toBeCloseTo(want[n], 10);
    }
    expect(new URL(page.url()).hash).toContain("rf=max");
  });
});

test("keys move the target, and a screen reader hears the share", async ({ visit }) => {
  await visit({ heads: HEADS, hash: "#v1/head" }, async (page) => {
    await page.keyboard.press("f");
    await computed(page);
    await page.waitForFunction(
      () =>
        /** @type {any} */ (globalThis).view.shadowRoot.activeElement?.closest(".rollout") !== null &&
        /** @type {any} */ (globalThis).view.shadowRoot.activeElement?.getAttribute("role") === "gridcell",
    );
    const before = await page.evaluate(() => /** @type {any} */ (globalThis).view.state.query);
    await page.keyboard.press("ArrowDown");
    await settled(page);
    const after = await page.evaluate(() => /** @type {any} */ (globalThis).view.state.query);
    expect(after).toBe(before + 1);
    await page.waitForFunction(() =>
      /from .*Rollout/.test(/** @type {any} */ (globalThis).view.shadowRoot.activeElement.textContent),
    );
    await page.keyboard.press("Escape");
    expect(await page.evaluate(() => /** @type {any} */ (globalThis).view.state.view)).toBe("head");
  });
});

test("the flow is exported as its two pictures with the warning", async ({ visit }) => {
  await visit({ heads: HEADS, hash: "#v1/flow?i=5&j=2" }, async (page) => {
    await computed(page);
    const svg = await page.evaluate(() => /** @type {any} */ (globalThis).view.toSVG({ width: 170 }));
    expect(svg).toContain("Attention rollout");
    expect(svg).toContain("ignores the value vectors");
    expect(svg).toContain("Product of all layers");
    expect(svg.match(/<path d="M/g)?.length ?? 0).toBeGreaterThan(20);
  });
});

test("an exported flow names its own axes, and bands from special tokens are gray", async ({ visit }) => {
  const tokens = ["[CLS]", "boats", "cross", "wide", "rivers", "[SEP]"];
  await visit({ heads: { ...HEADS, Nq: 6, tokens }, hash: "#v1/flow?i=2&j=1" }, async (page) => {
    await computed(page);
    const svg = await page.evaluate(() => /** @type {any} */ (globalThis).view.toSVG({ width: 170 }));
    expect(svg).toContain("position after the last layer");
    expect(svg).toContain("input token");
    expect(svg).not.toContain("what is attended to");
    const bands = [...svg.matchAll(/<path d="M[\d.]+ ([\d.]+)C[^>]*stroke="(#\w+)"/g)];
    const rows = [...new Set(bands.map(([, y]) => Number(y)))].sort((a, b) => a - b);
    expect(rows).toHaveLength(6);
    const colors = rows.map(
      (row) => new Set(bands.filter(([, y]) => Number(y) === row).map(([, , color]) => color)),
    );
    for (const used of colors) expect(used.size).toBe(1);
    const [first, ...words] = colors.map((used) => [...used][0]);
    expect(words.pop()).toBe(first);
    expect(new Set(words).size).toBe(1);
    expect(words[0]).not.toBe(first);
  });
});

test("the list of input tokens says how many it leaves out", ({ visit }) =>
  visit({ heads: { ...HEADS, Nq: 11 }, hash: "#v1/flow?i=5&j=2" }, async (page) => {
    await computed(page);
    await expect.poll(() => textOf(page, ".side")).toContain("The first 8 of 11; T lists all.");
    expect(await listed(page)).toHaveLength(8);
  }));

test("cross-attention has no rollout, and the page says why", async ({ visit }) => {
  await visit({ heads: { ...HEADS, Nk: 11 }, hash: "#v1/flow" }, async (page) => {
    await page.waitForFunction(() =>
      /8 queries and 11 keys/.test(
        /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".flow-said")?.textContent ?? "",
      ),
    );
  });
});

test("the largest flow of each pair is shown in the same picture, with its row sums", async ({ visit }) => {
  const { values, shares, rowSums } = await attentionFlow(storeFrom(makeInput(HEADS)));
  await visit({ heads: HEADS, hash: "#v1/flow?i=5&j=2" }, async (page) => {
    await computed(page);
    const rolled = (await listed(page))[0];
    await page.locator("attention-view").getByRole("button", { name: "largest flow" }).click();
    await page.waitForFunction(
      (old) =>
        Number(
          /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".side table.keys td.num data").value,
        ) !== old,
      rolled,
    );
    const want = [...shares.subarray(5 * 8, 6 * 8)].sort((a, b) => b - a);
    for (const [n, share] of (await listed(page)).entries()) expect(share).toBeCloseTo(want[n], 9);
    await expect.poll(() => textOf(page, ".flow-said")).toContain(values[5 * 8 + 2].toPrecision(3));
    const text = await textOf(page, ".side");
    expect(text).toContain(`Σ ${rowSums[5].toPrecision(4)}, by which its flows are divided`);
    expect(text).toMatch(/says how much could pass, not how much does/);
    expect(new URL(page.url()).hash).toContain("fb=flow");
    const svg = await page.evaluate(() => /** @type {any} */ (globalThis).view.toSVG({ width: 170 }));
    expect(svg).toContain("Largest flows");
    // Every band that begins in the column of inputs begins at the cursor's key: it is the flow of that one input.
    const starts = [...svg.matchAll(/<path d="M([\d.]+) ([\d.]+)C/g)].map(([, x, y]) => [Number(x), y]);
    const left = Math.min(...starts.map(([x]) => Number(x)));
    expect(new Set(starts.filter(([x]) => x === left).map(([, y]) => y)).size).toBe(1);
  });
});

test("a rollout of 1,024 tokens does not block frames, and is canceled for another", async ({ visit }) => {
  await visit({ heads: { layers: 4, heads: 1, Nq: 1024, d: 4 }, hash: "#v1/head" }, async (page) => {
    const frames = await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      view.state = { view: "flow" };
      let frames = 0;
      const isDrawn = () => /Row sums/.test(view.shadowRoot.querySelector(".side")?.textContent ?? "");
      while (!isDrawn()) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        frames++;
        // Another rollout is requested during the work.
        if (frames === 4) view.state = { alpha: 0.9 };
        if (frames > 10_000) throw new Error("no rollout");
      }
      return frames;
    });
    process.stdout.write(`  rollout of 1,024 tokens: ${frames} frames meanwhile\n`);
    expect(frames).toBeGreaterThan(5);
    const text = await textOf(page, ".side");
    expect(text).toMatch(/90\s?%/);
    await expect(page.locator("attention-view").getByRole("button", { name: "largest flow" })).toBeDisabled();
  });
});
