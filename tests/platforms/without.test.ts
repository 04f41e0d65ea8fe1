/**
 * The built package where a runtime lacks something: WebAssembly, its SIMD, shared memory, threads. Every call is right, and the process
 * ends without help. Pages are in browser.spec.mjs.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "vitest";
import { at } from "../../tools/setup.mjs";
import { itBuilt } from "../support/built.ts";

const run = promisify(execFile);

/** Calls of each kind; prints numbers, bits, and what the plan says. */
const PROGRAM = `
import { attentionBackward, configure, explain, prepare, randn, scaledDotProductAttention, scaledDotProductAttentionAsync } from "heed";
configure({ threads: 2 });
const [x, small] = [randn([4, 200, 32], { seed: 1 }), randn([2, 9, 8], { seed: 2 })];
const options = { isCausal: true };
const state = scaledDotProductAttention(x, x, x, options);
const later = await scaledDotProductAttentionAsync(x, x, x, options);
const { dQuery } = attentionBackward(x, x, x, x, state, options);
const { output } = scaledDotProductAttention(small, small, small, options);
const bits = [state.output, later.output, dQuery].map(({ data }) =>
  new Uint32Array(data.buffer, data.byteOffset, data.length).reduce((h, w) => (Math.imul(h, 31) + w) | 0, 0));
console.log(JSON.stringify({
  numbers: [...output.data, ...dQuery.data.subarray(0, 1000)],
  same: bits[0] === bits[1],
  bits,
  plan: String(explain(x, x, x, options)).split("\\n")[0],
}));`;

const compute = async (flags: readonly string[]) => {
  const argv = ["--no-warnings", ...flags, "--input-type=module", "-e", PROGRAM];
  // A process that does not end by itself is ended after the limit, which is an error.
  const { stdout, stderr } = await run(process.execPath, argv, { cwd: at("."), timeout: 100_000 });
  return { ...JSON.parse(stdout), stderr };
};
const without = (name: string) => [
  "--import",
  `data:text/javascript,${encodeURIComponent(`delete globalThis.${name}`)}`,
];

const REFERENCE = /^heed: running in plain TypeScript, slowly: [^\n]*WebAssembly[^\n]*\n$/;
const SINGLE = /^heed: running single-threaded: [^\n]*\n$/;

itBuilt.each([
  ["WebAssembly (--jitless)", ["--jitless"], "reference", REFERENCE],
  ["WebAssembly", without("WebAssembly"), "reference", REFERENCE],
  ["SIMD", ["--no-enable-sse4-1"], "reference", REFERENCE],
  ["shared memory", without("SharedArrayBuffer"), "wasm", SINGLE],
] as const)(
  "without %s every call is right and ends, with one warning",
  async (name, flags, backend, warning) => {
    // The flag that hides SIMD is one of x86-64.
    if (name === "SIMD" && process.arch !== "x64") return;
    const [alone, all] = await Promise.all([compute(flags), compute([])]);
    expect(all).toMatchObject({ same: true, stderr: "" });
    expect(alone).toMatchObject({ same: true, plan: expect.stringMatching(`^backend ${backend}`) });
    expect(alone.stderr).toMatch(warning);
    for (const [n, x] of alone.numbers.entries()) expect(Math.abs(x - all.numbers[n])).toBeLessThan(1e-5);
    if (backend === "wasm") expect(alone.bits).toEqual(all.bits);
  },
  200_000,
);
