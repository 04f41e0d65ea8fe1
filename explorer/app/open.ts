/**
 * Opens attention from arrays, files or an address. The store reads the formats; this file reads an address, by byte ranges if
 * its server supports them.
 */
import { argumentError, FormatError, messageOf } from "../../src/core/errors.ts";
import type { ByteSource } from "../../src/io/source.ts";
import { openStore } from "../../src/store/formats/open.ts";
import type { HeadStore } from "../../src/store/head-store.ts";
import { type ComputeOptions, storeFrom } from "../../src/store/layout/from.ts";
import type { Openable } from "../../src/view/element.ts";
import { pageDevice } from "./device.ts";
import { blocksOf } from "./ranges/blocks.ts";
import { queuedRanges } from "./ranges/queue.ts";
import type { OpenSource } from "./sources.ts";
import { takeWorker } from "./workers.ts";

export type { Openable };

/** Stores compute in the workers of this build. */
const compute = (): ComputeOptions => ({ worker: () => pageDevice.add(takeWorker()) });

/** Opens arrays, a file, or bytes. */
export async function openAny(input: Openable, name?: string): Promise<HeadStore> {
  const isFiles = Array.isArray(input) && (input as readonly unknown[]).every((one) => one instanceof Blob);
  if (!isFiles && !(input instanceof Blob || input instanceof ArrayBuffer || input instanceof Uint8Array))
    if (Array.isArray(input) || typeof input !== "object" || !input || !("blocks" in input))
      throw argumentError(
        "attention-view",
        "arrays, { blocks: [{ layers: [{ query, key }] }] }, or a file: a Blob, an ArrayBuffer, a Uint8Array or a list of files",
        input,
      );
  const options = { ...compute(), ...(name !== undefined && { name }) };
  if (input instanceof Blob || input instanceof ArrayBuffer || input instanceof Uint8Array)
    return openStore(input, options);
  if ("blocks" in input) return storeFrom(input, compute());
  // One file has the arrays; a second one may have the tokens.
  const tokens = input.find((file) => /tokens?\.json$/i.test(file.name));
  const main = input.find((file) => file !== tokens) ?? tokens;
  if (main === undefined) throw new FormatError("empty", "attention-view: no file was given");
  return openStore(main, {
    ...compute(),
    ...(tokens !== undefined && main !== tokens && { tokens: await tokens.text() }),
  });
}

/** Chosen or dropped files as sources: one for each attention file, together with the file of tokens if there is one. */
export function sourcesOf(files: readonly File[]): OpenSource[] {
  const isTokens = ({ name }: File) => /tokens?\.json$/i.test(name);
  const tokens = files.filter(isTokens);
  const main = files.filter((file) => !isTokens(file));
  // A file of tokens alone is opened too, so that an error explains why it is refused.
  return (main.length > 0 ? main : tokens).map((file) => ({
    name: file.name,
    open: async () => {
      // A dropped folder is a file that cannot be read.
      await file
        .slice(0, 1)
        .arrayBuffer()
        .catch(() => {
          throw new FormatError(
            "unreadable",
            `openStore: ${file.name} is a folder, or a file that has changed. \`heed view --model ${file.name}\` opens a model's folder`,
          );
        });
      return openAny(isTokens(file) ? [file] : [file, ...tokens.slice(0, 1)]);
    },
  }));
}

/** The name of a file at an address is the last part of its path: the part after "?" may be a secret. */
export function nameOfAddress(address: string): string {
  try {
    const { pathname, hostname } = new URL(address, document.baseURI);
    const last = pathname.split("/").at(-1) || hostname;
    return decodeURIComponent(last);
  } catch {
    return address;
  }
}

/** Opens an address: by byte ranges if its server supports them, else with one request. */
export async function openAddress(
  address: string,
  signal: AbortSignal,
  progress: (done: number) => void,
  name = nameOfAddress(address),
): Promise<HeadStore> {
  const url = new URL(address, document.baseURI);
  const head = await fetch(url, { method: "HEAD", signal }).catch(() => undefined);
  const size = Number(head?.headers.get("content-length") ?? Number.NaN);
  if (head?.ok && head.headers.get("accept-ranges") === "bytes" && size > 0)
    return openStore(ranges(url, size), { ...compute(), name });
  const refuse = (why: string): never => {
    throw new FormatError(
      "fetch",
      `attention-view: ${name} could not be read: ${why}; check that the address is right and that the page may read it (CORS, Content-Security-Policy connect-src)`,
    );
  };
  const response = await fetch(url, { signal }).catch((error) =>
    signal.aborted ? Promise.reject(error) : refuse(messageOf(error)),
  );
  if (!response.ok || response.body === null)
    return refuse(`the server answered ${response.status} ${response.statusText}`.trim());
  const total = Number(response.headers.get("content-length") ?? 0);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let read = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    read += value.length;
    if (total > 0) progress(Math.min(1, read / total));
  }
  return openStore(new Blob(parts), { ...compute(), name });
}

/** Files of up to 1 MiB are read with one request: the requests of many heads take longer than their bytes. */
const SMALL = 2 ** 20;

/** A file at an address, read by byte ranges. */
function ranges(url: URL, size: number): ByteSource {
  let all: Promise<Uint8Array> | undefined;
  const part = async (offset: number, length: number) => {
    const response = await fetch(url, { headers: { Range: `bytes=${offset}-${offset + length - 1}` } });
    if (response.status !== 206)
      throw new FormatError(
        "fetch",
        `attention-view: ${url.pathname} could not be read: the server answered ${response.status} to bytes ${offset} to ${offset + length - 1}`,
      );
    return new Uint8Array(await response.arrayBuffer());
  };
  const queue = blocksOf(queuedRanges(size, part));
  return {
    size,
    async read(offset, length) {
      if (length === 0) return new Uint8Array(0);
      if (size > SMALL) return queue.read(offset, length);
      all ??= part(0, size).catch((error) => {
        all = undefined;
        throw error;
      });
      return (await all).slice(offset, offset + length);
    },
  };
}
