// @ts-check
/**
 * The built package in headless Chromium: a cross-origin isolated page (threads), a page that is not (one thread, one
 * clear warning, the same bits), a page whose content security policy forbids WebAssembly (the reference level, one
 * clear warning) or workers, a page that imports heed from another origin, and a worker of a page. Files are served from memory on loopback, each kind of page under its own
 * first path part, so that headers follow from the address.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@playwright/test";
import { LARGE } from "./cases.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));

/** Every file that is served: path on the server to its bytes. @type {Map<string, Buffer>} */
const files = new Map();
for (const name of readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" }))
  if (/\.(?:js|wasm)$/.test(name))
    files.set(`/dist/${name.split(sep).join("/")}`, readFileSync(join(root, "dist", name)));
for (const name of ["cases.mjs", "page.mjs"]) files.set(`/${name}`, readFileSync(join(here, name)));
files.set(
  "/index.html",
  Buffer.from(
    '<!doctype html><meta charset="utf-8"><title>heed</title><script type="module" src="page.mjs"></script>',
  ),
);
files.set(
  "/warning.html",
  Buffer.from(
    `<!doctype html><meta charset="utf-8"><title>heed</title><script type="module" src="warning.mjs"></script>`,
  ),
);
// Calls until heed warns.
files.set(
  "/warning.mjs",
  Buffer.from(`import { configure, prepare, zeros, scaledDotProductAttention } from "./dist/index.js";
const warnings = [];
configure({ threads: 2, onWarning: (text) => warnings.push(text) });
const q = zeros([8, 256, 64]);
while (warnings.length === 0) {
  await prepare();
  scaledDotProductAttention(q, q, q);
}
console.log("RESULT " + JSON.stringify({ warnings }));`),
);

files.set(
  "/kernels.html",
  Buffer.from(
    `<!doctype html><meta charset="utf-8"><title>heed</title><script type="module" src="kernels.mjs"></script>`,
  ),
);
// Compiles the file of kernels, if the policy allows that; then counts the modules that a call compiles.
files.set(
  "/kernels.mjs",
  Buffer.from(`import { configure, explain, randn, scaledDotProductAttention } from "./dist/index.js";
import { useKernels } from "./dist/wasm/files/index.js";
const warnings = [];
configure({ threads: 1, simd: "strict", onWarning: (text) => warnings.push(text) });
let refused = "";
try {
  useKernels(await WebAssembly.compileStreaming(fetch("./dist/kernels/strict.wasm")));
} catch (error) {
  refused = String(error);
}
const Module = WebAssembly.Module;
const sizes = [];
WebAssembly.Module = class extends Module {
  constructor(bytes) {
    super(bytes);
    sizes.push(bytes.length);
  }
};
const x = randn([1, 2, 70, 64], { seed: 1 });
const { output } = scaledDotProductAttention(x, x, x, { isCausal: true });
const [backend] = String(explain(x, x, x, { isCausal: true })).split("\\n");
configure({ backend: "reference" });
const want = scaledDotProductAttention(x, x, x, { isCausal: true }).output;
const distance = Math.max(...output.data.map((y, n) => Math.abs(y - want.data[n])));
console.log("RESULT " + JSON.stringify({ refused, sizes, backend, distance, warnings }));`),
);

files.set(
  "/answers.html",
  Buffer.from(
    `<!doctype html><meta charset="utf-8"><title>heed</title><script type="module" src="answers.mjs"></script>`,
  ),
);
// Long calls, and the longest time in which the page's thread could not answer: messages come as fast as they are handled. The limit is
// 50 ms; other programs may have the processor, so it is a quarter of the synchronous call where that is longer, in the best of some runs.
files.set(
  "/answers.mjs",
  Buffer.from(`import { configure, prepare, randn, attentionBackward, attentionBackwardAsync, scaledDotProductAttention, scaledDotProductAttentionAsync } from "./dist/index.js";
configure({ threads: 2, onWarning: () => {} });
const threads = await prepare();
const x = randn([4, 2000, 64], { seed: 1 });
const state = scaledDotProductAttention(x, x, x);
const calls = {
  forward: () => scaledDotProductAttentionAsync(x, x, x),
  backward: () => attentionBackwardAsync(x, x, x, x, state),
};
async function longestGap(call) {
  const { port1, port2 } = new MessageChannel();
  let [last, gap] = [performance.now(), 0];
  port1.onmessage = () => {
    gap = Math.max(gap, performance.now() - last);
    last = performance.now();
    port2.postMessage(null);
  };
  port2.postMessage(null);
  await call();
  gap = Math.max(gap, performance.now() - last);
  port1.close();
  return gap;
}
const synchronous = {
  forward: () => scaledDotProductAttention(x, x, x),
  backward: () => attentionBackward(x, x, x, x, state),
};
const shares = {};
for (const [name, call] of Object.entries(calls)) {
  const begin = performance.now();
  synchronous[name]();
  const limit = Math.max(50, (performance.now() - begin) / 4);
  shares[name] = Infinity;
  for (let n = 0; n < 20 && shares[name] > 1; n++) shares[name] = Math.min(shares[name], (await longestGap(call)) / limit);
}
console.log("RESULT " + JSON.stringify({ threads, shares }));`),
);

const isolation = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};
const policy = (/** @type {string} */ script) =>
  `default-src 'none'; script-src ${script}; worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'`;
/** Kinds of page, by the first part of the path. @type {Record<string, Record<string, string>>} */
const KINDS = {
  isolated: { ...isolation, "Content-Security-Policy": policy("'self' 'wasm-unsafe-eval'") },
  plain: {},
  // Not isolated, with the policy that allows WebAssembly.
  allowed: { "Content-Security-Policy": policy("'self' 'wasm-unsafe-eval'") },
  strict: { ...isolation, "Content-Security-Policy": policy("'self'") },
  workerless: {
    ...isolation,
    "Content-Security-Policy": policy("'self' 'wasm-unsafe-eval'").replace(
      "worker-src 'self'",
      "worker-src 'none'",
    ),
  },
  // As a content delivery network answers.
  shared: { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" },
  importing: isolation,
};

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const [, kind, path] = /^\/([a-z]+)(\/.*)$/.exec(pathname) ?? ["", "", ""];
  const body =
    kind === "importing"
      ? Buffer.from(`<!doctype html><script type="module" src="${other}/shared/page.mjs"></script>`)
      : files.get(path);
  if (body === undefined) {
    // Chromium asks for an icon by itself.
    response.writeHead(pathname === "/favicon.ico" ? 204 : 404).end();
    return;
  }
  const type =
    kind === "importing" || path.endsWith(".html")
      ? "text/html; charset=utf-8"
      : path.endsWith(".wasm")
        ? "application/wasm"
        : "text/javascript; charset=utf-8";
  response
    .writeHead(200, { ...KINDS[kind], "Content-Type": type, "X-Content-Type-Options": "nosniff" })
    .end(body);
});

/**
 * Opens an address and returns the page's log.
 * @param {import("@playwright/test").Page} page
 * @param {string} address
 */
async function visit(page, address) {
  /** @type {string[]} */
  const warnings = [];
  /** @type {string[]} */
  const errors = [];
  /** @type {any} */
  const result = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no result after 170 s; ${errors.join("; ")}`)), 170_000);
    page.on("pageerror", (error) => errors.push(`${error}`));
    page.on("requestfailed", (request) => errors.push(`${request.url()} failed`));
    page.on("console", (message) => {
      const text = message.text();
      if (text.startsWith("RESULT ")) {
        clearTimeout(timer);
        resolve(JSON.parse(text.slice(7)));
      } else if (message.type() === "warning") warnings.push(text);
      else errors.push(text);
    });
    page.goto(address).catch(reject);
  });
  expect(result.error).toBeUndefined();
  return { result, warnings, errors };
}

/** The first few of many lines. @param {string[]} lines */
const short = (lines) =>
  [...lines.slice(0, 4), ...(lines.length > 4 ? [`and ${lines.length - 4} more`] : [])].join("\n    ");

/** Bits of every case by level, from the first run of each; all pages must have the same. @type {Map<string, string>} */
const bits = new Map();

/**
 * Checks the results of a page: every case is right, with the same bits on every page and thread count, and in every run.
 * @param {string} name
 * @param {any} result
 * @param {{ level?: string, threads?: number }} [want] the level a run takes that names none, and the threads a plan
 *   may have where that is not what was requested
 */
function judge(name, result, want = {}) {
  for (const { simd, threads, results } of result.runs) {
    const problems = [];
    const level = simd || want.level;
    const large = results.find((/** @type {{ name: string }} */ one) => one.name === LARGE);
    if (large.level !== level) problems.push(`the plan says level ${large.level}`);
    if (level !== "reference" && large.threads !== (want.threads ?? threads))
      problems.push(`the plan says ${large.threads} threads`);
    for (const { name: what, problem, bits: got } of results) {
      if (problem !== "") problems.push(`${what}: ${problem}`);
      const key = `${level}: ${what}`;
      const expected = bits.get(key) ?? got;
      bits.set(key, expected);
      if (got !== expected) problems.push(`${what}: bits ${got}, elsewhere ${expected}`);
    }
    expect.soft(short(problems), `${name}, ${simd || "as it chooses"}, threads ${threads}`).toBe("");
  }
}

/**
 * Checks that there is one warning that matches `about`, and no other output on the console except what `quiet` matches.
 * @param {string} name
 * @param {{ warnings: string[], errors: string[] }} messages
 * @param {RegExp | null} about
 * @param {RegExp} [quiet]
 */
function warned(name, { warnings, errors }, about, quiet) {
  const fits = about === null ? warnings.length === 0 : warnings.length === 1 && about.test(warnings[0]);
  const want = about === null ? "no warning" : `one warning about ${about.source}`;
  expect.soft(fits, `${name}: ${want}; got ${JSON.stringify(warnings)}`).toBe(true);
  const loud = errors.filter((text) => quiet === undefined || !quiet.test(text));
  expect.soft(loud, `${name}: no errors on the console`).toEqual([]);
}

// In sequence, in one worker: every page is compared with the bits of the earlier pages.
test.describe.configure({ mode: "default" });

let base = "";
/** The same server under another origin. */
let other = "";
test.beforeAll(async () => {
  await /** @type {Promise<void>} */ (new Promise((resolve) => server.listen(0, "127.0.0.1", resolve)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  base = `http://127.0.0.1:${port}`;
  other = `http://localhost:${port}`;
});
test.afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const levels = "simd=relaxed,strict,reference";

test("an isolated page computes every case on every level with 1, 2 and 3 threads", async ({ page }) => {
  const reported = await visit(page, `${base}/isolated/index.html?${levels}&threads=1,2,3`);
  expect(reported.result.isolated).toBe(true);
  judge("isolated page", reported.result);
  warned("isolated page", reported, null);
});

test("a worker of an isolated page computes the same bits", async ({ page }) => {
  const reported = await visit(page, `${base}/isolated/index.html?worker&${levels}&threads=1,2`);
  judge("worker of an isolated page", reported.result);
  warned("worker of an isolated page", reported, null);
});

test("a page that is not isolated uses one thread, gives one warning and the same bits", async ({ page }) => {
  const reported = await visit(page, `${base}/plain/index.html?${levels}&threads=2`);
  expect(reported.result.isolated).toBe(false);
  judge("plain page", reported.result, { threads: 1 });
  warned("plain page", reported, /isolat|SharedArrayBuffer/i);
});

test("a page whose policy forbids WebAssembly computes with the reference and gives one warning", async ({
  page,
}) => {
  const reported = await visit(page, `${base}/strict/index.html?threads=1,2`);
  judge("page without 'wasm-unsafe-eval'", reported.result, { level: "reference" });
  // Chromium itself reports each refused compilation.
  warned("page without 'wasm-unsafe-eval'", reported, /wasm-unsafe-eval/, /Content Security Policy/i);
});

test("a page with the file of kernels compiles none at run time", async ({ page }) => {
  const { result } = await visit(page, `${base}/allowed/kernels.html`);
  expect(result).toMatchObject({ refused: "", backend: "backend wasm", warnings: [] });
  // The one that asks whether compilation is allowed has no function.
  expect(result.sizes.filter((/** @type {number} */ size) => size > 100)).toEqual([]);
  expect(result.distance).toBeLessThan(1e-5);
});

test("a page whose policy forbids WebAssembly refuses the file of kernels too, and says why it uses the reference", async ({
  page,
}) => {
  const { result } = await visit(page, `${base}/strict/kernels.html`);
  expect(result.refused).toMatch(/Content Security Policy/);
  expect(result.backend).toMatch(/^backend reference .*script-src 'wasm-unsafe-eval'/);
  expect(result.warnings).toEqual([expect.stringMatching(/script-src 'wasm-unsafe-eval'/)]);
  expect(result.distance).toBe(0);
});

test("a page that imports heed from another origin has threads, whose code is a Blob", async ({ page }) => {
  const reported = await visit(page, `${base}/importing/index.html?simd=relaxed&threads=2`);
  judge("page with heed from another origin", reported.result);
  warned("page with heed from another origin", reported, null);
});

test("a page whose policy forbids workers gives one warning that names the policy", async ({ page }) => {
  const { result } = await visit(page, `${base}/workerless/warning.html`);
  expect(result.warnings).toEqual([
    expect.stringMatching(/^heed: running single-threaded: .*content security policy .*worker-src blob:/),
  ]);
});

for (const [kind, threads] of /** @type {const} */ ([
  ["isolated", 2],
  ["plain", 1],
]))
  test(`a page with ${threads === 2 ? "threads" : "one thread"} answers within 50 ms during a long call`, async ({
    page,
  }) => {
    const { result } = await visit(page, `${base}/${kind}/answers.html`);
    expect(result.threads).toBe(threads);
    expect(result.shares.forward).toBeLessThanOrEqual(1);
    expect(result.shares.backward).toBeLessThanOrEqual(1);
  });
