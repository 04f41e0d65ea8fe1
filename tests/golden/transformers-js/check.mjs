// @ts-check
/**
 * attentionOf(pipeline, text) with the real @huggingface/transformers, in Node and in Chromium: the weights that heed rebuilds are
 * those of the graph's own softmax. It takes the built package, and transformers.js, which is installed apart (470 MB):
 *
 *     npm run build && cd tests/golden/transformers-js && npm ci --ignore-scripts && npm run check
 *
 * Exit code 1 if a weight differs by more than 1e-6, or where there is no Chromium.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { chromiumOptions } from "../../platforms/chromium.mjs";

const here = import.meta.dirname;
const root = join(here, "../../..");
const TEXT = "the cat sat on the mat";
const LIMIT = 1e-6;

/**
 * The largest difference between heed's weights and those of the graph, in one pipeline. The page runs this function's text.
 * @param {any} transformers @param {any} models @param {string} text
 */
async function difference(transformers, models, text) {
  const { env, pipeline } = transformers;
  const extractor = await pipeline("feature-extraction", "exposed", {
    dtype: "fp32",
    device: env.deviceOfCheck,
  });
  const layers = await models.attentionOf(extractor, text);
  const tokens = await extractor.tokenizer(text);
  const session = extractor.model.sessions.model;
  const feeds = Object.fromEntries(
    session.inputNames.map((/** @type {string} */ name) => [name, tokens[name].ort_tensor]),
  );
  const results = await session.run(feeds);
  let [largest, count] = [0, 0];
  layers.forEach((/** @type {any} */ layer, /** @type {number} */ n) => {
    const got = models.layerWeights(layer).toFloat64();
    const want = results[`weights.${n}`].data;
    if (got.length !== want.length)
      throw new Error(`layer ${n} has ${got.length} weights, expected ${want.length}`);
    got.forEach((/** @type {number} */ x, /** @type {number} */ i) => {
      largest = Math.max(largest, Math.abs(x - want[i]));
    });
    count += got.length;
  });
  // The pipeline itself still works on the exposed file.
  const { dims } = await extractor(text);
  return { layers: layers.length, weights: count, largest, dims: [...dims] };
}

/** The built package's models; the type check runs before the build. */
const loadModels = () => import(new URL("../../../dist/models/index.js", import.meta.url).href);

/** A folder with the exposed model, its tokenizer and its configs. */
async function folderOf() {
  const { exposeAttention, trainTokenizer, writeTokenizer } = await loadModels();
  const folder = mkdtempSync(join(tmpdir(), "heed-transformers-js-"));
  const model = join(folder, "exposed");
  mkdirSync(join(model, "onnx"), { recursive: true });
  for (const name of ["config.json", "tokenizer_config.json"]) cpSync(join(here, name), join(model, name));
  const tokenizer = trainTokenizer([TEXT], { kind: "wordpiece", vocabSize: 32 });
  writeFileSync(join(model, "tokenizer.json"), writeTokenizer(tokenizer));
  const exposed = await exposeAttention(readFileSync(join(here, "onnx/model.onnx")));
  const parts = [];
  for await (const part of exposed.contents()) parts.push(part);
  await exposed.close();
  writeFileSync(join(model, "onnx/model.onnx"), Buffer.concat(parts));
  return folder;
}

/** @param {string} folder */
async function inNode(folder) {
  // The name is in a variable: the package is installed apart, and the type check runs without it.
  const name = "@huggingface/transformers";
  const transformers = await import(name);
  Object.assign(transformers.env, { localModelPath: folder, allowRemoteModels: false, deviceOfCheck: "cpu" });
  return difference(transformers, await loadModels(), TEXT);
}

const TYPES = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
  ".json": "application/json",
};

/** @param {string} folder */
async function inPage(folder) {
  const page = `<!doctype html><script type="module">
import * as transformers from "/transformers/transformers.min.js";
import * as models from "/dist/models/index.js";
const { env } = transformers;
Object.assign(env, { localModelPath: "/models/", allowLocalModels: true, allowRemoteModels: false, useBrowserCache: false, deviceOfCheck: "wasm" });
env.backends.onnx.wasm.wasmPaths = "/ort/";
env.backends.onnx.wasm.numThreads = 1;
globalThis.result = (${difference})(transformers, models, ${JSON.stringify(TEXT)}).then((value) => ({ value }), (error) => ({ error: String(error?.stack ?? error) }));
</script>`;
  const places = {
    "/transformers/": join(here, "node_modules/@huggingface/transformers/dist"),
    "/ort/": join(here, "node_modules/onnxruntime-web/dist"),
    "/dist/": join(root, "dist"),
    "/models/": folder,
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const place = Object.entries(places).find(([prefix]) => pathname.startsWith(prefix));
    try {
      const bytes = place ? readFileSync(join(place[1], pathname.slice(place[0].length))) : page;
      if (!place && pathname !== "/") throw new Error("no such file");
      const type = /** @type {Record<string, string>} */ (TYPES)[extname(pathname)];
      response
        .writeHead(200, { "Content-Type": place ? (type ?? "application/octet-stream") : "text/html" })
        .end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await /** @type {Promise<void>} */ (new Promise((resolve) => server.listen(0, "127.0.0.1", resolve)));
  const browser = await chromium.launch(chromiumOptions());
  try {
    const tab = await browser.newPage();
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    await tab.goto(`http://127.0.0.1:${port}/`);
    await tab.waitForFunction(() => "result" in globalThis, undefined, { timeout: 60_000 });
    const { value, error } = await tab.evaluate(() => /** @type {any} */ (globalThis).result);
    if (error) throw new Error(error);
    return value;
  } finally {
    await browser.close();
    server.close();
    server.closeAllConnections();
  }
}

const folder = await folderOf();
try {
  const node = await inNode(folder);
  const page = await inPage(folder);
  for (const [where, { layers, weights, largest, dims }] of Object.entries({ node, page })) {
    const isRight = layers === 2 && weights > 0 && largest <= LIMIT && dims[2] === 12;
    console.log(
      `${isRight ? "✓" : "✗"} ${where}: ${layers} layers, ${weights} weights, largest difference ${largest.toExponential(1)}`,
    );
    if (!isRight) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
