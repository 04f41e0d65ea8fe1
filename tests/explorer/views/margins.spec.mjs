// @ts-check
/** The margins of a long head, and labels beside its ticks: only data is drawn, and nothing overlaps a name. */
import { expect } from "@playwright/test";
import { test } from "../support/fixtures.ts";
import { settled } from "../support/site.mjs";

test("bars in the margins of a long head touch: no gaps at regular steps", async ({ visit }) => {
  await visit({ heads: { heads: 1, layers: 1, Nq: 600 } }, async (page) => {
    await expect
      .poll(
        () =>
          page.evaluate(() => {
            const inside = /** @type {any} */ (globalThis).view.shadowRoot;
            const canvas = inside.querySelector(".matrix canvas.cells");
            const box = canvas.getBoundingClientRect();
            const area = inside.querySelector(".matrix .area").getBoundingClientRect();
            const y = Math.round(area.bottom - box.top) + 6;
            const x = Math.round(area.left - box.left);
            const { data } = canvas.getContext("2d").getImageData(x, y, Math.round(area.width), 1);
            let empty = 0;
            for (let at = 3; at < data.length; at += 4) if (data[at] === 0) empty++;
            return [empty, data.length > 800];
          }),
        { timeout: 60_000 },
      )
      .toEqual([0, true]);
  });
});

test("the tick of the pointed token is beside its label, not over it", async ({ visit }) => {
  await visit({ heads: { heads: 1, layers: 1, Nq: 12 }, hash: "#v1/head?i=5&j=3" }, async (page) => {
    await settled(page);
    const apart = await page.evaluate(() => {
      const inside = /** @type {any} */ (globalThis).view.shadowRoot;
      const row = inside.querySelector(".matrix .labels.rows .strong").getBoundingClientRect();
      const tick = inside.querySelector(".mark.row-tick").getBoundingClientRect();
      const columns = inside.querySelector(".matrix .labels.columns").getBoundingClientRect();
      const top = inside.querySelector(".mark.column-tick").getBoundingClientRect();
      return [tick.left - row.right, top.top - columns.bottom];
    });
    for (const pixels of apart) expect(pixels).toBeGreaterThanOrEqual(0);
  });
});

test("the next head is drawn in the next frame, before its other rows are read for the sentence about the link", async ({
  visit,
}) => {
  await visit({ heads: { heads: 4, layers: 1, Nq: 512 } }, async (page) => {
    await settled(page);
    for (let n = 0; n < 3; n++) {
      const reads = await page.evaluate(async () => {
        const { view } = /** @type {any} */ (globalThis);
        const inside = view.shadowRoot;
        let [count, frames] = [0, 0];
        const { store } = view;
        const restore = ["row", "visible"].map((name) => {
          const read = store[name];
          store[name] = (/** @type {any[]} */ ...of) => {
            count++;
            return read.apply(store, of);
          };
          return () => delete store[name];
        });
        const frame = () => {
          frames++;
          requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
        const painted = new Promise((resolve) => {
          const listen = (/** @type {any} */ event) => {
            if (!event.target.classList.contains("matrix") || !event.detail.shown) return;
            inside.removeEventListener("painted", listen, true);
            resolve([count, frames]);
          };
          inside.addEventListener("painted", listen, true);
        });
        const key = new KeyboardEvent("keydown", { key: "]", bubbles: true, composed: true });
        view.dispatchEvent(key);
        const [reads, drawn] = /** @type {number[]} */ (await painted);
        for (const undo of restore) undo();
        return { reads, drawn };
      });
      // The grid of screen readers and the list of the cursor's row read a few rows, the sentence all 512.
      expect(reads.reads, `head ${n + 1}`).toBeLessThan(40);
      expect(reads.drawn, `head ${n + 1}`).toBeLessThan(2);
      await settled(page);
    }
  });
});
