/** Where the files of a model come from: a folder (Node) or bytes by name. */

import { FormatError, OptionError, UnsupportedError } from "../../core/errors.ts";
import { checkKind } from "../../core/option-names.ts";
import { builtin, fileError, fileSystem } from "../../io/filesystem/node.ts";
import type { SourceLike } from "../../io/index.ts";
import { checkSize } from "../../io/limit.ts";
import { GIT_LFS_ADVICE, isGitLfsPointer } from "../../io/safetensors/header.ts";
import { shardsBeside } from "../../io/safetensors/open.ts";

/** Largest config.json or tokenizer that is read into memory. */
const MAX_TEXT = 64 * 2 ** 20;

/** The files of a model, by name. */
export interface ModelFiles {
  /** Name of the function that reads them. */
  readonly what: string;
  /** What errors call the files: the path of the folder; empty for bytes. */
  readonly label: string;
  readonly names: readonly string[];
  /** The bytes of a file. */
  bytes(name: string): Promise<Uint8Array>;
  /** A file to read in part. */
  source(name: string): Promise<SourceLike>;
  /** A file that an index names, to read in part. Throws for a link that leaves the folder. */
  shard(name: string): Promise<SourceLike>;
  /** Runs a reader of a file, or of all of them. Errors about what a file contains then start with its path. */
  inFile<T>(name: string | undefined, read: () => T | Promise<T>): Promise<T>;
}

/** The files of a folder. `within` is the folder that must contain the targets of links. */
export async function filesOfFolder(what: string, directory: string, within?: string): Promise<ModelFiles> {
  checkKind(what, "directory", "a text", directory);
  if (within !== undefined) checkKind(what, "within", "a text", within);
  const fs = fileSystem(what);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const stat = await fs.stat(directory).catch(() => undefined);
  if (!stat?.isDirectory())
    throw new OptionError(
      "file",
      `${what}: ${stat === undefined ? "there is no folder" : "not a folder:"} ${directory}; give the path of one with config.json, tokenizer.json and model.safetensors. Nothing is downloaded: findModel(name) finds a model in Hugging Face's cache, "heed pull ORG/NAME" puts it there`,
      { path: directory },
    );
  return {
    what,
    label: directory,
    names: await fs.readdir(directory),
    source: async (name) => join(directory, name),
    shard: shardsBeside(join(directory, "model"), within),
    async bytes(name) {
      const path = join(directory, name);
      try {
        const { size } = await fs.stat(path);
        checkSize(what, path, size, MAX_TEXT);
        const bytes = await fs.readFile(path);
        if (isGitLfsPointer(bytes)) throw new FormatError("git-lfs", `${path}: ${GIT_LFS_ADVICE}`, { path });
        return bytes;
      } catch (error) {
        throw fileError(what, "read", path, error);
      }
    },
    inFile: (name, read) => withPath(name === undefined ? directory : join(directory, name), read),
  };
}

/** Files in memory. */
export function filesOfMap(what: string, files: ReadonlyMap<string, Uint8Array>): ModelFiles {
  const read = async (name: string): Promise<Uint8Array> => {
    const bytes = files.get(name);
    if (bytes === undefined)
      throw new OptionError(
        "files",
        `${what}: ${name} is missing; there are ${[...files.keys()].join(", ") || "no files"}`,
        { name },
      );
    return bytes;
  };
  return {
    what,
    label: "",
    names: [...files.keys()],
    bytes: read,
    source: read,
    shard: read,
    inFile: async (_, read) => read(),
  };
}

async function withPath<T>(path: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isContent = error instanceof FormatError || error instanceof UnsupportedError;
    if (!isContent || error.fields.path === path || error.message.startsWith(path)) throw error;
    const text = error.message.replace(
      /^(?:(?:readModel|openSafetensors|openTorch|openGguf|readTokenizer): )?(?:config(?:\.json)?: )?/,
      "",
    );
    const Kind = error instanceof FormatError ? FormatError : UnsupportedError;
    throw new Kind(error.code, `${path}: ${text}`, { ...error.fields, path });
  }
}

/** A file of the model that must be a JSON object. */
export function readJson(files: ModelFiles, name: string): Promise<Record<string, unknown>> {
  return files.inFile(name, async () => {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder().decode(await files.bytes(name)));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new FormatError("json", `${name}: ${error.message}`);
    }
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new FormatError("json", `${name}: expected a JSON object`);
    return value as Record<string, unknown>;
  });
}
