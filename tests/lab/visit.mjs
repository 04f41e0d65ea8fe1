// @ts-check
/** What the Lab's browser tests share: the built pages behind the explorer's server, opened, waited for and driven. Needs dist/. */
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { test as base, expect } from "@playwright/test";

/** @typedef {import("@playwright/test").Page} Page */

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const built = (/** @type {string} */ name) => import(pathToFileURL(join(root, "dist", name)).href);
const { labPages } = await built("server/assets.js");
const { startServer } = await built("server/server.js");
export const pages = /** @type {Map<string, { type: string, body: Uint8Array }>} */ (labPages());
/** Every page of the Lab. */
export const names = [...pages.keys()].flatMap(
  (path) => /^\/(?!index)([a-z-]+)\.html$/.exec(path)?.[1] ?? [],
);

/** @typedef {import("@playwright/test").BrowserContextOptions & { wasm?: boolean, script?: boolean, allow?: RegExp }} Options */
/** Opens a page, waits for it and drives it. @typedef {(path: string, options: Options, drive: (page: Page) => Promise<void>) => Promise<void>} Visit */

export const test = base.extend(
  /** @type {import("@playwright/test").Fixtures<{ visit: Visit }, { origin: string }, import("@playwright/test").PlaywrightTestArgs, import("@playwright/test").PlaywrightWorkerArgs>} */ ({
    origin: [
      // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of a fixture's dependencies here.
      async ({}, use) => {
        const server = await startServer({ pages });
        await use(new URL(server.url).origin);
        await server.close();
      },
      { scope: "worker" },
    ],
    visit: async ({ browser, origin }, use) => {
      /** @type {import("@playwright/test").BrowserContext[]} */
      const contexts = [];
      await use(async (path, { wasm = true, script = true, allow, ...options }, drive) => {
        const context = await browser.newContext({
          viewport: { width: 1280, height: 800 },
          javaScriptEnabled: script,
          reducedMotion: "reduce",
          ...options,
        });
        // A page that fails stays open for its screenshot.
        contexts.push(context);
        const page = await context.newPage();
        /** @type {string[]} */
        const reported = [];
        page.on("pageerror", (error) => reported.push(String(error)));
        page.on("console", (message) => {
          if (!/^(?:log|debug|info)$/.test(message.type()) && !allow?.test(message.text()))
            reported.push(message.text());
        });
        page.on("request", (request) => {
          if (!request.url().startsWith(origin) && !/^(?:data|blob):/.test(request.url()))
            reported.push(`a request to ${request.url()}`);
        });
        if (!wasm)
          await context.route("**/*", async (route) => {
            const response = await route.fetch();
            const headers = response.headers();
            headers["content-security-policy"] = headers["content-security-policy"].replace(
              " 'wasm-unsafe-eval'",
              "",
            );
            await route.fulfill({ response, headers });
          });
        try {
          await (script ? open(page, `${origin}/${path}`) : page.goto(`${origin}/${path}`));
          await drive(page);
        } finally {
          expect.soft(reported, "errors, warnings and requests elsewhere that the page reported").toEqual([]);
        }
        await context.close();
      });
      for (const context of contexts) await context.close();
    },
  }),
);

/** Opens an address and waits until the page is mounted and drawn. @param {Page} page @param {string} url */
export async function open(page, url) {
  await page.goto(url);
  if ((await page.locator("[data-page].lab").count()) === 0) return;
  await page.waitForSelector("[data-ready]", { timeout: 60_000 });
  await quiet(page);
}

/** Numbers of a row of the page's table by its name; what is no number is NaN, so [0] always is. @param {Page} page @param {string} name */
export async function row(page, name) {
  const cells = await page
    .locator("table tbody tr")
    .evaluateAll(
      (rows, name) =>
        rows
          .map((one) => [...one.children].map((cell) => cell.textContent ?? ""))
          .find(([first]) => first === name),
      name,
    );
  must(cells !== undefined, `the table has no row ${name}`);
  return /** @type {string[]} */ (cells).map((text) => (text === "" ? Number.NaN : Number(text)));
}

/** Waits until nothing has been drawn for a while. A scroll changes the state a frame later. @param {Page} page */
export async function quiet(page) {
  await page.evaluate(async () => {
    for (let n = 0; n < 3; n++) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
  await page.waitForFunction(() => document.querySelector(".lab")?.getAttribute("data-state") === "drawn");
}

/** Scrolls to a stop of the text, counted from 0. @param {Page} page @param {number} at @param {number} width */
export async function reach(page, at, width) {
  await page
    .locator(".step")
    .nth(at)
    .evaluate((step, width) => {
      const above = width < 900 ? (document.querySelector(".stage")?.clientHeight ?? 0) + 8 : 60;
      scrollTo(0, step.getBoundingClientRect().top + scrollY - above);
    }, width);
  await quiet(page);
}

/** Writes a sentence into the field and waits until the page shows it. @param {Page} page @param {string} text */
export async function write(page, text) {
  await page.fill("#sentence", text);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /own=/.test(location.hash), undefined, { timeout: 60_000 });
  await quiet(page);
}

/** @param {boolean} holds @param {string} why */
export function must(holds, why) {
  if (!holds) throw new Error(why);
}
