/**
 * The local server of the explorer: pages from a map that is built when the server starts, and the user's files by opaque
 * id. The path of a request is never joined to a folder, so path traversal is impossible. The server listens on loopback,
 * on a free port, and gives data only to requests with the token of the printed address. Node only.
 *
 * Node parses requests (llhttp, strict) and policy.ts decides which are allowed. Leaves to others: the list of pages
 * (assets.ts), the list of files (the command line).
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { setImmediate } from "node:timers/promises";
import { messageOf, OptionError } from "../core/errors.ts";
import { openSource, type Source, type SourceLike } from "../io/source.ts";
import {
  authorities,
  decide,
  HEADERS,
  type Refusal,
  type RequestedHead,
  rangeOf,
  WASM_HEADERS,
} from "./policy.ts";

/** A page, script or stylesheet: its media type and its bytes. */
export interface Page {
  readonly type: string;
  readonly body: Uint8Array;
  /** The content security policy allows WebAssembly, for this page or for the worker that runs this script. */
  readonly wasm?: boolean;
}

/** A file that a run of a model made. */
export interface MadeFile {
  readonly name: string;
  readonly source: SourceLike;
  /** The model that made it. */
  readonly model?: FileModel;
}

/** The model that made a file. It can run on the file's text again, with heads ablated. */
export interface FileModel {
  readonly name: string;
  /** The tokens that the model predicts: the next one, masked ones, or none. */
  readonly predicts: "next" | "masked" | "none";
  /** Returns the prediction with these heads ablated, as plain values. */
  readonly ablate: (heads: readonly RequestedHead[], position: number | null) => Promise<object>;
  /** Returns the attention of a run with these heads ablated. */
  readonly attention: (heads: readonly RequestedHead[]) => Promise<MadeFile>;
}

/** The pages, files and models that a server offers. */
export interface ServerContent {
  /** By path: `/` and the files it needs. */
  readonly pages: ReadonlyMap<string, Page>;
  /** The user's files by id (letters, digits, `-` and `_`): `/data/ID?token=…`, whole or by byte range. */
  readonly data?: ReadonlyMap<string, SourceLike>;
  /** The models of files of `data`, by the same ids: `/ablate/ID?token=…&heads=…`. */
  readonly models?: ReadonlyMap<string, FileModel>;
  /** Runs a model on a text that the page sends. Undefined: the page cannot send a text. */
  readonly text?: (text: string) => Promise<MadeFile>;
}

/** Where a server listens, and its limits. */
export interface ServerOptions {
  /** Port; a free one by default. */
  readonly port?: number;
  /** The address to listen on in place of loopback: `0.0.0.0`, or an address of this machine. Other machines can reach it. */
  readonly host?: string;
  /**
   * Maximum number of open connections, 64 by default. A further connection replaces one that never sent the token: the
   * one whose last complete response (or, without one, whose start) is the oldest. Connections that sent the token are kept.
   */
  readonly connections?: number;
  /** Milliseconds that a request's headers may take (default 5,000), and that a connection may be idle (default 30,000). */
  readonly headerTimeout?: number;
  readonly idleTimeout?: number;
}

/** A running server. */
export interface LocalServer {
  readonly port: number;
  readonly token: string;
  /** The address to open, token included. */
  readonly url: string;
  /** Stops listening, ends every connection, and closes the user's files. */
  close(): Promise<void>;
}

/** Bytes of a user's file that one read takes into memory. */
const CHUNK = 2 ** 20;
const MAX_HEADER = 16 * 1024;
/** Maximum number of files that runs of models made; the oldest ones are closed first. */
const MAX_MADE_FILES = 64;
/** Maximum number of requests in flight on one connection; a browser sends one at a time. */
const MAX_IN_FLIGHT = 32;

/** Starts a server on loopback (IPv4, and IPv6 where available). Throws an OptionError if it cannot listen. */
export async function startServer(content: ServerContent, options: ServerOptions = {}): Promise<LocalServer> {
  const { host, connections = 64 } = options;
  const token = randomBytes(24).toString("base64url");
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(token);
  const matches = (text: string) => timingSafeEqual(digest(text), expected);

  const data = new Map<string, Source>();
  const servers: Server[] = [];
  /**
   * The open connections; the one without progress for the longest time is the first. `inFlight` counts responses that are not
   * complete; `trusted` is true after a request with the token, which only the user has.
   */
  const sockets = new Map<Socket, { inFlight: number; trusted: boolean }>();
  let own: ReadonlySet<string> = new Set();

  const close = async () => {
    const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const socket of sockets.keys()) socket.destroy();
    await Promise.all(closed);
    for (const source of data.values()) await source.close();
  };

  const models = new Map(content.models ?? []);
  /** Ids of the files that runs made, the oldest first. */
  const madeFiles: string[] = [];
  let lastRun: Promise<object> = Promise.resolve({});
  /** Runs models one after another; an error becomes `{ error }`. A run whose client disconnects before its turn is left out. */
  const enqueue = (run: () => Promise<object>, signal: AbortSignal): Promise<object> => {
    lastRun = lastRun
      // A model blocks this thread: the connections that were closed meanwhile are noticed first. The second turn is for
      // "close" events, which Node emits at the end of a turn.
      .then(() => setImmediate())
      .then(() => setImmediate())
      .then(() => (signal.aborted ? {} : run()))
      .catch((error) => ({ error: messageOf(error) }));
    return lastRun;
  };
  /** Adds a file that a run made to `data`; returns its name and path, as the page receives them. */
  const keep = async ({ name, source, model }: MadeFile): Promise<object> => {
    const id = `${randomBytes(9).toString("base64url")}/text`;
    data.set(id, await openSource("startServer", source));
    if (model) models.set(id, model);
    madeFiles.push(id);
    for (const old of madeFiles.splice(0, Math.max(0, madeFiles.length - MAX_MADE_FILES))) {
      await data.get(old)?.close();
      data.delete(old);
      models.delete(old);
    }
    return { name, path: `/data/${id}`, ...(model && { model: describeModel(model, id) }) };
  };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = sockets.get(socket);
    // Node still parses the bytes that arrived before the connection was dropped.
    if (connection === undefined || socket.destroyed) return;
    if (connection.inFlight === MAX_IN_FLIGHT) return void socket.destroy();
    connection.inFlight++;
    response.on("close", () => {
      connection.inFlight--;
      // Progress: the connection becomes the last in the map.
      if (response.writableFinished && sockets.delete(socket)) sockets.set(socket, connection);
    });
    const { method = "", url: target = "", headersDistinct: headers } = request;
    const respondWith = (run: () => Promise<object>) => {
      const disconnected = new AbortController();
      response.on("close", () => disconnected.abort());
      enqueue(run, disconnected.signal)
        .then((value) => respondJson(response, value, method === "HEAD"))
        .catch(() => socket.destroy());
    };
    const route = decide({ method, target, headers }, own, matches);
    if ("status" in route) return refuse(response, route);
    if (route.kind !== "page") connection.trusted = true;
    if (route.kind === "page") {
      const page = content.pages.get(route.path);
      if (page === undefined) return refuse(response, { status: 404, why: "there is no such page" });
      const headers = page.wasm ? WASM_HEADERS : HEADERS;
      response.writeHead(200, { ...headers, "Content-Type": page.type, "Content-Length": page.body.length });
      response.end(method === "HEAD" ? undefined : page.body);
      return;
    }
    if (route.kind === "text") {
      if (content.text === undefined) return refuse(response, { status: 404, why: "there is no model here" });
      const { text: runOnText } = content;
      return respondWith(async () => keep(await runOnText(route.text)));
    }
    if (route.kind === "ablate") {
      const model = models.get(route.id);
      if (model === undefined) return refuse(response, { status: 404, why: "no model made this file" });
      const { heads, position, attention } = route;
      return respondWith(async () =>
        attention ? keep(await model.attention(heads)) : model.ablate(heads, position),
      );
    }
    const source = data.get(route.id);
    if (source === undefined) return refuse(response, { status: 404, why: "there is no such file" });
    // A file that ends early or a client that disconnects: the headers are sent, so no error can follow.
    respondWithFile(response, source, method === "HEAD", headers["range"]).catch(() => socket.destroy());
  };

  const listen = async (address: string, port: number): Promise<number> => {
    const server = createServer({
      maxHeaderSize: MAX_HEADER,
      headersTimeout: options.headerTimeout ?? 5000,
      requestTimeout: options.headerTimeout ?? 5000,
      keepAliveTimeout: options.idleTimeout ?? 30_000,
      connectionsCheckingInterval: Math.min(1000, (options.headerTimeout ?? 5000) / 2),
      insecureHTTPParser: false,
      requireHostHeader: false,
    });
    server.timeout = options.idleTimeout ?? 30_000;
    // All headers are checked; maxHeaderSize limits them.
    server.maxHeadersCount = 0;
    // Drops a flood of connections before Node creates parsers. `sockets` counts the connections of both servers.
    server.maxConnections = connections + 16;
    server.on("request", answer).on("checkContinue", answer).on("checkExpectation", answer);
    server.on("connection", (socket: Socket) => {
      if (sockets.size >= connections) {
        const untrusted = [...sockets].find(([, { trusted }]) => !trusted)?.[0];
        if (untrusted === undefined) return socket.destroy();
        sockets.delete(untrusted);
        untrusted.destroy();
      }
      sockets.set(socket, { inFlight: 0, trusted: false });
      socket.on("close", () => sockets.delete(socket));
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
      // An error response must not be written into another response.
      if (socket.writable && !sockets.get(socket)?.inFlight) socket.end(parseErrorResponse(error.code));
      socket.destroySoon();
    });
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ port, host: address, ipv6Only: address.includes(":") }, resolve);
    });
    // A connection that cannot be accepted (no file descriptor left) does not stop the server.
    server.on("error", () => {});
    return (server.address() as AddressInfo).port;
  };

  try {
    for (const [id, source] of content.data ?? []) data.set(id, await openSource("startServer", source));
    const port = await listen(host ?? "127.0.0.1", options.port ?? 0);
    // IPv6 loopback too, since "localhost" may resolve to it. Without IPv6, or if the port is in use there, IPv4 is enough.
    if (host === undefined) await listen("::1", port).catch(() => servers.pop());
    const names = host === undefined ? ["127.0.0.1", "::1", "localhost"] : reachable(host);
    own = authorities(port, names);
    const shown = names[0].includes(":") ? `[${names[0]}]` : names[0];
    return { port, token, url: `http://${shown}:${port}/?token=${token}`, close };
  } catch (error) {
    await close();
    const { code, message } = error as NodeJS.ErrnoException;
    if (!/^E[A-Z]+$/.test(code ?? "")) throw error;
    const address = `${host ?? "127.0.0.1"}, ${options.port === undefined ? "a free port" : `port ${options.port}`}`;
    const why = code === "EADDRINUSE" ? "another program uses this port" : message;
    throw new OptionError("listen", `cannot listen on ${address}: ${why}`, {
      host,
      port: options.port,
      errno: code,
    });
  }
}

/** The model of a file as the page receives it: its name, what it predicts, and the path of its runs. */
export function describeModel({ name, predicts }: FileModel, id: string): object {
  return { name, predicts, path: `/ablate/${id}` };
}

/** The addresses of a server on `host`. They are numeric, except "localhost": anyone can make another name resolve to them. */
function reachable(host: string): string[] {
  if (host !== "0.0.0.0" && host !== "::") return [host];
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = all.filter(
    ({ family, address }) => (host === "::" || family === "IPv4") && !address.includes("%"),
  );
  // Loopback last: the first address is printed, and other machines must reach it.
  const addresses = found
    .sort((a, b) => Number(a.internal) - Number(b.internal))
    .map(({ address }) => address);
  return [...new Set([...addresses, "127.0.0.1", "localhost"])];
}

function refuse(response: ServerResponse, { status, why }: Refusal): void {
  const body = `${status} ${why}\n`;
  const allow = status === 405 ? { Allow: "GET, HEAD" } : {};
  // Later bytes on this connection may be a request's body, which was not read.
  const end = status === 404 ? {} : { Connection: "close" };
  const content = { "Content-Type": "text/plain; charset=utf-8", "Content-Length": Buffer.byteLength(body) };
  response.writeHead(status, { ...HEADERS, ...content, ...allow, ...end });
  response.end(body);
}

function respondJson(response: ServerResponse, value: object, headOnly: boolean): void {
  const body = JSON.stringify(value);
  const content = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  response.writeHead(200, { ...HEADERS, ...content });
  response.end(headOnly ? undefined : body);
}

/** The response to bytes that Node could not parse as a request. */
function parseErrorResponse(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return TOO_LARGE;
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? TOO_SLOW : MALFORMED;
}

const [MALFORMED, TOO_SLOW, TOO_LARGE] = [400, 408, 431].map(rawRefusal);

/** A refusal as a complete response in bytes, after which the connection is closed. */
function rawRefusal(status: number): string {
  const body = `${status} ${STATUS_CODES[status]}\n`;
  const content = {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": body.length,
    Connection: "close",
  };
  const lines = Object.entries({ ...HEADERS, ...content }).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

async function respondWithFile(
  response: ServerResponse,
  source: Source,
  headOnly: boolean,
  rangeHeader: readonly string[] | undefined,
): Promise<void> {
  const { size } = source;
  const range = rangeOf(rangeHeader, size);
  const common = { ...HEADERS, "Content-Type": "application/octet-stream", "Accept-Ranges": "bytes" };
  if (range === "unsatisfiable") {
    response.writeHead(416, { ...common, "Content-Range": `bytes */${size}`, "Content-Length": 0 });
    response.end();
    return;
  }
  const [from, to] = range ?? [0, size];
  const part = range === undefined ? {} : { "Content-Range": `bytes ${from}-${to - 1}/${size}` };
  response.writeHead(range === undefined ? 200 : 206, { ...common, ...part, "Content-Length": to - from });
  for (let at = from; !headOnly && at < to; ) {
    const chunk = await source.read(at, Math.min(CHUNK, to - at));
    at += chunk.length;
    if (response.destroyed) return;
    if (!response.write(chunk)) await drained(response);
  }
  response.end();
}

/** Waits until a response can buffer more bytes, or is closed. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
