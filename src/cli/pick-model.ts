/** The model whose attention is shown, by the folder it lies in: one place that decides what runs where none is named. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UnsupportedError } from "../core/errors.ts";
import { locateShipped } from "../models/locate.ts";
import type { AttentionModel } from "../models/text-model.ts";

/**
 * The model of a folder: a Hugging Face directory (`config.json`) or the Universal Sentence Encoder lite's (`model.json`).
 * Without a folder the encoder that the package ships, else the sentence encoder that is installed beside it.
 */
export async function pickModel(directory?: string): Promise<AttentionModel> {
  const folder = directory ?? shippedEncoder();
  if (folder !== undefined && existsSync(join(folder, "config.json"))) {
    const { readModel } = await import("../models/files.ts");
    return readModel(folder);
  }
  const [{ openUseLite }, { useLiteModel }] = await Promise.all([
    import("../models/use-lite.ts"),
    import("../models/text-model.ts"),
  ]);
  return useLiteModel(openUseLite(directory));
}

function shippedEncoder(): string | undefined {
  try {
    return locateShipped("encoder");
  } catch (error) {
    if (error instanceof UnsupportedError) return undefined;
    throw error;
  }
}
