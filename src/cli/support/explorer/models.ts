/**
 * The models on this machine that the page of `heed view` offers: the package's own, those in Hugging Face's cache, and those in a folder
 * that the user names. Each is loaded when it first reads a text.
 */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { UnsupportedError } from "../../../core/errors.ts";
import { findModel, knownModels } from "../../../models/hub/find.ts";
import type { TextModel } from "../../../models/text-model.ts";
import type { FileModel } from "../../../server/content.ts";
import { type Io, UsageError } from "../line/command.ts";
import type { PageModel } from "./explore.ts";

/** The model of the captured sentences on the Hugging Face hub, and its layers and heads. */
export const CAPTURED = "sentence-transformers/all-MiniLM-L6-v2";
const CAPTURED_SIZE = { layers: 6, heads: 12 } as const;

/** The package's model that reads texts by default. */
const DEFAULT = "encoder";

/** A function that loads a model in its first call, and again after a failure. */
export function modelLoader(name: string | undefined, io: Pick<Io, "stderr">): () => Promise<TextModel> {
  let loading: Promise<TextModel> | undefined;
  return () => {
    loading ??= import("../input/pick-model.ts")
      .then(({ pickModel }) => pickModel(name, io))
      .catch((error) => {
        loading = undefined;
        throw error;
      });
    return loading;
  };
}

/** A model as a reader of the page's texts, which calls it by its name, not by its path. */
export function readerOf(name: string, load: () => Promise<TextModel>): PageModel {
  return {
    name: nameOf(name) ?? name,
    run: async (text) => {
      const [model, { fileOfRun }] = await Promise.all([load(), import("../input/model-bundle.ts")]);
      return fileOfRun(model, model.attention(text));
    },
  };
}

/** Names by which `findModel` finds the models of a folder and of the cache. */
function namesIn(folder: string | undefined): string[] {
  let inFolder: string[] = [];
  if (folder !== undefined)
    try {
      inFolder = readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
        .map(({ name }) => join(folder, name));
    } catch (error) {
      throw new UsageError(`--models: ${folder} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  return [...knownModels(), ...inFolder];
}

/** How a model is called, not its path; undefined where it is missing, an incomplete download, or a folder of something else. */
function nameOf(name: string): string | undefined {
  try {
    return findModel(name).name;
  } catch {
    return undefined;
  }
}

/** The models besides the one that reads by default. */
export function otherModels(
  chosen: string | undefined,
  folder: string | undefined,
  io: Pick<Io, "stderr">,
): PageModel[] {
  return namesIn(folder)
    .filter((name) => name !== (chosen ?? DEFAULT) && nameOf(name) !== undefined)
    .map((name) => readerOf(labelOf(name, folder), modelLoader(name, io)));
}

const labelOf = (name: string, folder: string | undefined) =>
  folder !== undefined && name.startsWith(folder) ? basename(name) : name;

/** The model behind a captured sentence, if this machine has it; it is loaded when it is first asked. */
export function capturedModel(
  folder: string | undefined,
  io: Pick<Io, "stderr">,
): ((text: string) => FileModel) | undefined {
  const match = namesIn(folder).find(
    (name) => basename(name) === basename(CAPTURED) && nameOf(name) !== undefined,
  );
  if (match === undefined) return undefined;
  const load = modelLoader(match, io);
  return (text) => {
    const modelOf = async () => {
      const [model, { fileModel }] = await Promise.all([load(), import("../input/model-bundle.ts")]);
      const { layers, heads } = CAPTURED_SIZE;
      if (model.layers !== layers || model.heads !== heads)
        throw new UnsupportedError(
          "model",
          `${match} has ${model.layers} layers of ${model.heads} heads, the model of this sentence ${layers} of ${heads}: it is another one`,
        );
      return fileModel(model, { texts: [text] });
    };
    return {
      name: basename(CAPTURED),
      predicts: "none",
      text,
      ablate: async (heads, position) => (await modelOf()).ablate(heads, position),
      attention: async (heads) => (await modelOf()).attention(heads),
      answer: async (question) => (await modelOf()).answer!(question),
    };
  };
}
