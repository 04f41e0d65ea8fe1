/**
 * Requests to the Hugging Face hub: the list of a model's files, the location of a file's bytes, and the bytes. Broken
 * connections are retried; the token is sent to the endpoint only. `pull.ts` decides what to request.
 */
import { FormatError, formatValue, HeedError, refuseGot, UnsupportedError } from "../../core/errors.ts";
import { type Environment, type HubName, isCommit } from "./names.ts";

/** Options of a client. */
export interface ClientOptions {
  /** HF_ENDPOINT, HF_TOKEN, HF_HUB_CACHE, HF_HOME and HF_HUB_OFFLINE are read from here; default the process's. */
  readonly env?: Environment;
  /** Called before a broken connection is retried. */
  readonly onRetry?: (message: string) => void;
  readonly signal?: AbortSignal;
  /** Consecutive failures without a byte received before a file is given up; default 5. */
  readonly attempts?: number;
  /** Seconds without a byte before a connection counts as broken; default 30. */
  readonly stallSeconds?: number;
  /** Seconds before the second attempt, doubled for each later one. Default 1. */
  readonly retrySeconds?: number;
}

const WHAT = "pullModel";
const ENDPOINT = "https://huggingface.co";
/** Maximum redirects of one file. */
const MAX_REDIRECTS = 8;
const MAX_LIST = 32 * 2 ** 20;

/** True for a path in a repository that is safe as a path in a folder. */
export const isFileName = (name: string): boolean =>
  name.length < 512 &&
  name.split("/").every((part) => /^[^\\:*?"<>|\0]{1,200}$/.test(part) && part !== "." && part !== "..");

/** The location of a file's bytes, and their expected ETag and size. */
export interface Place {
  readonly url: URL;
  readonly etag: string;
  readonly size: number;
}

const badAnswer = ({ href: url }: URL, what: string) =>
  new FormatError("hub", `${WHAT}: ${url} ${what}`, { url });

const tooManyRedirects = ({ href: url }: URL) =>
  new HeedError("network", `${WHAT}: ${url} redirects more than ${MAX_REDIRECTS} times`, { url });

/** Requests to the hub. */
export class Client {
  readonly hub: HubName;
  readonly options: ClientOptions;
  readonly #endpoint: URL;
  readonly #token: string | undefined;

  constructor(hub: HubName, options: ClientOptions, token: string | undefined) {
    this.hub = hub;
    this.options = options;
    this.#token = token;
    const { HF_ENDPOINT = "" } = options.env ?? process.env;
    const text = HF_ENDPOINT || ENDPOINT;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      refuseGot("endpoint", `${WHAT}: HF_ENDPOINT must be an http or https address`, text);
    this.#endpoint = new URL(url.href.replace(/\/*$/, "/"));
  }

  /** The commit of the revision, and the files with their sizes. */
  async list(): Promise<{ commit: string; files: ReadonlyMap<string, number> }> {
    const { id, revision } = this.hub;
    const url = new URL(
      `api/models/${id}/revision/${encodeURIComponent(revision)}?blobs=true`,
      this.#endpoint,
    );
    return this.retry(`the list of files of ${id}`, async () => {
      const response = await this.open(url, 0);
      const text = await readText(response, MAX_LIST);
      let answer: { sha?: unknown; siblings?: unknown } | null;
      try {
        answer = JSON.parse(text);
      } catch (error) {
        const reason = (error as Error).message;
        // The beginning of JSON was cut off by the connection; a page of text comes again.
        if (/^\s*\{/.test(text)) throw new Broken(`its answer is not JSON: ${reason}`);
        throw new FormatError("hub", `${WHAT}: the answer of ${url.href} is not JSON: ${reason}`, {
          url: url.href,
        });
      }
      const { sha, siblings } = answer ?? {};
      if (typeof sha !== "string" || !isCommit(sha) || !Array.isArray(siblings))
        throw badAnswer(url, "answered without a commit and a list of files");
      const files = new Map<string, number>();
      for (const [n, entry] of siblings.entries()) {
        if (typeof entry !== "object" || entry === null)
          throw badAnswer(
            url,
            `answered with a list of files whose entry ${n} is ${formatValue(entry)}, not a file`,
          );
        const { rfilename, size } = entry as { rfilename?: unknown; size?: unknown };
        if (typeof rfilename === "string" && isFileName(rfilename))
          files.set(rfilename, Number.isSafeInteger(size) ? (size as number) : 0);
      }
      return { commit: sha, files };
    });
  }

  /** Locates a file's bytes: redirects within the endpoint are followed, and one to another origin is the location. */
  async locate(commit: string, file: string): Promise<Place> {
    const path = file.split("/").map(encodeURIComponent).join("/");
    let url = new URL(`${this.hub.id}/resolve/${commit}/${path}`, this.#endpoint);
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const response = await this.request("HEAD", url);
      const { headers } = response;
      const target = headers.get("location");
      const to = response.status >= 300 && target ? this.#redirected(url, target) : undefined;
      const etag = (headers.get("x-linked-etag") ?? headers.get("etag") ?? "")
        .replace(/^W\//, "")
        .replace(/^"(.*)"$/, "$1");
      if (to !== undefined && !headers.has("x-linked-etag") && to.origin === this.#endpoint.origin) {
        url = to;
        continue;
      }
      const size = Number(
        headers.get("x-linked-size") ?? (to ? Number.NaN : (headers.get("content-length") ?? Number.NaN)),
      );
      if (!/^[\w-]{8,128}$/.test(etag) || !(Number.isSafeInteger(size) && size >= 0))
        throw badAnswer(url, "answered without an ETag and a size");
      return { url: to ?? url, etag, size };
    }
    throw tooManyRedirects(url);
  }

  /** Requests the bytes of a location from offset `from`; redirects are followed. */
  async open(place: URL, from: number): Promise<Response> {
    let url = place;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      const response = await this.request("GET", url, from > 0 ? { Range: `bytes=${from}-` } : {});
      const target = response.headers.get("location");
      if (response.status < 300 || response.status === 416 || !target) return response;
      await response.body?.cancel();
      url = this.#redirected(url, target);
    }
    throw tooManyRedirects(place);
  }

  #redirected(from: URL, target: string): URL {
    const url = URL.canParse(target, from) ? new URL(target, from) : undefined;
    // Never from https to http: only the connection protects the bytes of small files.
    if (
      url === undefined ||
      !/^https?:$/.test(url.protocol) ||
      (from.protocol === "https:" && url.protocol !== "https:")
    )
      throw badAnswer(from, `redirects to ${formatValue(target)}`);
    return url;
  }

  /** One request. Throws `Broken` for a failure that a retry may fix, and typed errors for others. */
  async request(method: string, url: URL, more: Record<string, string> = {}): Promise<Response> {
    const { signal, stallSeconds = 30 } = this.options;
    const headers: Record<string, string> = { "User-Agent": "heed", "Accept-Encoding": "identity", ...more };
    if (this.#token !== undefined && url.origin === this.#endpoint.origin)
      headers.Authorization = `Bearer ${this.#token}`;
    const timer = new AbortController();
    const timeout = setTimeout(() => timer.abort(), stallSeconds * 1e3);
    let response: Response;
    try {
      // The body has its own timeout.
      response = await fetch(url, {
        method,
        headers,
        redirect: "manual",
        signal: signal === undefined ? timer.signal : AbortSignal.any([signal, timer.signal]),
      });
    } catch (error) {
      signal?.throwIfAborted();
      const cause = (error as { cause?: NodeJS.ErrnoException }).cause;
      const why = timer.signal.aborted
        ? `no answer in ${stallSeconds} s`
        : (cause?.code ?? cause?.message ?? (error as Error).message);
      throw new Broken(`cannot reach ${url.origin}: ${why}`);
    } finally {
      clearTimeout(timeout);
    }
    if (response.status < 400 || response.status === 416) return response;
    await response.body?.cancel();
    throw this.#refused(response, url);
  }

  #refused({ status, headers }: Response, url: URL): Error {
    const { id, revision } = this.hub;
    const code = headers.get("x-error-code") ?? "";
    const fields = { status, url: url.href };
    if (status === 408 || status === 429 || status >= 500)
      return new Broken(`${url.origin} answered ${status}`);
    const advice =
      this.#token === undefined
        ? "set HF_TOKEN to a token that has access"
        : "the token that was sent has no access";
    if (code === "GatedRepo" || status === 403)
      return new UnsupportedError(
        "hub-access",
        `${WHAT}: ${id} is gated (HTTP ${status}): accept its terms on its page at ${url.origin}/${id}; ${advice}`,
        fields,
      );
    if (code === "RevisionNotFound")
      return new UnsupportedError("hub-missing", `${WHAT}: ${id} has no revision ${revision}`, fields);
    // The hub also answers 401 for a missing model, so as not to reveal which private models exist.
    if (status === 401)
      return new UnsupportedError(
        "hub-access",
        `${WHAT}: ${url.origin} knows no model ${id}, or it is private (HTTP 401): check the name; ${advice}`,
        fields,
      );
    if (status === 404)
      return new UnsupportedError(
        "hub-missing",
        `${WHAT}: ${url.origin} has no ${code === "EntryNotFound" ? `such file of ${id}` : `model ${id}`} (HTTP 404): ${url.href}`,
        fields,
      );
    return new HeedError("network", `${WHAT}: ${url.href} answered ${status}`, fields);
  }

  /** Retries work after a broken connection; if `progress` has increased, the count of failures starts again. */
  async retry<T>(what: string, work: () => Promise<T>, progress: () => number = () => 0): Promise<T> {
    const { attempts = 5, retrySeconds = 1, signal, onRetry } = this.options;
    let failures = 0;
    for (let last = progress(); ; ) {
      try {
        return await work();
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof Broken)) throw error;
        const now = progress();
        failures = now > last ? 1 : failures + 1;
        last = now;
        if (failures >= attempts)
          throw new HeedError(
            "network",
            `${WHAT}: cannot get ${what}: ${error.message}${now > 0 ? `; ${now} bytes are kept, and the next pull resumes after them` : ""}`,
            { attempts },
          );
        onRetry?.(`${what}: ${error.message}; trying again`);
        await pause(retrySeconds * 2 ** (failures - 1), signal);
      }
    }
  }
}

/** A broken connection or a busy server: the request may be retried. */
export class Broken extends Error {}

/** A promise with a timeout. */
export async function within<T>(
  promise: Promise<T>,
  seconds: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Broken(`no data for ${seconds} s`)), seconds * 1e3);
    stop = () => reject(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([
      promise.catch((error) => {
        throw error instanceof HeedError ? error : new Broken((error as Error).message);
      }),
      late,
    ]);
  } finally {
    clearTimeout(timer);
    if (stop) signal?.removeEventListener("abort", stop);
  }
}

async function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, seconds * 1e3);
    const stop = () => {
      clearTimeout(timer);
      resolve();
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
  signal?.throwIfAborted();
}

/** A body as text, of at most `limit` bytes. */
async function readText(response: Response, limit: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  while (reader) {
    const { done, value } = await within(reader.read(), 30, undefined);
    if (done) break;
    length += value.length;
    if (length > limit) throw new FormatError("hub", `${WHAT}: an answer of more than ${limit} bytes`);
    pieces.push(value);
  }
  return Buffer.concat(pieces).toString("utf8");
}
