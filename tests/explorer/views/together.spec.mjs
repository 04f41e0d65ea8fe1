// @ts-check
/** Several heads: drawn together as lines, and a comparison exported with both heads and the difference. */
import { expect } from "@playwright/test";
import { test } from "../support/fixtures.ts";
import { settled } from "../support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const HEADS = { heads: 4, layers: 2, Nq: 10 };

/** How many pixels of a canvas are nearer to each color than to any other. @param {Page} page @param {readonly string[]} colors @returns {Promise<number[]>} */
const counted = (page, colors) =>
  page.evaluate(
    (wanted) => {
      const canvas = /** @type {any} */ (globalThis).view.shadowRoot.querySelector(".lines canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const parsed = wanted.map((hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)));
      const counts = wanted.map(() => 0);
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] < 40) continue;
        const far = parsed.map((color) => color.reduce((sum, x, c) => sum + (x - data[at + c]) ** 2, 0));
        const least = Math.min(...far);
        if (least < 900) counts[far.indexOf(least)]++;
      }
      return counts;
    },
    [...colors],
  );

test("pinned heads are drawn together, each in its own color with its letter", async ({ visit }) => {
  const hash = "#v1/head?m=lines&i=6&l=1&h=3&pin=0.1,1.2&tg=1";
  await visit({ heads: HEADS, hash }, async (page) => {
    await page.waitForFunction(
      () =>
        /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".legend.strands > span").length ===
        3,
    );
    await settled(page);
    const legend = await page.evaluate(() =>
      /** @type {any} */ (globalThis).view.shadowRoot
        .querySelector(".legend.strands")
        .textContent.replace(/\s+/g, " ")
        .trim(),
    );
    expect(legend).toBe("A L0 H1 B L1 H2 L1 H3");
    await expect
      .poll(async () => Math.min(...(await counted(page, ["#0b5fa5", "#b34700", "#3f0538"]))))
      .toBeGreaterThan(50);
    // Pointing at a token splits it into heads: each head's own strongest link, as the store has it.
    const [x, y] = await page.evaluate(() => {
      const inside = /** @type {any} */ (globalThis).view.shadowRoot;
      const label = inside.querySelector(".lines .column.queries .labels .strong").getBoundingClientRect();
      return [label.x + label.width / 2, label.y + label.height / 2];
    });
    await page.mouse.move(x, y);
    await page.waitForFunction(
      () =>
        /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".lines .said .strand").length === 3,
    );
    const { shown, want } = await page.evaluate(() => {
      const { view } = /** @type {any} */ (globalThis);
      const heads = [
        [0, 1],
        [1, 2],
        [1, 3],
      ];
      return {
        shown: [...view.shadowRoot.querySelectorAll(".lines .said data")].map((data) => Number(data.value)),
        want: heads.map(([layer, head]) =>
          Math.max(...view.store.row({ block: 0, layer, head }, view.state.query, "weights")),
        ),
      };
    });
    expect(shown).toEqual(want);
  });
});

test("a comparison is exported with both heads and their difference", async ({ visit }) => {
  await visit({ heads: HEADS, hash: "#v1/compare?l=0&h=1&c=0.1.2" }, async (page) => {
    await page.waitForFunction(
      () =>
        /** @type {any} */ (globalThis).view.shadowRoot.querySelectorAll(".comparison .matrix:not(.waiting)")
          .length === 3,
    );
    const svg = await page.evaluate(() => /** @type {any} */ (globalThis).view.toSVG({ width: 170 }));
    for (const text of [">A<", ">B<", ">A − B<", "Layer 0 · Head 1", "Layer 1 · Head 2"])
      expect(svg).toContain(text);
    await page.keyboard.press("e");
    const download = page.waitForEvent("download");
    await page.locator("attention-view dialog button", { hasText: "CSV" }).click();
    const stream = await (await download).createReadStream();
    let csv = "";
    for await (const piece of stream) csv += piece;
    const [names, ...rows] = csv.trim().split("\r\n");
    expect(names).toBe("query A,query B,key A,key B,A,B,A − B");
    expect(rows).toHaveLength(100);
    for (const row of rows) {
      const [a, b, less] = row.split(",").slice(-3).map(Number);
      expect(less).toBeCloseTo(a - b, 12);
    }
    const first = await page.evaluate(() => {
      const { store } = /** @type {any} */ (globalThis).view;
      return [
        store.cell({ block: 0, layer: 0, head: 1 }, 0, 0, "weights"),
        store.cell({ block: 0, layer: 1, head: 2 }, 0, 0, "weights"),
      ];
    });
    expect(rows[0].split(",").slice(4, 6).map(Number)).toEqual(first);
  });
});
