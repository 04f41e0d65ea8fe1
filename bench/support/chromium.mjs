// @ts-check
/** A session in a page of headless Chromium, cross-origin isolated as pages with threads are, with the messages of child.ts. */
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { launchChromium, NO_CHROMIUM } from "../../tests/platforms/chromium.mjs";

/** The session as one module. What it imports from Node is for sessions in processes, and is empty here. */
const bundle = await rolldown({
  input: fileURLToPath(new URL("page.ts", import.meta.url)),
  platform: "browser",
  shimMissingExports: true,
  logLevel: "silent",
  plugins: [
    {
      name: "no node",
      resolveId: (id) => (id.startsWith("node:") ? { id: `\0${id}` } : null),
      load: (id) => (id.startsWith("\0node:") ? "export {};" : null),
    },
  ],
});
const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
const server = createServer(({ url }, response) => {
  const isCode = url === "/page.js";
  response.setHeader("content-type", isCode ? "text/javascript" : "text/html");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("cross-origin-embedder-policy", "require-corp");
  response.end(isCode ? output[0].code : '<!doctype html><script type="module" src="/page.js"></script>');
});
await /** @type {Promise<void>} */ (new Promise((resolve) => server.listen(0, "127.0.0.1", resolve)));
const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());

const browser = await launchChromium();
if (browser === undefined) throw new Error(NO_CHROMIUM);
const page = await browser.newPage();
await page.exposeFunction(
  "sendMessage",
  (/** @type {object} */ message) =>
    /** @type {Promise<void>} */ (
      new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
    ),
);
page.on("pageerror", (error) => process.stderr.write(`${error.stack}\n`));
await page.goto(`http://127.0.0.1:${port}/`);
await page.waitForFunction(() => "measureSession" in globalThis);
await page.evaluate(
  ([order, runtime]) => /** @type {any} */ (globalThis).measureSession(order, runtime),
  [JSON.parse(process.argv[2]), `Chromium ${browser.version()}`],
);
await browser.close();
process.exit(0);
