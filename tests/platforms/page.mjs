// @ts-check
/**
 * The script of the test pages (browser.mjs serves it): computes every case on the levels and threads that the page's
 * address asks for and logs `RESULT` with the findings as JSON. `?worker` does it in a worker of the page.
 */
import { runCases } from "./cases.mjs";

const query = new URLSearchParams(location.search);

/** @returns {Promise<object>} */
async function compute() {
  const heed = await import(/** @type {string} */ ("./dist/index.js"));
  const runs = [];
  for (const simd of (query.get("simd") ?? "").split(","))
    for (const threads of (query.get("threads") ?? "1").split(",").map(Number)) {
      // An empty level means the default of the engine.
      heed.configure(
        simd === ""
          ? { threads }
          : simd === "reference"
            ? { backend: simd, threads }
            : { backend: "auto", simd, threads },
      );
      // In a page workers start asynchronously: the first pass may run on fewer threads than the second.
      runs.push({ simd, threads, results: runCases(heed) });
      await new Promise((resolve) => setTimeout(resolve, 200));
      runs.push({ simd, threads, results: runCases(heed) });
    }
  return { isolated: globalThis.crossOriginIsolated, runs };
}

if (typeof document !== "undefined" && query.has("worker")) {
  const worker = new Worker(`${location.pathname.replace(/[^/]*$/, "")}page.mjs?${query}`, {
    type: "module",
  });
  worker.onmessage = ({ data }) => console.log(`RESULT ${data}`);
  worker.onerror = (event) => console.log(`RESULT ${JSON.stringify({ error: event.message })}`);
} else {
  const result = JSON.stringify(await compute().catch((error) => ({ error: `${error.stack ?? error}` })));
  if (typeof document === "undefined") postMessage(result);
  else console.log(`RESULT ${result}`);
}
