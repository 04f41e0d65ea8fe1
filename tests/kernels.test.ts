/** `heed/kernels`: a runtime that compiles no WebAssembly while it runs, here Node with a constructor that refuses, as workerd's does. */
import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { at, pinned } from "../tools/setup.mjs";
import { describeBuilt } from "./support/built.ts";

/** Declares `heed`, `useKernels`, `file`, `warnings`, `refuse()`, `line(call)` and `bitsOf(tensor)`. */
const PRELUDE = `
import { readFileSync } from "node:fs";
import * as heed from "heed";
import { useKernels } from "heed/kernels";
import { matmul, gelu, layerNorm } from "heed/nn";
const file = new WebAssembly.Module(readFileSync(new URL(import.meta.resolve("heed/kernels/strict.wasm"))));
const warnings = [];
heed.configure({ onWarning: (text) => warnings.push(text) });
const Module = WebAssembly.Module;
const refuse = () => {
  WebAssembly.Module = Object.assign(
    function () {
      throw new WebAssembly.CompileError("code generation disallowed by embedder");
    },
    { exports: Module.exports, customSections: Module.customSections },
  );
};
const x = heed.randn([2, 4, 70, 64], { seed: 1 });
const line = (...call) => String(heed.explain(...call)).split("\\n")[0];
const bitsOf = ({ data }) => [...new Int32Array(data.buffer, data.byteOffset, data.length)].reduce((sum, bits) => (Math.imul(sum, 31) + bits) | 0, 0);
const masks = () => [
  {},
  { isCausal: true },
  { attnMask: heed.keyLengths([3, 70]) },
  { attnMask: heed.and(heed.causal(), heed.slidingWindow(9, 0)) },
  { attnMask: heed.tensor(Array.from({ length: 70 }, (_, n) => n % 3 > 0)) },
];
`;

/** What a program prints as its last line of JSON. */
function run(program: string): unknown {
  const { stdout, stderr } = spawnSync(pinned(), ["--input-type=module", "-e", `${PRELUDE}${program}`], {
    cwd: at("."),
    encoding: "utf8",
  });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout);
}

describeBuilt("heed/kernels", () => {
  it("gives the bits of the kernels that are compiled at run time, for the usual calls", () => {
    const calls = `
const results = masks().flatMap((options) => {
  const { output, lse, weights } = heed.scaledDotProductAttention(x, x, x, { ...options, returnWeights: true });
  return [output, lse, weights].map(bitsOf);
});
const row = heed.randn([2, 4, 1, 64], { seed: 2 });
results.push(bitsOf(heed.scaledDotProductAttention(row, x, x).output));
const m = heed.randn([70, 64], { seed: 3 });
results.push(...[matmul(m, m.transpose()), gelu(m), layerNorm(m)].map(bitsOf));
console.log(JSON.stringify({ line: line(x, x, x), results, warnings }));
process.exit();`;
    const compiled = run(`heed.configure({ simd: "strict", threads: 1 });${calls}`) as Record<
      string,
      unknown
    >;
    const fromFile = run(`refuse(); useKernels(file);${calls}`);
    expect(fromFile).toEqual({ ...compiled, line: "backend wasm", warnings: [] });
  }, 60_000);

  it("a call whose kernel is in no file, and gradients, run on the reference backend with one warning", () => {
    const result = run(`
refuse();
useKernels(file);
const odd = heed.randn([1, 1, 9, 24], { seed: 1 });
const { output, lse } = heed.scaledDotProductAttention(odd, odd, odd);
const { dQuery } = heed.attentionBackward(output, odd, odd, odd, { output, lse });
console.log(JSON.stringify({
  odd: line(odd, odd, odd), gradients: line(x, x, x, { pass: "backward" }), shape: dQuery.shape, warnings,
}));
process.exit();`);
    expect(result).toEqual({
      odd: expect.stringMatching(
        /^backend reference .*no module of useKernels has the kernel "forward .* d24 /,
      ),
      gradients: expect.stringMatching(/^backend reference .*kernels of gradients are compiled at run time/),
      shape: [1, 1, 9, 24],
      warnings: [expect.stringMatching(/^heed: running in plain TypeScript, slowly: .*"forward .* d24 /)],
    });
  }, 60_000);

  it("without the file the reference backend runs, and the one warning names useKernels; the file can come later", () => {
    const result = run(`
refuse();
heed.scaledDotProductAttention(x, x, x);
heed.scaledDotProductAttention(x, x, x, { isCausal: true });
const before = line(x, x, x);
useKernels(file);
console.log(JSON.stringify({ before, after: line(x, x, x), warnings }));
process.exit();`);
    const reason =
      /compiles no WebAssembly while it runs \(code generation disallowed by embedder\); useKernels of heed\/kernels/;
    expect(result).toEqual({
      before: expect.stringMatching(reason),
      after: "backend wasm",
      warnings: [expect.stringMatching(reason)],
    });
  }, 60_000);

  it("what is no module of this version is refused", () => {
    const result = run(`
const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
const old = Uint8Array.of(...empty, 0, 10, 4, ...new TextEncoder().encode("heed0.0.9"));
console.log(JSON.stringify([empty, new Module(empty), new Module(old), undefined].map((module) => {
  try {
    return useKernels(module);
  } catch (error) {
    return [error.name, error.code, error.message];
  }
})));
process.exit();`);
    const refusal = (text: RegExp) => ["OptionError", "module", expect.stringMatching(text)];
    expect(result).toEqual([
      refusal(/^useKernels: expected the WebAssembly.Module of heed\/kernels\/strict.wasm, got /),
      refusal(/got a module that is not heed's$/),
      refusal(/got those of heed 0\.0\.9$/),
      refusal(/got undefined; /),
    ]);
  }, 60_000);
});
