// @ts-check
/**
 * The Lab's bench: the time until the built pages show their picture and respond, and until a drag is drawn, in a headless
 * Chromium without a GPU, beside the goals. Every run has a new page. Slow results do not fail.
 *
 *     node bench/lab.mjs [--only first,drags,train] [--pages masks,words] [--runs 3] [--json]
 *
 * Needs dist/ (npm run build).
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { chromiumPath, launchChromium, NO_CHROMIUM } from "../tests/platforms/chromium.mjs";

/** @typedef {{ what: string, unit: string, target?: number, figures: number[] }} Row */

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "first,drags,train" },
    pages: { type: "string" },
    runs: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});
const only = values.only.split(",");
const runs = Number(values.runs);
if (chromiumPath() === undefined) throw new Error(NO_CHROMIUM);

const built = (/** @type {string} */ name) => import(new URL(`../dist/${name}`, import.meta.url).href);
const { labPages } = await built("server/assets.js");
const { startServer } = await built("server/server.js");
const pages = /** @type {Map<string, unknown>} */ (labPages());
const names = [...pages.keys()].flatMap((path) => /^\/(?!index)([a-z-]+)\.html$/.exec(path)?.[1] ?? []);
const chosen = values.pages?.split(",") ?? names;
const server = await startServer({ pages });
const origin = new URL(server.url).origin;
const browser = /** @type {import("@playwright/test").Browser} */ (await launchChromium());

/**
 * Opens a page of the Lab in a new browser context, and runs the measurement in it.
 * @template T
 * @param {string} path
 * @param {(page: import("@playwright/test").Page) => Promise<T>} drive
 */
async function open(path, drive) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  // The picture is on screen at the end of the first frame in which it has a size.
  await page.addInitScript(() => {
    const at = /** @type {any} */ (globalThis);
    const look = () =>
      requestAnimationFrame(() => {
        const svg = document.querySelector(".stage .picture svg");
        if (svg === null || svg.getBoundingClientRect().height === 0) return look();
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          at.pictureAt = performance.now();
          port1.close();
        };
        port2.postMessage(0);
      });
    look();
  });
  try {
    await page.goto(`${origin}/${path}`);
    await page.waitForFunction(
      () => document.querySelector(".lab")?.getAttribute("data-state") === "drawn",
      undefined,
      { timeout: 60_000 },
    );
    return await drive(page);
  } finally {
    await context.close();
  }
}

/** When the picture was there after its bytes, and when its numbers were computed again after theirs: milliseconds. @param {string} name */
const first = (name) =>
  open(`${name}.html`, (page) =>
    page.evaluate(() => {
      const [document] = /** @type {PerformanceNavigationTiming[]} */ (
        performance.getEntriesByType("navigation")
      );
      const others = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType("resource"));
      const ends = (/** @type {RegExp} */ type) =>
        Math.max(
          document.responseEnd,
          ...others.filter((one) => type.test(one.name)).map((one) => one.responseEnd),
        );
      return [
        /** @type {any} */ (globalThis).pictureAt - ends(/\.css$/),
        performance.now() - ends(/\.(?:css|js)$/),
      ];
    }),
  );

/**
 * Milliseconds from each input to its picture.
 * @param {string} path @param {string} selector @param {"slider" | "bar"} kind
 */
const drag = (path, selector, kind) =>
  open(path, (page) =>
    page.evaluate(
      async ([selector, kind]) => {
        const root = /** @type {Element} */ (document.querySelector(".lab"));
        const mark = /** @type {HTMLInputElement} */ (document.querySelector(selector));
        const box = mark.getBoundingClientRect();
        const send = (/** @type {string} */ type, /** @type {number} */ y) =>
          mark.dispatchEvent(
            new PointerEvent(type, {
              bubbles: true,
              pointerId: 1,
              clientX: box.x + box.width / 2,
              clientY: y,
            }),
          );
        if (kind === "bar") {
          // A synthetic pointer cannot be captured.
          root.setPointerCapture = () => {};
          send("pointerdown", box.y + box.height / 2);
        }
        const times = [];
        for (let i = 0; i < 110; i++) {
          const drawn = new Promise((resolve) => root.addEventListener("drawn", resolve, { once: true }));
          const start = performance.now();
          if (kind === "slider") {
            mark.value = String(20 + (i % 90));
            mark.dispatchEvent(new Event("input", { bubbles: true }));
          } else send("pointermove", box.y + ((i % 90) / 90) * box.height);
          await drawn;
          times.push(performance.now() - start);
          await new Promise(requestAnimationFrame);
        }
        return times.slice(10);
      },
      [selector, kind],
    ),
  );

/** Seconds until the alignment of the encoder–decoder is learned in the page. */
const train = () =>
  open("before.html", async (page) => {
    const start = performance.now();
    await page.click('[data-act="train"]');
    await page.waitForFunction(
      () =>
        /which is right/.test(document.querySelector(".stage figcaption")?.textContent ?? "") &&
        document.querySelector(".lab")?.getAttribute("data-state") === "drawn",
      undefined,
      { timeout: 120_000 },
    );
    return (performance.now() - start) / 1000;
  });

const quantile = (/** @type {number[]} */ all, /** @type {number} */ share) =>
  [...all].sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(share * all.length))];

/** @type {Map<string, Row>} */
const rows = new Map();
const add = (
  /** @type {string} */ what,
  /** @type {string} */ unit,
  /** @type {number | undefined} */ target,
  /** @type {number} */ figure,
) => {
  const row = rows.get(what) ?? { what, unit, target, figures: [] };
  row.figures.push(figure);
  rows.set(what, row);
};

try {
  for (let run = 0; run < runs; run++) {
    if (only.includes("first"))
      for (const name of chosen) {
        const [picture, ready] = await first(name);
        add(`${name}: first picture after its bytes`, "ms", 1000, picture);
        add(`${name}: computed again after all bytes`, "ms", undefined, ready);
      }
    if (only.includes("drags")) {
      const slider = await drag("saturation.html#v1?keys=64", '[data-act="times"]', "slider");
      add(
        "saturation, 2,000 rows × 64 keys, slider to picture: median",
        "ms",
        undefined,
        quantile(slider, 0.5),
      );
      add("saturation, 2,000 rows × 64 keys, slider to picture: p95", "ms", 20, quantile(slider, 0.95));
      const bar = await drag("saturation.html#v1?keys=64", '.wide [data-drag="bar:0"]', "bar");
      add("saturation, 2,000 rows × 64 keys, bar to picture: p95", "ms", 20, quantile(bar, 0.95));
    }
    if (only.includes("train")) add("before transformers: trained", "s", 20, await train());
    process.stderr.write(`run ${run + 1} of ${runs}\n`);
  }
} finally {
  await browser.close();
  await server.close();
}

const table = [...rows.values()].map(({ what, unit, target, figures }) => ({
  what,
  unit,
  target,
  best: quantile(figures, 0),
  median: quantile(figures, 0.5),
}));
if (values.json) process.stdout.write(`${JSON.stringify({ cpu: cpus()[0]?.model, table }, undefined, 2)}\n`);
else {
  process.stdout.write(`${cpus()[0]?.model}, ${cpus().length} threads; best and median of ${runs}\n\n`);
  process.stdout.write("| what | best | median | target |\n|---|---:|---:|---:|\n");
  for (const { what, unit, target, best, median } of table)
    process.stdout.write(
      `| ${what} | ${best.toFixed(1)} ${unit} | ${median.toFixed(1)} ${unit} | ${target === undefined ? "" : `${target} ${unit}`} |\n`,
    );
}
