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

test("the next head is drawn in the next frame, before rows are read for margins and for the sentence about the link", async ({
  visit,
}) => {
  await visit({ heads: { heads: 4, layers: 1, Nq: 512 } }, async (page) => {
    await settled(page);
    const heads = await page.evaluate(async () => {
      const { view } = /** @type {any} */ (globalThis);
      const { store } = view;
      const inside = view.shadowRoot;
      // Late frames, as on a busy machine: between a key and its frame there is time for timers.
      const request = requestAnimationFrame;
      const late = (/** @type {FrameRequestCallback} */ draw) => request(() => request(() => request(draw)));
      Object.assign(globalThis, { requestAnimationFrame: late });
      let frames = 0;
      const rows = new Set();
      for (const name of ["row", "visible"]) {
        const read = store[name];
        store[name] = (/** @type {any[]} */ ...of) => {
          rows.add(of[1]);
          return read.apply(store, of);
        };
      }
      const frame = () => {
        frames++;
        requestAnimationFrame(frame);
      };
      const drawn = [];
      for (let n = 0; n < 3; n++) {
        const painted = new Promise((resolve) => {
          const listen = (/** @type {any} */ event) => {
            if (!event.target.classList.contains("matrix") || !event.detail.shown) return;
            inside.removeEventListener("painted", listen, true);
            resolve({ read: rows.size, frames });
          };
          inside.addEventListener("painted", listen, true);
        });
        rows.clear();
        frames = 0;
        if (n === 0) requestAnimationFrame(frame);
        view.dispatchEvent(new KeyboardEvent("keydown", { key: "]", bubbles: true, composed: true }));
        drawn.push(await painted);
        // The rows of this head are being read when the next key is pressed.
        await new Promise((resolve) => setTimeout(resolve));
      }
      return drawn;
    });
    for (const [n, { read, frames }] of heads.entries()) {
      // The grid of screen readers and the list of the cursor's row read a few rows, the sentence and the margins all 512.
      expect(read, `head ${n + 1}`).toBeLessThan(40);
      expect(frames, `head ${n + 1}`).toBeLessThan(2);
    }
  });
});
