// @ts-check
/**
 * The explorer on the GPU of a page, here SwiftShader in headless Chromium: a software adapter is named and not used unless the reader
 * chooses it; then a head's numbers are those of the CPU. Where the browser has no adapter, the page says so.
 */
import { expect, test } from "@playwright/test";
import { chromiumOptions } from "../platforms/chromium.mjs";
import { newPage, opened, serve } from "./support/site.mjs";

/** Ten heads of 600 tokens: queries and keys that repeat after different lengths. */
const length = 600;
const numbers = (/** @type {number} */ seed) =>
  Array.from({ length: length * 8 }, (_, n) => Math.sin(seed + 1.7 * n * (1 + seed / 7)));

test("the page names the adapter, uses a software one only where it is chosen, and shows the same numbers", async ({
  playwright,
}) => {
  const { base, close } = await serve();
  const browser = await playwright.chromium.launch(
    chromiumOptions(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]),
  );
  try {
    const { page, reported } = await newPage(browser, base, {});
    await opened(page, base, {});
    /** Opens the heads with a device chosen; resolves to the words about it and the means of the first head. */
    const read = (/** @type {string} */ use) =>
      page.evaluate(
        async ({ use, length, data }) => {
          const view = /** @type {any} */ (document.querySelector("attention-view"));
          const tokens = Array.from({ length }, (_, n) => `t${n % 50}`);
          const tensor = (/** @type {number[]} */ list) => ({
            data: new Float32Array(list),
            shape: [1, length, 8],
          });
          const layers = [{ query: tensor(data[0]), key: tensor(data[1]) }];
          await view.open({ blocks: [{ tokens, recipe: { mask: "causal" }, layers }] });
          await view.updateComplete;
          const menu = () => view.shadowRoot.querySelector("details.more");
          for (let n = 0; n < 200 && !menu(); n++) await new Promise((resolve) => setTimeout(resolve, 50));
          menu().open = true;
          const select = menu().querySelector("select[aria-label='compute on'], .compute select");
          select.value = use;
          select.dispatchEvent(new Event("change", { bubbles: true }));
          // A new store, whose heads are not measured yet.
          await view.open({ blocks: [{ tokens, recipe: { mask: "causal" }, layers }] });
          const store = view.store;
          const measures = await store.measures({ block: 0, layer: 0, head: 0 });
          await view.updateComplete;
          return { text: menu().querySelector(".device").textContent, measures };
        },
        { use, length, data: [numbers(1), numbers(2)] },
      );
    const cpu = await read("cpu");
    expect(cpu.text).toBe("CPU: chosen");
    const hasAdapter = await page.evaluate(async () => {
      const { gpu } = /** @type {any} */ (navigator);
      return gpu !== undefined && (await gpu.requestAdapter()) !== null;
    });
    const auto = await read("auto");
    expect(auto.text).toMatch(
      hasAdapter ? /^CPU: .*swiftshader.* is a software adapter/i : /^CPU: this browser/,
    );
    const gpu = await read("gpu");
    expect(gpu.text).toMatch(
      hasAdapter ? /^GPU: .*swiftshader.*, a software adapter$/i : /^CPU: this browser/,
    );
    for (const { measures } of [auto, gpu])
      for (const name of ["entropy", "distance", "first", "maxWeight", "previous"])
        expect(Math.abs(measures[name] - cpu.measures[name]), name).toBeLessThan(
          1e-4 * Math.max(1, cpu.measures[name]),
        );
    expect(reported).toEqual([]);
  } finally {
    await browser.close();
    close();
  }
});
