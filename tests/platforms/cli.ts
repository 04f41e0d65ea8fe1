/**
 * `heed` as a child process, for the tests of the command line: on the source, or with TEST_BUILT=1 on the built
 * package. Each test gets a new working folder with small inputs.
 */
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { configure, type Tensor, tensor } from "../../src/index.ts";
import { readNpz, writeNpy, writeNpz, writeSafetensors } from "../../src/io/index.ts";

/** The repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url));
const builtMain = join(root, "dist/cli/main.js");
const main = process.env.TEST_BUILT === "1" ? builtMain : join(root, "src/cli/main.ts");
// Node strips types from 22.18 on; if the running one is older, the pinned Node is used.
const runsSource = Number(process.versions.node.split(".")[0]) >= 24;
const node =
  runsSource || process.env.TEST_BUILT === "1" ? process.execPath : join(root, "node_modules/.bin/node");
export const unix = process.platform !== "win32";

/** How a process ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

let folder = "";
/** The working folder of the running test. */
export let work = "";
const env = {
  HEED_SIMD: "strict",
  HEED_THREADS: "1",
  NO_COLOR: "",
  FORCE_COLOR: undefined,
  HEED_DEBUG: undefined,
};

/** Runs heed in the working folder; `during` may act on the process while it runs. */
export function heed(
  args: readonly string[],
  extra: Record<string, string | undefined> = {},
  during: (child: ReturnType<typeof spawn>) => void = () => {},
  stdin: "pipe" | number = "pipe",
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [main, ...args], {
      cwd: work,
      env: { ...process.env, ...env, ...extra },
      stdio: [stdin, "pipe", "pipe"],
    });
    const ended = { out: "", err: "" };
    child.stdout?.setEncoding("utf8").on("data", (text) => (ended.out += text));
    child.stderr?.setEncoding("utf8").on("data", (text) => (ended.err += text));
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal, ...ended }));
    during(child);
  });
}

/** The lines of a shell that make `heed` the tested program, with the environment of `heed()`; `preferBuilt`: the built one, which starts faster, where it exists. */
export function shellOf({ preferBuilt = false } = {}): string {
  const set = Object.entries(env).map(([name, value]) =>
    value === undefined ? `unset ${name}` : `export ${name}=${JSON.stringify(value)}`,
  );
  const program = preferBuilt && existsSync(builtMain) ? builtMain : main;
  return [...set, `heed() { ${JSON.stringify(node)} ${JSON.stringify(program)} "$@"; }`].join("\n");
}

/** Runs heed with standard input redirected from these bytes. */
export async function heedFrom(input: string | Uint8Array, args: readonly string[]): Promise<Ended> {
  const path = join(work, "standard-input");
  writeFileSync(path, input);
  const file = openSync(path, "r");
  try {
    return await heed(args, {}, () => {}, file);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

/** A tensor of numbers in [−2, 2], from a seed. */
export function numbers(shape: number[], seed: number): Tensor {
  const size = shape.reduce((n, x) => n * x, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(seed + i * 0.7) * 2),
    shape,
  );
}

export const query = numbers([2, 4, 33, 16], 1);
export const key = numbers([2, 2, 40, 16], 2);
export const value = numbers([2, 2, 40, 8], 3);
export const pad = tensor(
  Uint8Array.from({ length: 80 }, (_, i) => (i % 40 < 31 ? 1 : 0)),
  [2, 1, 1, 40],
  "bool",
);

/** The bytes of a tensor. */
export const bytesOf = (t: { data: ArrayBufferView }) =>
  Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength);
/** Whether two tensors have the same bits. */
export const same = (a: { data: ArrayBufferView }, b: { data: ArrayBufferView }) =>
  bytesOf(a).equals(bytesOf(b));
/** Reads an npz file of the working folder. */
export const npz = async (name: string) => readNpz(readFileSync(join(work, name)));
/** The initial files of the working folder. */
export const INPUTS = ["bad.npy", "k.npy", "q.npy", "qkv.npz", "qkv.safetensors", "v.npy"];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "heed-cli-"));
  configure({ simd: "strict", threads: 1 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  work = mkdtempSync(join(folder, "test-"));
  for (const [name, t] of Object.entries({ q: query, k: key, v: value }))
    writeFileSync(join(work, `${name}.npy`), writeNpy(t));
  writeFileSync(join(work, "qkv.npz"), await writeNpz({ q: query, k: key, v: value, pad }));
  writeFileSync(
    join(work, "qkv.safetensors"),
    writeSafetensors({ query, key, value, pad }, { metadata: { origin: "here" } }),
  );
  writeFileSync(join(work, "bad.npy"), writeNpy(query).subarray(0, 1000));
});
