/**
 * Writes the usual kernels into one module, dist/kernels/strict.wasm, for runtimes that compile no WebAssembly while they run: the
 * kernels that the calls below need, at the level `strict` and over memory that is not shared, each exported by its key. Part of
 * `npm run build`, as a process of its own because it takes shared memory away. Needs Node ≥ 22.18, because it imports TypeScript. The
 * same source gives the same bytes.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import wabtOf from "wabt";
import { at } from "../setup.mjs";

// Before the engine is imported: its memory is then not shared.
Reflect.deleteProperty(globalThis, "SharedArrayBuffer");
/** @param {string} name */
const load = (name) => import(pathToFileURL(at(name)).href);
const heed = await load("src/index.ts");
const nn = await load("src/nn/index.ts");
const { matmul } = await load("src/api/matmul.ts");
const { matmulPacked, packMatrix } = await load("src/api/packed.ts");
const { addKernelFile } = await load("src/wasm/files/files.ts");
const { getEngine } = await load("src/wasm/engine/engine.ts");
const { VERSION } = await load("src/core/version.ts");

/** Head sizes of the usual models. */
const HEAD_SIZES = [32, 64, 80, 96, 128];

/** Masks by what a call passes for N queries and N keys. @type {((N: number) => object)[]} */
const MASKS = [
  () => ({}),
  () => ({ attnMask: heed.causal() }),
  () => ({ attnMask: heed.keyLengths([3]) }),
  () => ({ attnMask: heed.and(heed.causal(), heed.keyLengths([3])) }),
  () => ({ attnMask: heed.and(heed.causal(), heed.slidingWindow(4, 0)) }),
  (N) => ({ attnMask: heed.zeros([N, 40], "bool") }),
  (N) => ({ attnMask: heed.tensor(new Float32Array(N * 40).fill(0.5), [N, 40]) }),
];

/** Runs the usual calls once. */
function callAll() {
  for (const d of HEAD_SIZES)
    for (const mask of MASKS) {
      const k = heed.randn([1, 1, 40, d], { seed: 1 });
      for (const N of [1, 40]) {
        const q = heed.randn([1, 1, N, d], { seed: 2 });
        const queryOffset = 40 - N;
        const returnWeights = N > 1 && { rows: [0] };
        heed.scaledDotProductAttention(q, k, k, { ...mask(N), queryOffset, returnWeights });
      }
    }
  const x = heed.randn([64, 64], { seed: 3 });
  for (const dtype of ["float32", "float16", "bfloat16"]) {
    matmul(x, heed.cast(x, dtype));
    matmulPacked(x, packMatrix([64, 64], dtype));
  }
  for (const name of ["gelu", "silu", "sigmoid", "tanh"]) nn[name](x);
  nn.gelu(x, { approximate: "tanh" });
  nn.layerNorm(x);
  nn.rmsNorm(x);
}

/** The kernels that the calls have compiled, in the order of their keys. */
function compiled() {
  heed.configure({ simd: "strict", threads: 1 });
  // A module without kernels: calls then choose among few kernels, as where they come from a file.
  addKernelFile(new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)));
  callAll();
  const { kernels } = getEngine();
  const missing = () => {
    throw new Error("a kernel was evicted: the file needs fewer calls");
  };
  return kernels.keys
    .sort()
    .map((/** @type {string} */ key) => ({ key, code: kernels.keep(key, 0, false, missing).code }));
}

/** One module of several kernels. @param {{ key: string, code: Uint8Array }[]} kernels */
async function joined(kernels) {
  const wabt = await wabtOf();
  let memory = "";
  const parts = kernels.map(({ key, code }, n) => {
    const module = wabt.readWasm(code, {});
    module.generateNames();
    module.applyNames();
    const text = module.toText({});
    module.destroy();
    [memory] = /\(import .*\)/.exec(text) ?? [""];
    return text
      .replace(/^\(module/, "")
      .replace(/\)\s*$/, "")
      .replace(memory, "")
      .replace(/\(export "run"/, `(export ${JSON.stringify(key)}`)
      .replaceAll(/(\((?:func|type) |\bcall )\$/g, `$1$k${n}.`);
  });
  const module = wabt.parseWat("kernels.wat", `(module ${memory}\n${parts.join("\n")})`);
  const { buffer } = module.toBinary({ write_debug_names: false });
  module.destroy();
  // A section that names the version of heed, which useKernels compares.
  const [name, version] = ["heed", VERSION].map((text) => new TextEncoder().encode(text));
  const section = Uint8Array.of(0, 1 + name.length + version.length, name.length, ...name, ...version);
  return Buffer.concat([buffer, section]);
}

const kernels = compiled();
const bytes = await joined(kernels);
if (!WebAssembly.validate(bytes)) throw new Error("the kernels do not form a valid module");
mkdirSync(at("dist/kernels"), { recursive: true });
writeFileSync(at("dist/kernels/strict.wasm"), bytes);
writeFileSync(
  at("dist/kernels/strict.d.ts"),
  `/** The usual kernels, a WebAssembly.Module where the bundler or the runtime compiles the file, for \`useKernels\` of heed/kernels. */
declare const kernels: object;
export default kernels;
`,
);
process.exit(0);
