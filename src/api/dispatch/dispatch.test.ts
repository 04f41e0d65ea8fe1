/** A program bundles only the kernels of the operations that it calls. */
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { describe, expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../../", import.meta.url));

/** Source files in the bundle of a program that imports some names of an entry. */
async function bundled(entry: string, names: string): Promise<string[]> {
  const id = "program.ts";
  const program = {
    name: "program",
    resolveId: (name: string) => (name === id ? id : undefined),
    load: (name: string) =>
      name === id ? `import { ${names} } from "${SRC}${entry}"; globalThis.x = [${names}];` : undefined,
  };
  const bundle = await rolldown({ input: id, plugins: [program], platform: "browser", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  return output
    .flatMap((chunk) => (chunk.type === "chunk" ? Object.entries(chunk.modules) : []))
    .filter(([file, { renderedLength }]) => file.startsWith(SRC) && renderedLength > 0)
    .map(([file]) => file.slice(SRC.length));
}

/** Files of a single kind of operation. */
const KINDS: Readonly<Record<string, RegExp>> = {
  forward: /^wasm\/attention\/forward\/forward|^wasm\/kernels\/attention\/(forward|decode)\.ts$/,
  backward:
    /^wasm\/attention\/backward\/|^wasm\/kernels\/attention\/(backward|softmax-backward)|^reference\/problem-backward/,
  matmul: /^wasm\/ops\/matmul|^wasm\/kernels\/matmul\/matmul\.ts|^reference\/matmul/,
  rowwise:
    /^wasm\/ops\/row|^wasm\/kernels\/rowwise\/(norm|adamw|elementwise|cross-entropy)|^reference\/rowwise/,
  plans: /^wasm\/explain/,
};

const kindsOf = (files: readonly string[]): string[] =>
  Object.keys(KINDS).filter((kind) => files.some((file) => KINDS[kind].test(file)));

describe("a program bundles the kernels of", () => {
  for (const [entry, name, kinds] of [
    ["index.ts", "scaledDotProductAttention", ["forward"]],
    // It rebuilds a few rows of weights, to check lse against the options.
    ["index.ts", "attentionBackward", ["forward", "backward"]],
    ["api/matmul.ts", "matmul", ["matmul"]],
    ["api/rowwise.ts", "rowwise", ["rowwise"]],
    ["index.ts", "explain", ["forward", "backward", "plans"]],
    ["index.ts", "explainMatmul", ["matmul", "plans"]],
    ["index.ts", "mergeStates", []],
  ] as const)
    it(`${kinds.join(", ") || "nothing"} where it imports ${name}`, async () => {
      const bundledKinds = kindsOf(await bundled(entry, name));
      expect(bundledKinds).toEqual(kinds);
    }, 60_000);
});
