// @ts-check
/**
 * The page that trains, on the GPU of a page, here SwiftShader in headless Chromium: its code is loaded when the reader chooses it, and the
 * losses are those of the CPU. Where the browser has no WebGPU, the page says so and trains on the CPU. Needs dist/.
 */
import { expect } from "@playwright/test";
import { chromiumOptions } from "../platforms/chromium.mjs";
import { isItsTurn } from "../support/cases/count.ts";
import { open, quiet, test } from "./visit.mjs";

/** @typedef {import("@playwright/test").Page} Page */

const device = (/** @type {Page} */ page) => page.locator(".control [role=status]");
const caption = (/** @type {Page} */ page) => page.locator(".stage figcaption");

/** The curve of the losses: heights of its first points, in the picture's units. @param {Page} page @param {number} points */
const losses = async (page, points) => {
  const paths = page.locator(".stage svg.wide [data-name=loss] path");
  const d = (await paths.last().getAttribute("d")) ?? "";
  return [...d.matchAll(/[ML]?(-?[\d.]+)[ ,](-?[\d.]+)/g)].slice(0, points).map(([, , y]) => Number(y));
};

// In turn with tests/platforms/webgpu.spec.mjs: a software GPU takes long to compile.
const trains = isItsTurn(0, 2) ? test : test.skip;
trains(
  "before transformers trains on the GPU that the reader chooses, with the losses of the CPU",
  async ({ playwright, origin }) => {
    test.setTimeout(300_000);
    const browser = await playwright.chromium.launch(
      chromiumOptions(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]),
    );
    try {
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      /** @type {string[]} */
      const reported = [];
      page.on("pageerror", (error) => reported.push(String(error)));
      page.on("console", (message) => {
        if (message.type() === "error") reported.push(message.text());
      });
      /** @type {string[]} */
      const scripts = [];
      page.on("request", (request) => scripts.push(request.url()));
      await open(page, `${origin}/before.html`);
      const hasAdapter = await page.evaluate(async () => {
        const { gpu } = /** @type {any} */ (navigator);
        return gpu !== undefined && (await gpu.requestAdapter()) !== null;
      });
      test.skip(!hasAdapter, "this Chromium has no adapter of WebGPU");
      await expect(device(page)).toHaveText("CPU: chosen");
      expect(scripts.filter((url) => url.includes("webgpu"))).toEqual([]);
      await page.selectOption('.control [data-act="device"]', "gpu");
      await expect(device(page)).toHaveText(/^GPU: .*swiftshader.*, a software adapter$/i, {
        timeout: 60_000,
      });
      expect(scripts.filter((url) => url.includes("webgpu"))).toHaveLength(1);
      await page.click('[data-act="train"]');
      await expect(caption(page)).toContainText(/Training: step (?:[89]|\d\d)/, { timeout: 240_000 });
      const onGpu = await losses(page, 8);
      await page.goto("about:blank");
      await open(page, `${origin}/before.html`);
      await page.click('[data-act="train"]');
      await expect(caption(page)).toContainText("which is right", { timeout: 120_000 });
      await quiet(page);
      const onCpu = await losses(page, 8);
      expect(onCpu).toHaveLength(8);
      // A nat is 64 units high.
      onCpu.forEach((y, step) => expect(Math.abs(onGpu[step] - y), `step ${step}`).toBeLessThan(0.2));
      expect(onGpu[7]).toBeGreaterThan(onGpu[0] + 5);
      expect(reported).toEqual([]);
    } finally {
      await browser.close();
    }
  },
);

test("before transformers says why there is no GPU, and trains on the CPU", ({ visit }) =>
  visit("before.html#v1?device=gpu", {}, async (page) => {
    await expect(device(page)).toHaveText(/^CPU: this browser/);
    await page.click('[data-act="train"]');
    await expect(caption(page)).toContainText("which is right", { timeout: 120_000 });
    await expect(device(page)).toHaveText(/^CPU: this browser/);
    await page.selectOption('.control [data-act="device"]', "cpu");
    await expect(device(page)).toHaveText("CPU: chosen");
  }));
