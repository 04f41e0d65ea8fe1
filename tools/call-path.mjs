/**
 * Which source files does one call of the library execute? Measured with V8's precise coverage on the source:
 *
 *   node tools/call-path.mjs            a table: call, files, functions
 *   node tools/call-path.mjs forward    the table, and the files of the calls whose name contains the word
 *   node tools/call-path.mjs --json     as JSON
 *
 * A file counts when at least one of its functions runs during the call. The calls are small, on one thread, and run once
 * before they are measured (warm), so that compiling kernels is not counted. src/call-path.test.ts has the limits.
 */
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";

const SRC = new URL("../src/", import.meta.url);

/** @typedef {{ name: string, files: string[], functions: number }} CallPath */

/**
 * Runs each call once to warm up, then once under precise coverage.
 * @returns {Promise<CallPath[]>} one entry a call; files relative to `src/`
 */
async function measureCallPaths() {
  const { attentionBackward, configure, scaledDotProductAttention, tensor } = await import(
    new URL("index.ts", SRC).href
  );
  const { matmul } = await import(new URL("api/matmul.ts", SRC).href);
  configure({ simd: "relaxed", threads: 1 });
  const [B, H, N, d] = [1, 2, 64, 32];
  const filled = (/** @type {number} */ seed, shape = [B, H, N, d]) => {
    const size = shape.reduce((n, x) => n * x, 1);
    return tensor(
      Float32Array.from({ length: size }, (_, n) => Math.sin(n + seed)),
      shape,
    );
  };
  const [q, k, v, dOutput] = [1, 2, 3, 4].map((seed) => filled(seed));
  const causal = { isCausal: true };
  const state = scaledDotProductAttention(q, k, v, causal);
  const [a, b] = [filled(5, [N, d]), filled(6, [d, N])];
  /** @type {[string, () => unknown][]} */
  const calls = [
    ["forward", () => scaledDotProductAttention(q, k, v)],
    ["forward causal", () => scaledDotProductAttention(q, k, v, causal)],
    ["backward causal", () => attentionBackward(dOutput, q, k, v, state, { ...causal, checkSums: false })],
    ["backward causal, sums checked", () => attentionBackward(dOutput, q, k, v, state, causal)],
    ["matmul", () => matmul(a, b)],
  ];
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  /** @type {CallPath[]} */
  const paths = [];
  for (const [name, call] of calls) {
    call();
    await session.post("Profiler.takePreciseCoverage");
    call();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const entered = result
      .filter(({ url }) => url.startsWith(SRC.href))
      .map(({ url, functions }) => ({
        file: url.slice(SRC.href.length),
        // The first function of a module is its top level, which ran at import.
        functions: functions
          .filter((f) => f.functionName !== "" || f.ranges[0].startOffset > 0)
          .filter((f) => f.ranges[0].count > 0).length,
      }))
      .filter(({ functions }) => functions > 0);
    paths.push({
      name,
      files: entered.map(({ file }) => file).sort(),
      functions: entered.reduce((n, { functions }) => n + functions, 0),
    });
  }
  await session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
  return paths;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const words = process.argv.slice(2);
  const paths = await measureCallPaths();
  if (words.includes("--json")) console.log(JSON.stringify(paths));
  else
    for (const { name, files, functions } of paths) {
      const counts = `${String(files.length).padStart(3)} files ${String(functions).padStart(4)} functions`;
      console.log(`${name.padEnd(18)}${counts}`);
      if (words.some((word) => name.includes(word))) for (const file of files) console.log(`  ${file}`);
    }
}
