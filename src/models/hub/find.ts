/**
 * Finds the folder of a model: one that this package ships, a folder, or a name on the Hugging Face hub, which is looked up in
 * the cache of Hugging Face's Python library. Nothing is downloaded here (`pull.ts` does).
 */
import {
  checkCount,
  FormatError,
  formatValue,
  OptionError,
  refuseGot,
  UnsupportedError,
} from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import { builtin } from "../../io/filesystem/node.ts";
import { readConfig } from "../families/read-config.ts";
import { missingFiles, refuseContents } from "../files/contents.ts";
import { locateShipped, SHIPPED } from "../files/locate.ts";
import { type Environment, hubCache, isCommit, modelFolder, readHubName } from "./names.ts";

/** A model's files. */
export interface FoundModel {
  /** The folder with config.json. */
  readonly directory: string;
  /** Name of the model. */
  readonly name: string;
  /** The folder that must contain the targets of links: the model's folder in the cache, or `directory`. */
  readonly within: string;
}

/** Start of the names of models' folders in the cache. */
const MODELS = "models--";

/**
 * The folder of a model (Node).
 *
 * @param name `encoder`, `decoder` or `translator`, a folder, or `ORG/NAME` (also `ORG/NAME@REVISION`) in Hugging Face's cache
 * @param env  where HF_HUB_CACHE and HF_HOME are looked up; default the process's
 * @throws OptionError for an invalid name; UnsupportedError if there is no such model, with the places searched; FormatError for
 *   a folder without config.json, with its contents
 * @example
 * const { directory, within, name } = findModel("sentence-transformers/all-MiniLM-L6-v2");
 * const model = await readModel(directory, { within, name });
 */
export function findModel(name: string, env: Environment = process.env): FoundModel {
  checkCount("findModel", arguments, 2);
  const { existsSync, statSync } = builtin<typeof import("node:fs")>("node:fs")!;
  const { basename, dirname, resolve } = builtin<typeof import("node:path")>("node:path")!;
  checkKind("findModel", "env", "an object", env);
  if (typeof name !== "string" || name === "") refuseGot("model", "model must be a name or a folder", name);
  const shipped = SHIPPED.find((one) => one === name);
  if (shipped !== undefined) {
    const directory = locateShipped(shipped);
    return { directory, name, within: directory };
  }
  if (existsSync(name)) {
    if (!statSync(name).isDirectory())
      throw new OptionError(
        "model",
        `${name} is a file; a model is a folder with config.json, tokenizer.json and model.safetensors: name the folder (${dirname(name)})`,
        { path: name },
      );
    checkFolder(name);
    const [parent, folder] = [dirname(resolve(name)), basename(resolve(name))];
    // A folder named "model" says which model it is by the folder around it.
    const label = /^(model|checkpoint(-\d+)?)$/i.test(folder) ? `${basename(parent)}/${folder}` : folder;
    return { directory: name, name: label, within: name };
  }
  const hub = readHubName(name);
  if (hub === undefined || /^[./~]|[\\]/.test(name))
    throw new UnsupportedError(
      "model-missing",
      `there is no folder ${name}. A model is encoder, decoder or translator (in this package), a folder with config.json, tokenizer.json and model.safetensors, or ORG/NAME in Hugging Face's cache`,
      { model: name },
    );
  const cache = hubCache(env);
  const folder = modelFolder(cache, hub);
  const snapshot = snapshotOf(folder, hub.revision);
  if (snapshot === undefined) {
    const has = existsSync(folder)
      ? `has ${hub.id}, but not its revision ${hub.revision}`
      : `has no ${hub.id}`;
    throw new UnsupportedError(
      "model-missing",
      `there is no folder ${name}, and Hugging Face's cache (${cache}) ${has}; "heed pull ${name}" downloads it. The models in this package are ${SHIPPED.join(", ")}`,
      { model: name, cache },
    );
  }
  checkFolder(snapshot, `; "heed pull ${name}" downloads what is missing`);
  return { directory: snapshot, name: hub.id, within: folder };
}

/** The names of the models in this package and in Hugging Face's cache, if there is one that can be read. */
export function knownModels(env: Environment = process.env): string[] {
  const { readdirSync } = builtin<typeof import("node:fs")>("node:fs")!;
  let folders: string[] = [];
  try {
    folders = readdirSync(hubCache(env));
  } catch {
    // There is no cache, or it may not be read.
  }
  const cached = folders.filter((name) => name.startsWith(MODELS));
  return [...SHIPPED, ...cached.map((name) => name.slice(MODELS.length).replace("--", "/"))];
}

/** The folder of a revision in the cache, or undefined. */
function snapshotOf(folder: string, revision: string): string | undefined {
  const { existsSync, readFileSync } = builtin<typeof import("node:fs")>("node:fs")!;
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const ref = join(folder, "refs", ...revision.split("/"));
  let commit = revision;
  if (!isCommit(revision)) {
    if (!existsSync(ref)) return undefined;
    commit = readFileSync(ref, "utf8").trim();
    // A reference is the name of a snapshot folder, and never a path.
    if (!/^[\w-]{1,64}$/.test(commit))
      throw new FormatError("hub-ref", `${ref} must hold a commit, got ${formatValue(commit.slice(0, 80))}`, {
        path: ref,
      });
  }
  const directory = join(folder, "snapshots", commit);
  return existsSync(directory) ? directory : undefined;
}

/** Throws unless a folder has the files that `readModel` reads. config.json is read first: it says what the model is. */
export function checkFolder(directory: string, advice = ""): void {
  const { readdirSync, readFileSync } = builtin<typeof import("node:fs")>("node:fs")!;
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const names = readdirSync(directory);
  // Models of pictures have no tokenizer.
  const readsPictures = names.some((one) => /^(?:pre)?processor_config\.json$/.test(one));
  const missing = missingFiles(names, !readsPictures);
  if (missing.length === 0) return;
  const path = join(directory, "config.json");
  if (!missing.includes("config.json"))
    try {
      readConfig(readFileSync(path));
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error;
      throw new UnsupportedError(error.code, error.message.replace(/^config\.json/, path), {
        ...error.fields,
        path,
      });
    }
  refuseContents(directory, names, missing, advice);
}
