// @ts-check
/**
 * One small project for each bundler and runtime: its packages (exact versions), its files, the commands that build it, and
 * how it is run. Every project runs the same program (`PROGRAM`), which reports its result and its number of threads.
 */

import { attw, typescript } from "./typed.mjs";

/**
 * @typedef {object} Fixture
 * @property {string} name as in the table of docs/runtimes.md
 * @property {Record<string, string>} packages npm packages beside heed; the version "MODELS" is the packed heed-models
 * @property {Record<string, string>} files
 * @property {object} [manifest] further fields of package.json
 * @property {string[]} [build] a command, run before
 * @property {{ serve: string, policy?: string } | { dev: string[] } | { command: string[] }} run a folder of static files for a page, with a content security policy, a
 *   development server (`PORT` is replaced), or a command whose last line of output is the result
 * @property {number} threads threads that the runtime must reach (in a page: when it is cross-origin isolated)
 * @property {string} [plan] how the first line of a plan begins, where it is not `backend wasm`
 * @property {string} [setup] what a user has to configure, for the table
 */

/** The program of every project. It compares the result with the formula in plain loops. */
const PROGRAM = `
import { configure, explain, prepare, scaledDotProductAttention, tensor } from "heed";
export async function main() {
  const warnings = [];
  configure({ threads: 2, onWarning: (text) => warnings.push(text) });
  const threads = await prepare();
  const data = Float32Array.from({ length: 2 * 256 * 32 }, (_, i) => Math.sin(i * i));
  const x = tensor(data, [1, 2, 256, 32]);
  const { output } = scaledDotProductAttention(x, x, x, { isCausal: true });
  let worst = 0;
  for (const [h, i] of [[0, 0], [0, 17], [1, 100], [1, 255]]) {
    const row = (n) => data.subarray((h * 256 + n) * 32, (h * 256 + n + 1) * 32);
    const s = Array.from({ length: i + 1 }, (_, j) => row(i).reduce((sum, q, e) => sum + q * row(j)[e], 0) / Math.sqrt(32));
    const top = Math.max(...s);
    const l = s.reduce((sum, x) => sum + Math.exp(x - top), 0);
    for (let e = 0; e < 32; e++) {
      const want = s.reduce((sum, x, j) => sum + (Math.exp(x - top) / l) * row(j)[e], 0);
      worst = Math.max(worst, Math.abs(want - output.at(0, h, i, e)));
    }
  }
  return { right: worst < 1e-5, threads, plan: String(explain(x, x, x)).split("\\n")[0], warnings };
}
`;

const IN_PAGE = `
import { main } from "./program.js";
main().then((result) => { document.body.dataset.result = JSON.stringify(result); },
  (error) => { document.body.dataset.result = JSON.stringify({ right: false, error: String(error && error.stack) }); });
`;
/** The program of a page that a server rendered with the element in it: both have imported the element. */
const WITH_ELEMENT = `import { main } from "./program.js";
async function withElement() {
  if (!customElements.get("attention-view")) throw new Error("no element");
  return main();
}`;
const IN_PROCESS = `
import { main } from "./program.js";
console.log(JSON.stringify(await main()));
`;
/** Attention on the GPU, forward and backward, against the CPU. @param {string} gpu what it is started with */
const onGpu = (gpu) => ({
  "main.js": `
import { attentionBackward, explain, randn, scaledDotProductAttention } from "heed";
import { webgpu } from "heed/webgpu";
${gpu}
const x = randn([1, 2, 100, 32], { seed: 1 });
const y = await x.to(gpu);
const options = { isCausal: true };
const [here, there] = [x, y].map((t) => {
  const state = scaledDotProductAttention(t, t, t, options);
  return [state.output, attentionBackward(state.output, t, t, t, state, options).dQuery];
});
let worst = 0;
for (const [n, tensor] of there.entries()) {
  const numbers = await tensor.read();
  here[n].data.forEach((want, i) => { worst = Math.max(worst, Math.abs(want - numbers[i])); });
}
console.log(JSON.stringify({ right: worst < 1e-4, threads: 1, plan: String(explain(y, y, y)).split("\\n")[0], warnings: [] }));
gpu.destroy();
`,
});
/** CommonJS has no await at the top. */
const IN_PROMISE = `
import { main } from "./program.js";
main().then((result) => console.log(JSON.stringify(result)));
`;
/** @param {string} script */
const html = (script) =>
  `<!doctype html><meta charset="utf-8"><title>heed</title><body><script type="module" src="${script}"></script>`;

const page = { "program.js": PROGRAM, "page.js": IN_PAGE };
const process_ = { "program.js": PROGRAM, "main.js": IN_PROCESS };
const ISOLATED = `{ "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" }`;

/** @param {string} version @param {boolean} excluded whether heed is excluded from pre-bundling */
function vite(version, excluded) {
  const major = version.split(".")[0];
  const files = {
    ...page,
    "index.html": html("/page.js"),
    "vite.config.js": `export default { server: { headers: ${ISOLATED} }, preview: { headers: ${ISOLATED} }${
      excluded ? ', optimizeDeps: { exclude: ["heed"] }' : ""
    } };`,
  };
  const packages = { vite: version };
  return [
    {
      name: `Vite ${major}, build`,
      packages,
      files,
      build: ["vite", "build"],
      run: { serve: "dist" },
      threads: 2,
    },
    {
      name: `Vite ${major}, dev`,
      packages,
      files,
      run: { dev: ["vite", "--port", "PORT", "--strictPort"] },
      threads: 2,
      ...(excluded && { setup: '`optimizeDeps: { exclude: ["heed"] }`' }),
    },
  ];
}

/** @param {string} version @returns {Fixture} */
const next = (version) => ({
  name: `Next ${version.split(".")[0]}, server and client`,
  packages: { next: version, react: "19.3.1", "react-dom": "19.3.1", "heed-models": "MODELS" },
  files: {
    "program.js": PROGRAM,
    "next.config.mjs": `export default { output: "export" };`,
    "app/layout.js": `export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html>; }`,
    "app/client.js": `"use client";
import { useEffect } from "react";
import "heed/attention-view";
import { AttentionView } from "heed/attention-view/react";
${WITH_ELEMENT.replace("./", "../")}
export default function Client() {
  useEffect(() => { withElement().then((result) => { document.body.dataset.result = JSON.stringify(result); }); }, []);
  return <AttentionView />;
}`,
    "app/page.js": `import Client from "./client.js";
import { locateShipped, readModel } from "heed/models";
import { main } from "../program.js";
export default async function Page() {
  const result = await main();
  if (!result.right || result.threads !== 2) throw new Error("server: " + JSON.stringify(result));
  if ((await readModel(locateShipped("encoder"))).attention("hi").tokens.length < 3) throw new Error("server: tokens");
  return <main><p>server: {JSON.stringify(result)}</p><Client /></main>;
}`,
  },
  build: ["next", "build"],
  run: { serve: "out" },
  threads: 2,
});

/**
 * A Cloudflare Worker: workerd compiles the .wasm files of a bundle before it runs, and none later.
 * @param {string} name @param {string} first the first lines of the Worker @param {string} setup @param {string} backend
 * @returns {Fixture}
 */
function workerd(name, first, setup, backend) {
  return {
    name,
    packages: { miniflare: "4.20260730.0", esbuild: "0.28.2" },
    files: {
      "program.js": PROGRAM,
      "worker.js": `${first}import { main } from "./program.js";
export default { fetch: async () => Response.json(await main()) };`,
      "build.mjs": `import { build } from "esbuild";
await build({ entryPoints: ["worker.js"], bundle: true, format: "esm", platform: "neutral", mainFields: ["module", "main"],
  loader: { ".wasm": "copy" }, outdir: "out", outbase: "." });`,
      "main.js": `import { Miniflare } from "miniflare";
const worker = new Miniflare({ modules: true, scriptPath: "out/worker.js", modulesRules: [
  { type: "ESModule", include: ["**/*.js"] }, { type: "CompiledWasm", include: ["**/*.wasm"] },
], compatibilityDate: "2026-01-01" });
const response = await worker.dispatchFetch("http://localhost/");
console.log(await response.text());
await worker.dispose();`,
    },
    build: ["node", "build.mjs"],
    run: { command: ["node", "main.js"] },
    threads: 1,
    plan: `backend ${backend}`,
    setup,
  };
}

/** @type {Fixture[]} */
export const FIXTURES = [
  ...vite("5.4.21", true),
  ...vite("6.4.6", true),
  ...vite("7.3.8", true),
  ...vite("8.3.8", false),
  {
    name: "Vite 8, build, files by `?url`",
    packages: { vite: "8.3.8", "heed-models": "MODELS" },
    files: {
      ...page,
      "page.js": `
import element from "heed/attention-view.js?url";
import weights from "heed-models/encoder/model.safetensors?url";
import worker from "heed/worker.js?url";
import { main } from "./program.js";
async function all() {
  const result = await main();
  for (const url of [element, weights, worker]) if (!(await fetch(url)).ok) throw new Error(url);
  await import(/* @vite-ignore */ new URL(element, location.href).href);
  if (!customElements.get("attention-view")) throw new Error("no element");
  return result;
}
all().then((result) => { document.body.dataset.result = JSON.stringify(result); },
  (error) => { document.body.dataset.result = JSON.stringify({ right: false, error: String(error && error.stack) }); });
`,
      "index.html": html("/page.js"),
    },
    build: ["vite", "build"],
    run: { serve: "dist" },
    threads: 2,
  },
  {
    name: "webpack 5",
    packages: { webpack: "5.112.2", "webpack-cli": "7.3.1" },
    files: {
      ...page,
      "dist/index.html": html("main.js"),
      "webpack.config.cjs": `module.exports = { mode: "production", entry: "./page.js", experiments: { outputModule: true }, output: { module: true, filename: "main.js" } };`,
    },
    build: ["webpack"],
    run: { serve: "dist" },
    threads: 2,
  },
  {
    name: "esbuild",
    packages: { esbuild: "0.28.2" },
    files: { ...page, "dist/index.html": html("main.js") },
    build: ["esbuild", "page.js", "--bundle", "--format=esm", "--minify", "--outfile=dist/main.js"],
    run: { serve: "dist" },
    threads: 2,
  },
  {
    name: "Rollup 4",
    packages: { rollup: "4.68.7", "@rollup/plugin-node-resolve": "16.0.3" },
    files: { ...page, "dist/index.html": html("main.js") },
    build: ["rollup", "page.js", "-p", "node-resolve", "-f", "es", "-o", "dist/main.js"],
    run: { serve: "dist" },
    threads: 2,
  },
  {
    name: "Rolldown",
    packages: { rolldown: "1.3.2" },
    files: { ...page, "dist/index.html": html("page.js") },
    build: ["rolldown", "page.js", "--platform", "browser", "-d", "dist"],
    run: { serve: "dist" },
    threads: 2,
  },
  {
    name: "Parcel 2",
    packages: { parcel: "2.16.4" },
    manifest: { "@parcel/resolver-default": { packageExports: true } },
    files: { ...page, "index.html": html("page.js") },
    build: ["parcel", "build", "index.html", "--no-source-maps", "--no-cache", "--public-url", "./"],
    run: { serve: "dist" },
    threads: 2,
    setup: '`"@parcel/resolver-default": { "packageExports": true }` in package.json',
  },
  next("15.5.29"),
  next("16.4.6"),
  {
    name: "SvelteKit 3, server and client",
    packages: {
      "@sveltejs/kit": "3.2.0",
      "@sveltejs/adapter-static": "4.0.1",
      "@sveltejs/vite-plugin-svelte": "7.3.1",
      svelte: "5.57.3",
      typescript: "6.0.3",
      vite: "8.3.8",
    },
    files: {
      "src/program.js": PROGRAM,
      "src/app.html": `<!doctype html><html lang="en"><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>`,
      "src/routes/+page.server.js": `import { main } from "../program.js";
export const prerender = true;
export async function load() {
  const result = await main();
  if (!result.right || result.threads !== 2) throw new Error("server: " + JSON.stringify(result));
  return { server: result };
}`,
      "src/routes/+page.svelte": `<script>
  import { onMount } from "svelte";
  import "heed/attention-view";
  ${WITH_ELEMENT.replace("./", "../")}
  let { data } = $props();
  onMount(() => { withElement().then((result) => { document.body.dataset.result = JSON.stringify(result); }); });
</script>
<p>server: {JSON.stringify(data.server)}</p><attention-view></attention-view>`,
      "vite.config.js": `import adapter from "@sveltejs/adapter-static";
import { sveltekit } from "@sveltejs/kit/vite";
export default { plugins: [sveltekit({ adapter: adapter() })] };`,
    },
    build: ["vite", "build"],
    run: { serve: "build" },
    threads: 2,
  },
  {
    name: "Astro 7, server and client",
    packages: { astro: "7.3.5" },
    files: {
      "src/program.js": PROGRAM,
      "src/pages/index.astro": `---
import "heed/attention-view";
import { main } from "../program.js";
const result = await main();
if (!result.right || result.threads !== 2) throw new Error("server: " + JSON.stringify(result));
---
<html lang="en"><body><p>server: {JSON.stringify(result)}</p>
<attention-view></attention-view>
<script>
  import "heed/attention-view";
  ${WITH_ELEMENT.replace("./", "../")}
  withElement().then((result) => { document.body.dataset.result = JSON.stringify(result); });
</script>
</body></html>`,
    },
    build: ["astro", "build"],
    run: { serve: "dist" },
    threads: 2,
  },
  {
    name: "Observable Framework 1",
    packages: { "@observablehq/framework": "1.13.4" },
    files: {
      "src/program.js": PROGRAM,
      "src/index.md": `# heed
\`\`\`js
import "heed/attention-view.js";
import { main } from "./program.js";
if (!customElements.get("attention-view")) throw new Error("no element");
document.body.dataset.result = JSON.stringify(await main());
\`\`\`
`,
    },
    build: ["observable", "build"],
    run: { serve: "dist" },
    threads: 2,
    setup: "the element: `heed/attention-view.js`",
  },
  {
    name: "Electron's policy for a page, Vite 8",
    packages: { vite: "8.3.8" },
    files: { ...page, "index.html": html("/page.js") },
    build: ["vite", "build"],
    // The policy of Electron's guide to security, with what heed needs.
    run: { serve: "dist", policy: "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" },
    threads: 2,
    setup: "`script-src 'self' 'wasm-unsafe-eval'`",
  },
  {
    name: "Bun",
    packages: { bun: "1.4.5" },
    files: process_,
    run: { command: ["bun", "main.js"] },
    threads: 2,
  },
  {
    name: "Deno, no permissions",
    packages: { deno: "2.9.6" },
    files: process_,
    run: { command: ["deno", "run", "--no-prompt", "main.js"] },
    threads: 2,
  },
  {
    name: "Deno, WebGPU",
    packages: { deno: "2.9.6" },
    files: onGpu("const gpu = await webgpu();"),
    run: { command: ["deno", "run", "--no-prompt", "--unstable-webgpu", "main.js"] },
    threads: 1,
    plan: "backend webgpu",
    setup: "`--unstable-webgpu`",
  },
  {
    name: "Bun, WebGPU",
    packages: { bun: "1.4.5", webgpu: "0.6.2" },
    files: onGpu('import { create } from "webgpu";\nconst gpu = await webgpu({ gpu: create([]) });'),
    run: { command: ["bun", "main.js"] },
    threads: 1,
    plan: "backend webgpu",
    setup: "the package `webgpu`",
  },
  workerd(
    "workerd (Cloudflare Workers)",
    "",
    "`reference` backend: it compiles no WebAssembly at run time",
    "reference",
  ),
  workerd(
    "workerd, `heed/kernels`",
    `import kernels from "heed/kernels/strict.wasm";
import { useKernels } from "heed/kernels";
useKernels(kernels);
`,
    "`useKernels` of [`heed/kernels`](#where-webassembly-is-not-compiled)",
    "wasm",
  ),
  {
    name: "Jest 30",
    packages: { jest: "30.5.2" },
    files: {
      "program.js": PROGRAM,
      "heed.test.js": `import { main } from "./program.js";
test("computes attention", async () => {
  const result = await main();
  expect(result.right).toBe(true);
  process.stdout.write(JSON.stringify(result) + "\\n");
});`,
    },
    run: {
      command: ["node", "--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--silent=false"],
    },
    threads: 1,
    setup: "`node --experimental-vm-modules`",
  },
  {
    name: "Vitest 4",
    packages: { vitest: "4.1.12" },
    files: {
      "program.js": PROGRAM,
      "heed.test.js": `import { expect, test } from "vitest";
import { main } from "./program.js";
test("computes attention", async () => {
  const result = await main();
  expect(result.right).toBe(true);
  process.stdout.write(JSON.stringify(result) + "\\n");
});`,
    },
    run: { command: ["vitest", "run"] },
    threads: 2,
  },
  {
    name: "Node, import",
    packages: {},
    files: process_,
    run: { command: ["node", "main.js"] },
    threads: 2,
  },
  {
    name: "Node, bundled by esbuild",
    packages: { esbuild: "0.28.2" },
    files: process_,
    build: ["esbuild", "main.js", "--bundle", "--platform=node", "--format=esm", "--outfile=out/main.mjs"],
    run: { command: ["node", "out/main.mjs"] },
    threads: 2,
  },
  {
    name: "Node, bundled by esbuild as CommonJS",
    packages: { esbuild: "0.28.2" },
    files: { "program.js": PROGRAM, "main.js": IN_PROMISE },
    build: ["esbuild", "main.js", "--bundle", "--platform=node", "--outfile=out/main.cjs"],
    run: { command: ["node", "out/main.cjs"] },
    threads: 2,
  },
  {
    name: "Node, require (CommonJS)",
    packages: {},
    files: {
      "main.cjs": `const { configure, explain, prepare, scaledDotProductAttention, tensor } = require("heed");
(async () => {
  configure({ threads: 2 });
  const threads = await prepare();
  const [q, k] = [tensor([1, 2], [1, 2]), tensor([1, 0, 0, 1], [2, 2])];
  const { output } = scaledDotProductAttention(q, k, k);
  const w = 1 / (1 + Math.exp(1 / Math.SQRT2));
  const plan = String(explain(q, k, k)).split("\\n")[0];
  console.log(JSON.stringify({ right: Math.abs(output.at(0, 0) - w) < 1e-6, threads, plan, warnings: [] }));
})();`,
    },
    run: { command: ["node", "main.cjs"] },
    threads: 2,
  },
  ...["5.7.3", "5.8.3", "5.9.3", "6.0.3", "7.0.2"].map((version) => typescript(version, process_)),
  attw(process_),
];
