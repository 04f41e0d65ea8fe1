// @ts-check
/** Sliders dragged with a mouse and with a finger: the steps of a row, and the two thumbs of a filter. */
import { expect } from "@playwright/test";
import { test } from "./support/fixtures.ts";
import { settled } from "./support/site.mjs";

/** @typedef {import("@playwright/test").Page} Page */

/** The box of a slider. @param {Page} page @param {string} selector @param {number} [nth] */
const boxOf = async (page, selector, nth = 0) => {
  const box = await page.locator(`attention-view ${selector}`).nth(nth).boundingBox();
  if (box === null) throw new Error(`there is no ${selector}`);
  return box;
};

/** Presses, moves in steps, reads at each point, and releases. @typedef {(points: (readonly [number, number])[], read: () => Promise<void>) => Promise<void>} Drag */

/** @param {Page} page @returns {Drag} */
const mouse = (page) => async (points, read) => {
  const [[x, y], ...more] = points;
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (const [left, top] of more) {
    await page.mouse.move(left, top, { steps: 4 });
    await read();
  }
  await page.mouse.up();
};

/** @param {Page} page @returns {Drag} */
const finger = (page) => async (points, read) => {
  const session = await page.context().newCDPSession(page);
  const send = (
    /** @type {"touchStart" | "touchMove" | "touchEnd"} */ type,
    /** @type {any[]} */ touchPoints,
  ) => session.send("Input.dispatchTouchEvent", { type, touchPoints });
  const [[x, y], ...more] = points;
  await send("touchStart", [{ x, y }]);
  let [left, top] = [x, y];
  for (const [toX, toY] of more) {
    for (let step = 1; step <= 4; step++)
      await send("touchMove", [{ x: left + ((toX - left) * step) / 4, y: top + ((toY - top) * step) / 4 }]);
    [left, top] = [toX, toY];
    await read();
  }
  await send("touchEnd", []);
};

const POINTERS = /** @type {const} */ ([
  ["a mouse", mouse, { width: 1280, height: 800 }],
  ["a finger", finger, { width: 1280, height: 800, touch: true }],
  ["a finger on a phone", finger, { width: 375, height: 812, touch: true }],
]);

for (const [name, drag, size] of POINTERS)
  test(`the steps of a row are scrubbed with ${name}: bars pass from scores to shares`, ({ visit }) =>
    visit({ heads: { Nq: 9 }, hash: "#v1/row?i=4&j=2", ...size }, async (page) => {
      const read = () =>
        page.evaluate(() => {
          const inside = /** @type {any} */ (globalThis).view.shadowRoot;
          const input = inside.querySelector(".scrub input");
          return {
            value: Number(input.value),
            name: input.getAttribute("aria-valuetext"),
            lit: inside.querySelector(".scrub li.at").textContent,
            heights: [...inside.querySelectorAll(".rowbars i")].map(
              (bar) => bar.getBoundingClientRect().height,
            ),
          };
        });
      await page.locator("attention-view .scrub input").scrollIntoViewIfNeeded();
      const { x, y, width, height } = await boxOf(page, ".scrub input");
      const middle = y + height / 2;
      const at = (/** @type {number} */ part) => /** @type {const} */ ([x + 8 + part * (width - 16), middle]);
      const last = await read();
      expect(last.name).toBe("share");
      /** @type {Awaited<ReturnType<typeof read>>[]} */
      const readings = [];
      await drag(page)([at(1), at(0.7), at(0.35), at(0)], async () => {
        // Input events follow the pointer in the next frame.
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        readings.push(await read());
      });
      expect(readings.map(({ value }) => value)).toEqual(
        [...readings.map(({ value }) => value)].sort((a, b) => b - a),
      );
      const [high, between, first] = readings;
      expect(first).toMatchObject({ value: 0, name: "q·k", lit: "q·k" });
      expect(between.value).toBeGreaterThan(0.5);
      expect(between.value).toBeLessThan(high.value);
      for (const one of readings) expect(one.lit).toBe(one.name);
      for (const [a, b] of [
        [last, between],
        [between, first],
      ])
        expect(a.heights).not.toEqual(b.heights);
      // The slider stays where it was released.
      expect(await read()).toEqual(first);
    }));

for (const [name, drag, size] of POINTERS)
  test(`a filter's two thumbs are dragged with ${name}, and do not cross`, ({ visit }) =>
    visit(
      {
        heads: { heads: 4, layers: 3, Nq: 10, recipe: { mask: "causal" } },
        hash: "#v1/model?o=first&f=first:0.28:0.38",
        ...size,
      },
      async (page) => {
        await settled(page);
        const inputs = page.locator("attention-view .range input");
        await expect(inputs).toHaveCount(2);
        await inputs.first().scrollIntoViewIfNeeded();
        const read = () =>
          page.evaluate(async () => {
            const { view } = /** @type {any} */ (globalThis);
            await view.updateComplete;
            const [low, high] = view.shadowRoot.querySelectorAll(".range input");
            const [filter] = view.state.filters;
            const [min, max] = [Number(low.min), Number(low.max)];
            return {
              state: [filter.low, filter.high],
              drawn: [Number(low.value), Number(high.value)],
              parts: [filter.low, filter.high].map((value) => (value - min) / (max - min)),
              limits: [min, max],
            };
          });
        const { x, y, width, height } = await boxOf(page, ".range input");
        // The middle of a thumb of 14 pixels is inside the track by its radius.
        const at = (/** @type {number} */ part) =>
          /** @type {const} */ ([x + 7 + part * (width - 14), y + height / 2]);
        const move = async (/** @type {number} */ from, /** @type {number} */ to) => {
          await drag(page)([at(from), at((from + to) / 2), at(to)], async () => {});
          const now = await read();
          // What is drawn is what filters the heads.
          for (const n of [0, 1]) expect(now.drawn[n]).toBeCloseTo(now.state[n], 9);
          return now;
        };
        const start = await read();
        let now = await move(start.parts[0], 0.05);
        expect(now.parts[0]).toBeCloseTo(0.05, 1);
        expect(now.parts[1]).toBeCloseTo(start.parts[1], 9);
        now = await move(now.parts[1], 0.9);
        expect(now.parts[1]).toBeCloseTo(0.9, 1);
        // Past the other thumb: both are at one place, each side of which can be dragged away again.
        now = await move(now.parts[0], 1);
        expect(now.parts[0]).toBeCloseTo(now.parts[1], 9);
        expect(now.parts[1]).toBeCloseTo(0.9, 1);
        now = await move(now.parts[1], 0.4);
        expect(now.parts[0]).toBeCloseTo(0.4, 1);
        now = await move(now.parts[0], 0.6).then(read);
        expect(now.state[0]).toBeLessThanOrEqual(now.state[1]);
        // With keys.
        await inputs.first().focus();
        await page.keyboard.press("Home");
        expect((await read()).state[0]).toBe(now.limits[0]);
        await inputs.last().focus();
        await page.keyboard.press("End");
        expect((await read()).state[1]).toBe(now.limits[1]);
        await page.keyboard.press("ArrowLeft");
        const less = await read();
        expect(less.state[1]).toBeLessThan(now.limits[1]);
        await inputs.first().focus();
        await page.keyboard.press("End");
        const met = await read();
        expect(met.state).toEqual([less.state[1], less.state[1]]);
        expect(met.drawn[0]).toBeCloseTo(met.state[0], 9);
      },
    ));
