// @ts-check
/**
 * heed/webgpu in a page of headless Chromium, on SwiftShader (subgroups of 4): attention with its options, weights and gradients, products, and a
 * model's layers, against the reference on the CPU. The page has a strict content security policy, without WebAssembly, and makes no
 * request to another origin. Where the browser has no adapter the test is skipped, with the reason.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import { isItsTurn } from "../support/cases/count.ts";
import { chromiumOptions } from "./chromium.mjs";

const root = join(import.meta.dirname, "../..");
const SCRIPT = `
import * as heed from "./dist/index.js";
import { gelu, LayerNorm, Linear, matmul } from "./dist/nn/index.js";
import { webgpu } from "./dist/webgpu/index.js";

addEventListener("unhandledrejection", ({ reason }) => console.error(String(reason)));
addEventListener("error", ({ message }) => console.error(message));
const gpu = await webgpu().catch((error) => ({ reason: error.message }));
const results = {};
if (!gpu.reason) {
  heed.configure({ backend: "reference", onWarning() {} });
  const input = (seed, ...shape) => heed.randn(shape, { seed });
  const [q, k, v] = [input(1, 1, 4, 35, 20), input(2, 1, 2, 41, 20), input(3, 1, 2, 41, 12)];
  const [a, b] = [input(5, 7, 40), input(6, 40, 9)];
  const layers = [new LayerNorm(40), new Linear(40, 8)];
  const calls = {
    causal: ([q, k, v]) => heed.scaledDotProductAttention(q, k, v, { isCausal: "lower-right" }).output,
    "window, slopes and dropout": ([q, k, v]) =>
      heed.scaledDotProductAttention(q, k, v, { attnMask: heed.slidingWindow(9, 4), scoreMod: heed.alibi(heed.alibiSlopes(4)), dropoutP: 0.2, seed: 7 }).output,
    lse: ([q, k, v]) => heed.scaledDotProductAttention(q, k, v, { sinks: [0, 1, -1, 0.5] }).lse,
    weights: ([q, k, v]) => heed.attentionWeights(q, k, heed.scaledDotProductAttention(q, k, v).lse, { heads: [3], rows: [34, 0] }),
    "gradient of the key": ([q, k, v]) => {
      const state = heed.scaledDotProductAttention(q, k, v, { isCausal: "lower-right" });
      return heed.attentionBackward(state.output, q, k, v, state, { isCausal: "lower-right" }).dKey;
    },
    product: ([, , , a, b]) => matmul(a, b),
    "norm, GELU and a linear layer": ([, , , a]) => layers[1].forward(gelu(layers[0].forward(a))),
  };
  const cpu = [q, k, v, a, b];
  const moved = await Promise.all(cpu.map((t) => t.to(gpu)));
  const want = Object.entries(calls).map(([name, call]) => [name, call(cpu)]);
  for (const layer of layers) await layer.to(gpu);
  for (const [name, expected] of want) {
    const got = await calls[name](moved).read();
    results[name] = Math.max(...expected.toFloat64().map((x, i) => Math.abs(x - got[i])));
  }
}
console.log("RESULT " + JSON.stringify({ reason: gpu.reason, adapter: gpu.adapter, level: gpu.level, results }));
`;

const PAGE =
  '<!doctype html><meta charset="utf-8"><title>heed</title><script type="module" src="page.mjs"></script>';

// In turn with tests/lab/gpu.spec.mjs: a software GPU takes long to compile.
const computes = isItsTurn(1, 2) ? test : test.skip;
computes(
  "a page computes on its adapter what the CPU computes, under a strict policy and without a request elsewhere",
  async ({ playwright }) => {
    const server = createServer((request, response) => {
      const path = new URL(request.url ?? "/", "http://localhost").pathname;
      response.setHeader(
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'",
      );
      if (path === "/index.html") response.setHeader("Content-Type", "text/html").end(PAGE);
      else if (path === "/favicon.ico") response.writeHead(204).end();
      else {
        response.setHeader("Content-Type", "text/javascript");
        response.end(path === "/page.mjs" ? SCRIPT : readFileSync(join(root, path)));
      }
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const origin = `http://127.0.0.1:${port}`;
    const browser = await playwright.chromium.launch(
      chromiumOptions(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]),
    );
    try {
      const page = await browser.newPage();
      /** @type {string[]} */
      const elsewhere = [];
      /** @type {string[]} */
      const problems = [];
      page.on(
        "request",
        (request) => void (new URL(request.url()).origin === origin || elsewhere.push(request.url())),
      );
      page.on("pageerror", (error) => problems.push(String(error)));
      const printed = page.waitForEvent("console", {
        predicate: (message) => message.text().startsWith("RESULT ") || message.type() === "error",
        timeout: 170_000,
      });
      await page.goto(`${origin}/index.html`);
      const text = (await printed).text();
      expect(text, problems.join("\n")).toMatch(/^RESULT /);
      const { reason, adapter, level, results } = JSON.parse(text.slice("RESULT ".length));
      test.skip(reason !== undefined, `this Chromium has no adapter: ${reason}`);
      expect(adapter.vendor.length).toBeGreaterThan(0);
      // Its self-test passed, on subgroups of 4 and without shader-f16.
      expect(level).toBe("half");
      expect(Object.keys(results).length).toBe(7);
      for (const [name, error] of Object.entries(results)) expect(error, name).toBeLessThan(1e-4);
      expect([elsewhere, problems]).toEqual([[], []]);
    } finally {
      await browser.close();
      server.close();
    }
  },
);
