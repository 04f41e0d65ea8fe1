/** Opens the weights of a model's folder: safetensors, or a checkpoint of PyTorch; one file, or shards with their index. */

import { openSafetensors, openTorch, type SafetensorsFile } from "../../io/index.ts";
import { asBytes, refuser } from "../../io/refuse.ts";
import { readIndex } from "../../io/safetensors/open.ts";
import { WEIGHT_FILES } from "./contents.ts";
import type { ModelFiles } from "./sources.ts";

/** `maxBytes` limits the parameters together, so single tensors have no limit. */
const UNBOUNDED = { maxBytes: Number.POSITIVE_INFINITY };

/** Opens the weights that `names` prefers. */
export async function openWeights(
  files: ModelFiles,
  names: readonly string[] = WEIGHT_FILES,
): Promise<SafetensorsFile> {
  const name =
    names.find((name) => files.names.includes(name)) ??
    (names.find((name) => name.endsWith("model.safetensors")) as string);
  if (!name.endsWith(".json")) {
    const source = await files.source(name);
    return name.endsWith(".bin") ? openTorch(source, UNBOUNDED) : openSafetensors(source, UNBOUNDED);
  }
  const index = asBytes(name, await files.bytes(name));
  if (name.includes("safetensors"))
    return openSafetensors(index, { ...UNBOUNDED, shard: (name) => files.shard(name) });
  const shardOf = readIndex(index, refuser(name));
  const shards = new Map<string, SafetensorsFile>();
  try {
    for (const shard of new Set(shardOf.values()))
      shards.set(shard, await openTorch(await files.shard(shard), UNBOUNDED));
    const owner = (tensor: string) => shards.get(shardOf.get(tensor) ?? "");
    const tensors = new Map(
      [...shardOf.keys()].map((tensor) => {
        const info = owner(tensor)?.tensors.get(tensor);
        return [
          tensor,
          info ?? refuser(name)("index-missing", 0, "the index names it, its shard does not hold it", tensor),
        ];
      }),
    );
    return {
      metadata: new Map(),
      tensors,
      read: async (tensor, options) => (owner(tensor) ?? [...shards.values()][0]).read(tensor, options),
      close: async () => {
        for (const shard of shards.values()) await shard.close();
      },
    };
  } catch (error) {
    for (const shard of shards.values()) await shard.close();
    throw error;
  }
}
