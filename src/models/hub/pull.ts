/**
 * Downloads a model from the Hugging Face hub into the cache that Python's library uses, so that either finds what the other
 * downloaded. Nothing else in heed opens a connection to elsewhere (`client.ts`), and this only when it is called (Node).
 *
 *     GET  ENDPOINT/api/models/ID/revision/REVISION?blobs=true   the commit, and the files with their sizes
 *     HEAD ENDPOINT/ID/resolve/COMMIT/FILE                       ETag, size, and where the bytes are
 *     GET  that address, from byte n on                          into blobs/ETAG.incomplete
 *
 * A file counts as downloaded when its size and its hash are right: the ETag is the SHA-256 of a large file, and git's SHA-1 of
 * a small one. A broken download resumes where it stopped. The token is sent to the endpoint only, never to the servers that it
 * redirects to.
 */
import { checkCount, FormatError, formatValue, HeedError, UnsupportedError } from "../../core/errors.ts";
import { checkNames } from "../../core/option-names.ts";
import { lockFolder } from "../../io/filesystem/lock.ts";
import { builtin, fileError, fileSystem } from "../../io/filesystem/node.ts";
import { makeFolder, saveFile, writeAll } from "../../io/filesystem/save.ts";
import { Broken, Client, type ClientOptions, isFileName, type Place, within } from "./client.ts";
import { type Environment, type HubName, hubCache, hubName, isCommit, modelFolder } from "./names.ts";

/** Progress of a download. */
export interface PullProgress {
  readonly file: string;
  /** Bytes of all files that are downloaded. */
  readonly done: number;
  /** Bytes of all files. */
  readonly total: number;
}

/** Options of `pullModel`. */
export interface PullOptions extends ClientOptions {
  /** Called as bytes arrive. */
  readonly onProgress?: (progress: PullProgress) => void;
}

/** A downloaded model. */
export interface PulledModel {
  readonly name: string;
  readonly commit: string;
  /** The folder with config.json. */
  readonly directory: string;
  readonly files: readonly { readonly name: string; readonly size: number; readonly downloaded: number }[];
}

const WHAT = "pullModel";

/** Files in addition to the weights that heed reads, or that Python needs to open the model. */
const FILES = [
  "config.json",
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "tokenizer.model",
  "spiece.model",
  "spm.model",
  "sentencepiece.bpe.model",
  "source.spm",
  "target.spm",
  "chat_template.jinja",
  "preprocessor_config.json",
  "vocab.txt",
  "vocab.json",
  "merges.txt",
  "modules.json",
  "config_sentence_transformers.json",
  "sentence_bert_config.json",
  "1_Pooling/config.json",
];
const WEIGHTS = "model.safetensors";
const INDEX = "model.safetensors.index.json";
const TORCH_INDEX = "pytorch_model.bin.index.json";

/**
 * Downloads a model, or its missing files.
 *
 * @param name `ORG/NAME`, or `ORG/NAME@REVISION` for a branch, a tag or a commit; default main
 * @throws OptionError for an invalid name; UnsupportedError if the hub has no such model, denies access, or has no weights
 *   of a kind that heed reads; HeedError with code `network` if it cannot be reached; FormatError for wrong bytes
 * @example
 * const { directory } = await pullModel("sentence-transformers/all-MiniLM-L6-v2");
 */
export async function pullModel(name: string, options: PullOptions = {}): Promise<PulledModel> {
  checkCount("pullModel", arguments, 2);
  // biome-ignore format: a list
  checkNames(WHAT, options, ["onProgress", "env", "onRetry", "signal", "attempts", "stallSeconds", "retrySeconds"]);
  const hub = hubName(WHAT, name);
  const { env = process.env } = options;
  if (/^(1|true|yes|on)$/i.test(env.HF_HUB_OFFLINE ?? ""))
    throw new UnsupportedError(
      "offline",
      `${WHAT}: HF_HUB_OFFLINE forbids connections; unset it to download`,
    );
  const fs = fileSystem(WHAT);
  const { join } = builtin<typeof import("node:path")>("node:path")!;
  const client = new Client(hub, options, await tokenOf(env));
  const { commit, files } = await client.list();
  const wanted = chooseFiles(hub, [...files.keys()]);
  const folder = modelFolder(hubCache(env), hub);
  await makeFolder(join(folder, "blobs"));
  const unlock = await lockFolder(folder, "heed pull");
  try {
    const done: { name: string; size: number; downloaded: number }[] = [];
    const directory = join(folder, "snapshots", commit);
    let names = wanted;
    for (let i = 0; i < names.length; i++) {
      const before = done.reduce((sum, { size }) => sum + size, 0);
      const rest = names.slice(i + 1).reduce((sum, one) => sum + (files.get(one) ?? 0), 0);
      const file = names[i];
      const download = new Download(client, { folder, directory, commit, file }, (here, size) =>
        options.onProgress?.({ file, done: before + here, total: before + size + rest }),
      );
      done.push(await download.run());
      if (file === INDEX || file === TORCH_INDEX) {
        const shards = await shardsOf(join(directory, file));
        const missing = shards.find((shard) => !files.has(shard));
        if (missing !== undefined)
          throw new FormatError("index", `${WHAT}: ${hub.id} has no ${missing}, which its ${file} names`, {
            missing,
          });
        names = [...names, ...shards];
      }
    }
    if (!isCommit(hub.revision)) {
      const ref = join(folder, "refs", ...hub.revision.split("/"));
      await fs.mkdir(join(ref, ".."), { recursive: true });
      await saveFile(ref, new TextEncoder().encode(commit));
    }
    await unlock();
    return { name: hub.id, commit, directory, files: done };
  } catch (error) {
    // The first error is the one to report.
    await unlock().catch(() => undefined);
    const { syscall } = error as NodeJS.ErrnoException;
    throw syscall === undefined ? error : fileError(WHAT, "write the files of", folder, error);
  }
}

/** The files of a repository to download; shards follow later from the index. */
function chooseFiles({ id }: HubName, names: readonly string[]): string[] {
  // PyTorch's files, which readModel reads without running their code, where the model has no other.
  const weights = [WEIGHTS, INDEX, "pytorch_model.bin", TORCH_INDEX].find((one) => names.includes(one));
  if (weights === undefined)
    throw new UnsupportedError(
      "weights",
      `${WHAT}: ${id} has no ${WEIGHTS} and no pytorch_model.bin${names.some((one) => /\.gguf$/.test(one)) ? "; download one of its GGUF files into a folder of its own, which readModel opens" : ""}`,
      { id, files: names.slice(0, 50) },
    );
  if (!names.includes("config.json"))
    throw new UnsupportedError(
      "config",
      `${WHAT}: ${id} has no config.json; heed cannot know what model it is`,
      { id },
    );
  return [...FILES.filter((one) => names.includes(one)), weights];
}

/** The shards that an index names. */
async function shardsOf(path: string): Promise<string[]> {
  const text = await fileSystem(WHAT).readFile(path, "utf8");
  let map: unknown;
  try {
    map = JSON.parse(text).weight_map;
  } catch (error) {
    throw new FormatError("json", `${WHAT}: ${path} is not JSON: ${(error as Error).message}`, { path });
  }
  const shards = [...new Set(Object.values((map ?? {}) as object))];
  for (const shard of shards)
    if (typeof shard !== "string" || !isFileName(shard))
      throw new FormatError("index", `${WHAT}: ${path} names a shard ${formatValue(shard)}`, { path });
  return shards as string[];
}

/** HF_TOKEN, or the token that `hf auth login` wrote. */
async function tokenOf(env: Environment): Promise<string | undefined> {
  if (env.HF_TOKEN) return env.HF_TOKEN.trim();
  if (/^(1|true|yes|on)$/i.test(env.HF_HUB_DISABLE_IMPLICIT_TOKEN ?? "")) return undefined;
  const { dirname, join } = builtin<typeof import("node:path")>("node:path")!;
  const root =
    env.HF_HOME || dirname(hubCache({ ...env, HF_HUB_CACHE: undefined, HUGGINGFACE_HUB_CACHE: undefined }));
  const path = env.HF_TOKEN_PATH || join(root, "token");
  const text = await fileSystem(WHAT)
    .readFile(path, "utf8")
    .catch(() => "");
  return text.trim() || undefined;
}

/** A file of a snapshot, and the folder of its model in the cache. */
interface FilePlace {
  readonly folder: string;
  readonly directory: string;
  readonly commit: string;
  readonly file: string;
}

/** The download of one file into the cache. */
class Download {
  readonly #client: Client;
  readonly #at: FilePlace;
  readonly #onBytes: (done: number, size: number) => void;

  constructor(client: Client, at: FilePlace, onBytes: (done: number, size: number) => void) {
    this.#client = client;
    this.#at = at;
    this.#onBytes = onBytes;
  }

  /** Downloads the blob unless the cache has it, and links the snapshot to it. */
  async run(): Promise<{ name: string; size: number; downloaded: number }> {
    const { folder, directory, commit, file } = this.#at;
    const fs = fileSystem(WHAT);
    const { dirname, join, relative } = builtin<typeof import("node:path")>("node:path")!;
    const place = await this.#client.retry(file, () => this.#client.locate(commit, file));
    const blob = join(folder, "blobs", place.etag);
    const link = join(directory, ...file.split("/"));
    const here = await fs.stat(blob).catch(() => undefined);
    let downloaded = 0;
    if (here?.size !== place.size || !(await this.#isWhole(blob, place)))
      downloaded = await this.#download(blob, place);
    this.#onBytes(place.size, place.size);
    await fs.mkdir(dirname(link), { recursive: true });
    const target = relative(dirname(link), blob);
    if ((await fs.readlink(link).catch(() => undefined)) !== target) {
      await fs.rm(link, { force: true });
      // On Windows few users may create links: copy the file.
      await fs.symlink(target, link).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "EPERM" || error.code === "ENOSYS") return fs.copyFile(blob, link);
        throw fileError(WHAT, "link", link, error);
      });
    }
    return { name: file, size: place.size, downloaded };
  }

  /** Downloads a blob, resuming an earlier attempt; returns the number of bytes received. */
  async #download(blob: string, place: Place): Promise<number> {
    const fs = fileSystem(WHAT);
    const part = `${blob}.incomplete`;
    const { file } = this.#at;
    const length = async () => (await fs.stat(part).catch(() => undefined))?.size ?? 0;
    if ((await length()) > place.size) await fs.rm(part, { force: true });
    let done = await length();
    let received = 0;
    // If bytes of an earlier attempt turn out wrong, they are deleted and the download starts again, once.
    for (let again = done > 0; ; again = false) {
      await this.#client.retry(
        file,
        async () => {
          done = await length();
          if (done === place.size) return;
          received += await this.#stream(part, place, done, (now) => {
            done = now;
          });
        },
        () => done,
      );
      if (place.size === 0) await fs.writeFile(part, "");
      if (await this.#isWhole(part, place)) break;
      await fs.rm(part, { force: true });
      done = 0;
      if (!again)
        throw new FormatError(
          "checksum",
          `${WHAT}: the bytes of ${file} do not have the hash that the hub names (${place.etag}); nothing of them is kept`,
          { file, expected: place.etag },
        );
    }
    await fs.rename(part, blob);
    return received;
  }

  /** One connection: appends its bytes to `part`. Throws `Broken` if it ends early. */
  async #stream(
    part: string,
    { url, size }: Place,
    from: number,
    onProgress: (done: number) => void,
  ): Promise<number> {
    const fs = fileSystem(WHAT);
    const { signal, stallSeconds = 30 } = this.#client.options;
    const response = await this.#client.open(url, from);
    if (response.status === 416) {
      await response.body?.cancel();
      await fs.rm(part, { force: true });
      throw new Broken("the server has no such range");
    }
    let at = from;
    if (response.status === 200) at = 0;
    else if (response.status === 206) {
      const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get("content-range") ?? "");
      if (range === null || Number(range[1]) !== from || (range[2] !== "*" && Number(range[2]) !== size)) {
        await response.body?.cancel();
        throw new Broken(`the server sent another range (${response.headers.get("content-range")})`);
      }
    } else
      throw new HeedError("network", `${WHAT}: ${url.href} answered ${response.status}`, { url: url.href });
    let file: Awaited<ReturnType<typeof fs.open>>;
    try {
      file = await fs.open(part, at === 0 ? "w" : "r+");
    } catch (error) {
      throw fileError(WHAT, "write", part, error);
    }
    const start = at;
    const reader = response.body?.getReader();
    try {
      while (reader) {
        const { done, value } = await within(reader.read(), stallSeconds, signal);
        if (done) break;
        if (at + value.length > size)
          throw new FormatError(
            "size",
            `${WHAT}: ${url.href} sends more than the ${size} bytes that the hub names`,
          );
        await writeAll(file, value, at).catch((error) => {
          throw fileError(WHAT, "write", part, error);
        });
        at += value.length;
        onProgress(at);
        this.#onBytes(at, size);
      }
      await file.sync();
    } finally {
      // An open connection would keep the process alive. An error about one that is already broken is ignored.
      await reader?.cancel().catch(() => {});
      await file.close();
    }
    if (at < size) throw new Broken(`the connection ended after ${at} of ${size} bytes`);
    return at - start;
  }

  /** Whether a file has the size and the hash of its ETag, SHA-256 or git's SHA-1. Other ETags are not hashes. */
  async #isWhole(path: string, { etag, size }: Place): Promise<boolean> {
    const fs = fileSystem(WHAT);
    const { createHash } = builtin<typeof import("node:crypto")>("node:crypto")!;
    const stat = await fs.stat(path).catch(() => undefined);
    if (stat?.size !== size) return false;
    const hash = /^[0-9a-f]{64}$/.test(etag)
      ? createHash("sha256")
      : isCommit(etag)
        ? createHash("sha1").update(`blob ${size}\0`)
        : undefined;
    if (hash === undefined) return true;
    const file = await fs.open(path, "r");
    try {
      for await (const piece of file.createReadStream({ autoClose: false })) {
        hash.update(piece as Uint8Array);
        this.#client.options.signal?.throwIfAborted();
      }
    } finally {
      await file.close();
    }
    return hash.digest("hex") === etag;
  }
}
