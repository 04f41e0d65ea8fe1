/**
 * PyTorch: scaled_dot_product_attention on the CPU, in a Python process. Inputs and output are files that both processes map
 * into memory. A call is one line to the process and one line back, about 0.1 ms beside the attention.
 * HEED_PYTHON is a Python with torch (default python3).
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const python = process.env.HEED_PYTHON || "python3";
const script = fileURLToPath(new URL("torch_attention.py", import.meta.url));

const versions = spawnSync(python, [script, "versions"], { encoding: "utf8" });
if (versions.status !== 0) throw new Error(`${python} has no torch; HEED_PYTHON names another Python`);

/** @type {import("./index.mjs").Peer} */
const peer = {
  name: `PyTorch ${versions.stdout.trim()}`,
  package: "torch (Python)",
  kind: "native",
  async prepare(c) {
    const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "heed-torch-"));
    const output = join(folder, "output");
    for (const name of /** @type {const} */ (["query", "key", "value"]))
      writeFileSync(join(folder, name), c[name]);
    writeFileSync(output, new Uint8Array(c.query.byteLength));
    const { B, H, Nq, Nk, D, causal, threads } = c;
    const args = [script, "serve", folder, `${threads}`, JSON.stringify({ B, H, Nq, Nk, D, causal })];
    const env = { ...process.env, OMP_NUM_THREADS: `${threads}`, MKL_NUM_THREADS: `${threads}` };
    const child = spawn(python, args, { env, stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const answer = async () => {
      if ((await lines.next()).done) throw new Error("the Python process ended");
    };
    const dispose = async () => {
      const ended = child.exitCode === null ? once(child, "exit") : undefined;
      child.stdin.end();
      await ended;
      rmSync(folder, { recursive: true });
    };
    try {
      await answer();
    } catch (error) {
      await dispose();
      throw error;
    }
    const result = new Float32Array(c.query.length);
    return {
      run: async () => {
        child.stdin.write("\n");
        await answer();
        return result;
      },
      // The output is in memory that this process could map; Node cannot, so the file is read outside the call.
      order: (into) => {
        new Uint8Array(into.buffer).set(readFileSync(output));
        return into;
      },
      dispose,
    };
  },
};

export const peers = [peer];
