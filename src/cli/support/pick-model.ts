/** The model whose attention is shown: one place that decides what runs where none is named. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { UnsupportedError } from "../../core/errors.ts";
import { locateShipped } from "../../models/locate.ts";
import type { AttentionModel } from "../../models/text-model.ts";
import type { UseLite } from "../../models/use-lite.ts";

/** What `--model` says, for `--help`. */
export const MODEL_HELP =
  "MODEL  encoder or decoder (the package's own), use-lite (an npm package of its own), or a model's folder (default: encoder)";

/** A model, and the sentence encoder behind it where it is one: that one can compare whole texts. */
export interface Picked {
  readonly model: AttentionModel;
  readonly sentences?: UseLite;
}

/**
 * The model that a name or a folder means: `encoder` and `decoder` of this package, `use-lite`, a Hugging Face directory
 * (`config.json`), or the folder of the Universal Sentence Encoder lite (`model.json`). Without one, the first that is here
 * of the package's encoder, its decoder, and the sentence encoder that is installed beside it.
 */
export async function pickModel(name?: string): Promise<Picked> {
  const folder = name === "encoder" || name === "decoder" ? locateShipped(name) : (name ?? shipped());
  if (folder !== undefined && existsSync(join(folder, "config.json"))) {
    const { readModel } = await import("../../models/files.ts");
    return { model: await readModel(folder) };
  }
  const [{ openUseLite }, { useLiteModel }] = await Promise.all([
    import("../../models/use-lite.ts"),
    import("../../models/text-model.ts"),
  ]);
  const sentences = openUseLite(folder === "use-lite" ? undefined : folder);
  return { model: useLiteModel(sentences), sentences };
}

function shipped(): string | undefined {
  for (const which of ["encoder", "decoder"] as const)
    try {
      return locateShipped(which);
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
    }
  return undefined;
}
