/** Decoders whose sequence two ranks share: every family has the logits of one process, or says why not. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Tensor, tensor, UnsupportedError } from "heed";
import { localCluster, shardSequence } from "heed/cluster";
import { Decoder, modelFromFiles } from "heed/models";
import { ContextTape } from "heed/train";
import { expect, test } from "vitest";
import { readTensors } from "../support/shared.ts";
import { carrierTokenizer } from "./carrier.ts";

const root = join(import.meta.dirname, "models");

/** Families with positions that ranks cannot share, and what they have. */
const REFUSED: Readonly<Record<string, string>> = {
  ministral3: "queries that grow with their position",
};

test("logits of each family's decoder over two ranks are those of one process", async () => {
  const decoders: string[] = [];
  for (const { name } of readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    const files = new Map<string, Uint8Array>([
      ["config.json", readFileSync(join(root, name, "config.json"))],
      ["model.safetensors", readFileSync(join(root, name, "model.safetensors"))],
      ["tokenizer.json", carrierTokenizer()],
    ]);
    const { model } = await modelFromFiles(files, { dtype: "float64" });
    if (!(model instanceof Decoder)) continue;
    const golden = readTensors(join(root, name, "golden.safetensors"));
    const [key] = [...golden.keys()].filter((one) => one.startsWith("ids."));
    const tokens = (golden.get(key) as Tensor).toFloat64();
    const [B, N] = (golden.get(key) as Tensor).shape;
    const expected = model.forward(tensor(Int32Array.from(tokens), [B, N], "int32"));
    const plan = shardSequence({ length: N, ranks: 2, isCausal: true });
    const run = localCluster(2, async (comm) => {
      const positions = plan.positions(comm.rank);
      const n = positions.length;
      const ids = Int32Array.from(
        { length: B * n },
        (_, i) => tokens[Math.floor(i / n) * N + positions[i % n]],
      );
      const logits = await model.forwardOver(new ContextTape(comm, plan), tensor(ids, [B, n], "int32"));
      const [got, want] = [logits.toFloat64(), plan.take(comm.rank, expected).toFloat64()];
      expect(got.length).toBe(want.length);
      return got.reduce((worst, x, i) => Math.max(worst, Math.abs(x - want[i])), 0);
    });
    decoders.push(name);
    if (name in REFUSED) {
      await expect(run).rejects.toThrow(UnsupportedError);
      await expect(run).rejects.toThrow(REFUSED[name]);
    } else for (const worst of await run) expect(worst, name).toBeLessThan(1e-11);
  }
  expect(decoders.length).toBeGreaterThan(25);
});
