// @ts-check
/**
 * The built package on the running Node: every case of cases.mjs on every level and with one thread and two,
 * each compared with the float64 loop, with equal bits on one thread and two. The process must end without help: a worker that
 * keeps it alive makes the run hang. `heed` is the package itself, resolved by its own exports.
 */
import { Socket } from "node:net";
import { Tally } from "../../tools/parts/tally.mjs";
import { LARGE, runCases } from "./cases.mjs";

const tally = new Tally((line) => process.stdout.write(`${line}\n`));
const major = Number(process.versions.node.split(".")[0]);

/** @type {string[]} */
const connections = [];
Socket.prototype.connect = function connect(...args) {
  connections.push(JSON.stringify(args[0]));
  throw new Error("the package opened a connection");
};

/** @type {string[]} */
const warnings = [];
process.on("warning", ({ name, message }) => warnings.push(`${name}: ${message}`));
console.warn = (...args) => warnings.push(args.join(" "));

for (const module of ["heed", "heed/reference", "heed/io", "heed/models"])
  try {
    const names = Object.keys(await import(module));
    tally.check(`import ${module}`, names.length > 0 ? "" : "it exports nothing");
  } catch (error) {
    tally.check(`import ${module}`, String(error));
  }

const heed = await import("heed");

/** True where the engine has relaxed SIMD: a module of one function, () → i32x4.relaxed_trunc_f32x4_s(v128.const 0). */
const relaxed = WebAssembly.validate(
  new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 25, 1, 23, 0, 253, 12, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 253, 129, 2, 11,
  ]),
);

/** True in Node 24, and in later versions with V8's flag, on x86-64. */
const wide =
  process.arch === "x64" &&
  (major === 24 || (major > 24 && process.execArgv.includes("--experimental-wasm-revectorize")));

for (const simd of /** @type {const} */ (["reference", "strict", "relaxed", "wide"])) {
  if (simd === "wide" && !wide) continue;
  if (simd === "relaxed" && !relaxed) continue; // Node 20 has it behind a flag
  /** @type {ReturnType<typeof runCases> | undefined} */
  let first;
  for (const threads of [1, 2]) {
    const name = `${simd}, ${threads === 1 ? "one thread" : "two threads"}`;
    try {
      heed.configure(simd === "reference" ? { backend: simd, threads } : { backend: "auto", simd, threads });
    } catch (error) {
      tally.check(name, `configure threw ${error}`);
      continue;
    }
    const results = runCases(heed);
    for (const [x, { name: what, problem, bits }] of results.entries()) {
      const other = first?.[x].bits ?? bits;
      const differs = bits === other ? "" : `bits ${bits}, with one thread ${other}`;
      tally.check(`${name}: ${what}`, problem || differs);
    }
    first ??= results;
    const { level, threads: used } = results.find((one) => one.name === LARGE) ?? results[0];
    tally.check(`${name}: is what the plan says`, level === simd ? "" : `the plan says level ${level}`);
    if (simd !== "reference")
      tally.check(`${name}: threads`, used === threads ? "" : `the plan says ${used} threads`);
  }
}

// Warnings are emitted on the next tick; only Node's own about experimental features are expected.
await new Promise((resolve) => setTimeout(resolve, 0));
const reported = warnings.filter((text) => !/^(ExperimentalWarning|SecurityWarning)/.test(text));
tally.check("no warnings", reported.join("; "));
tally.check("no connections", connections.join("; "));

process.stdout.write(`${tally}\n`);
process.exitCode = tally.failed > 0 ? 1 : 0;
