/** A local server with the protocol of the Hugging Face hub, and a second one that has the bytes of large files. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request, as a server received it. */
export interface HubRequest {
  readonly server: "hub" | "storage";
  readonly method: string;
  readonly path: string;
  readonly range?: string;
  readonly authorization?: string;
}

/** Responds to a request instead of the server and returns true, or returns false. */
export type Fault = (request: HubRequest, response: ServerResponse, n: number) => boolean;

/** A hub with one model. */
export class Hub {
  readonly requests: HubRequest[] = [];
  /** Files of the model; those in `large` are stored on the second server. */
  readonly files: Map<string, Uint8Array>;
  readonly large: ReadonlySet<string>;
  /** Called first for each request. */
  fault: Fault = () => false;
  /** Whether byte ranges are supported. */
  ranges = true;
  id = "org/model";
  commit = "89abcdef0123456789abcdef0123456789abcdef";
  /** Bytes that the storage sends instead of the file. */
  readonly sent = new Map<string, Uint8Array>();
  #hub!: Server;
  #storage!: Server;

  constructor(files: ReadonlyMap<string, Uint8Array>, large: Iterable<string> = ["model.safetensors"]) {
    this.files = new Map(files);
    this.large = new Set(large);
  }

  async start(): Promise<this> {
    const open = async (server: "hub" | "storage") => {
      const httpServer = createServer((request, response) => this.#answer(server, request, response));
      await new Promise<void>((resolve) => httpServer.listen(0, "127.0.0.1", resolve));
      return httpServer;
    };
    this.#hub = await open("hub");
    this.#storage = await open("storage");
    return this;
  }

  async stop(): Promise<void> {
    for (const server of [this.#hub, this.#storage]) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#hub.address() as AddressInfo).port}`;
  }

  get storage(): string {
    return `http://127.0.0.1:${(this.#storage.address() as AddressInfo).port}`;
  }

  /** The ETag of a file: SHA-256 of a large one, git's SHA-1 of another. */
  etag(name: string): string {
    const bytes = this.files.get(name) as Uint8Array;
    return this.large.has(name)
      ? createHash("sha256").update(bytes).digest("hex")
      : createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
  }

  #answer(server: HubRequest["server"], request: IncomingMessage, response: ServerResponse): void {
    const { method = "", headers, url = "" } = request;
    const path = url.replace(/\?.*/, "");
    const entry = { server, method, path, range: headers.range, authorization: headers.authorization };
    this.requests.push(entry);
    if (this.fault(entry, response, this.requests.length - 1)) return;
    if (server === "storage") {
      const name = path.slice(1);
      this.#send(request, response, this.sent.get(name) ?? (this.files.get(name) as Uint8Array), {});
      return;
    }
    if (path.startsWith(`/api/models/${this.id}/revision/`)) {
      const siblings = [...this.files].map(([rfilename, bytes]) => ({ rfilename, size: bytes.length }));
      const text = JSON.stringify({ id: this.id, sha: this.commit, siblings });
      response.writeHead(200, { "content-type": "application/json" }).end(text);
      return;
    }
    const prefix = `/${this.id}/resolve/${this.commit}/`;
    const name = path.startsWith(prefix) ? decodeURIComponent(path.slice(prefix.length)) : "";
    const bytes = this.files.get(name);
    if (bytes === undefined) {
      response.writeHead(404, { "x-error-code": "EntryNotFound" }).end("Entry not found");
      return;
    }
    const about = { "x-repo-commit": this.commit, etag: `"${this.etag(name)}"` };
    if (this.large.has(name)) {
      response.writeHead(302, {
        ...about,
        "x-linked-size": bytes.length,
        "x-linked-etag": `"${this.etag(name)}"`,
        location: `${this.storage}/${name}?signature=1`,
      });
      response.end();
    } else this.#send(request, response, this.sent.get(name) ?? bytes, about);
  }

  #send(request: IncomingMessage, response: ServerResponse, bytes: Uint8Array, more: object): void {
    const from = this.ranges ? Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0) : 0;
    if (from > 0 && from >= bytes.length) {
      response.writeHead(416, { "content-range": `bytes */${bytes.length}` }).end();
      return;
    }
    const range = { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` };
    response.writeHead(from > 0 ? 206 : 200, {
      ...more,
      "content-length": bytes.length - from,
      ...(from > 0 && range),
    });
    response.end(request.method === "HEAD" ? undefined : bytes.subarray(from));
  }
}

/**
 * Sends the first `count` bytes of a response, and closes the connection when `stored()`, the number of bytes that the client has
 * stored, shows that they have arrived: a client discards unread bytes when a connection breaks.
 */
export function breakAfter(
  response: ServerResponse,
  bytes: Uint8Array,
  from: number,
  count: number,
  stored: () => number,
): void {
  const headers = {
    "content-length": bytes.length - from,
    "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}`,
  };
  response.writeHead(from > 0 ? 206 : 200, headers);
  response.flushHeaders();
  response.write(bytes.subarray(from, from + count));
  const whenStored = () => {
    if (response.destroyed) return;
    if (stored() >= from + count) response.destroy();
    else setTimeout(whenStored, 2);
  };
  setTimeout(whenStored, 2);
}
