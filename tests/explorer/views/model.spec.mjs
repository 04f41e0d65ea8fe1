// @ts-check
/** The model view: its legend, its sentence, and the one frame around the cursor's head. */
import { expect } from "@playwright/test";
import { test } from "../support/fixtures.ts";
import { settled } from "../support/site.mjs";

test("the legend of the model view has the masked cells of its thumbnails, which are not hatched", ({
  visit,
}) =>
  visit({ heads: { heads: 2, Nq: 6, recipe: { mask: "causal" } }, hash: "#v1/model" }, async (page) => {
    const legend = page.locator("attention-view .legend");
    await expect(legend).toContainText("masked");
    await expect(legend.locator(".hatched")).toHaveCount(0);
    await page.evaluate(() => {
      /** @type {any} */ (globalThis).view.state = { view: "head" };
    });
    await expect(legend.locator(".hatched")).toHaveCount(1);
  }));

test("the sentence about the picture is that of the page, whatever mode is behind it", ({ visit }) =>
  visit({ heads: { heads: 2, Nq: 6 } }, async (page) => {
    const meaning = (/** @type {object} */ state) =>
      page.evaluate((patch) => {
        const { view } = /** @type {any} */ (globalThis);
        view.state = patch;
        return view.picture.meaning;
      }, state);
    expect(await meaning({ view: "head", mode: "text" })).toContain("underlined or framed");
    expect(await meaning({ view: "compare" })).toMatch(/^Two of its heads/);
    expect(await meaning({ view: "flow" })).toMatch(/^All of its layers/);
  }));

test("the frame in the model view is one, around the cursor's head, after files with other heads", ({
  visit,
}) =>
  visit({ heads: { heads: 2, Nq: 6 }, hash: "#v1/model" }, async (page) => {
    for (const [layers, heads] of [
      [2, 3],
      [1, 2],
      [4, 5],
      [1, 1],
    ]) {
      await page.evaluate(
        async ([layerCount, headCount]) => {
          const { view, makeInput } = /** @type {any} */ (globalThis);
          await view.open(makeInput({ layers: layerCount, heads: headCount, Nq: 5 }));
          view.focus();
        },
        [layers, heads],
      );
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Escape");
      await page.evaluate(() => {
        /** @type {any} */ (globalThis).view.state = { view: "model" };
        /** @type {any} */ (globalThis).view.focus();
      });
      await settled(page);
      const { boxes, all } = await page.evaluate(() => {
        const root = /** @type {any} */ (globalThis).view.shadowRoot;
        const grid = root.querySelector(".pane .grid");
        const cells = [...grid.querySelectorAll("[role=gridcell]")];
        const canvas = root.querySelector(".pane canvas").getBoundingClientRect();
        const sized = cells.map((cell) => cell.getBoundingClientRect()).filter(({ width }) => width > 1);
        const current = grid.querySelector("[tabindex='0']").getBoundingClientRect();
        return {
          boxes: [current.width / canvas.width, current.height / canvas.height],
          all: sized.length,
        };
      });
      // Of cells that the cursor has left, only the current one may have a size: others would be frames.
      expect(all, `${layers} × ${heads}`).toBe(1);
      expect(boxes[0] * heads, `${layers} × ${heads}`).toBeLessThanOrEqual(1);
      // A cell that gets the focus back passes it on to the cursor's.
      const isCurrent = await page.evaluate(() => {
        const root = /** @type {any} */ (globalThis).view.shadowRoot;
        root.querySelector(".pane .grid [role=gridcell]").focus();
        return root.activeElement === root.querySelector(".pane .grid [tabindex='0']");
      });
      expect(isCurrent, `${layers} × ${heads}`).toBe(true);
    }
  }));
