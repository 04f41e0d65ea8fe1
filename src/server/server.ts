/**
 * The local server of the explorer: a map of pages that was built at the start, and files of the user's by opaque id.
 * No path of a request is ever joined to a folder, so there is nothing to traverse. It listens on loopback, on a free
 * port, and gives data only for the token of the address it prints. Node only.
 *
 * Parsing is Node's (llhttp, strict); what may be asked is policy.ts's. Leaves to others: which pages there are
 * (assets.ts), which files are given (the command line).
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
import { OptionError } from "../core/errors.ts";
import { openSource, type Source, type SourceLike } from "../io/source.ts";
import {
  type AskedHead,
  authorities,
  decide,
  HEADERS,
  type Refusal,
  rangeOf,
  WASM_HEADERS,
} from "./policy.ts";

/** A page, script or style: its media type and its bytes. */
export interface Page {
  readonly type: string;
  readonly body: Uint8Array;
  /** The page, or the worker whose script this is, compiles WebAssembly: its policy allows it. */
  readonly wasm?: boolean;
}

/** A file that the server makes while it runs, by its name. */
export interface MadeFile {
  readonly name: string;
  readonly source: SourceLike;
  /** The model that made it. */
  readonly model?: FileModel;
}

/** The model that made a file: it can be run on the file's text again, without some heads. */
export interface FileModel {
  readonly name: string;
  /** What it predicts: the next token, masked tokens, or none. */
  readonly predicts: "next" | "masked" | "none";
  /** The prediction without these heads, as plain values. */
  readonly ablate: (heads: readonly AskedHead[], position: number | null) => Promise<object>;
  /** The attention of the text's run without these heads. */
  readonly attention: (heads: readonly AskedHead[]) => Promise<MadeFile>;
}

/** What a server gives. */
export interface ServerContent {
  /** By path: `/` and the files it needs. */
  readonly pages: ReadonlyMap<string, Page>;
  /** Files of the user's, by an id of letters, digits, `-` and `_`: asked for as `/data/ID?token=…`, whole or by byte range. */
  readonly data?: ReadonlyMap<string, SourceLike>;
  /** Models of files of `data`, by the same ids: asked for as `/ablate/ID?token=…&heads=…`. */
  readonly models?: ReadonlyMap<string, FileModel>;
  /** What a model does with a text that the page sends: a file, by its name. Undefined: the page cannot send any. */
  readonly text?: (text: string) => Promise<MadeFile>;
}

/** Where a server listens, and its limits. */
export interface ServerOptions {
  /** Port; a free one by default. */
  readonly port?: number;
  /** An address besides loopback, which others can reach: `0.0.0.0`, or one of this machine's. Loopback alone by default. */
  readonly host?: string;
  /**
   * Connections at a time, 64 by default. One more takes the place of one that never asked with the token: of the one whose last whole
   * answer, or whose beginning, is the longest ago. Those that did ask with the token stay.
   */
  readonly connections?: number;
  /** Milliseconds a request's headers may take (5,000), and a connection may lie idle (30,000). */
  readonly headerTimeout?: number;
  readonly idleTimeout?: number;
}

/** A server that runs. */
export interface LocalServer {
  readonly port: number;
  readonly token: string;
  /** The address to open, token included. */
  readonly url: string;
  /** Stops listening, ends every connection, and closes the user's files. */
  close(): Promise<void>;
}

/** Bytes of a user's file that are in memory at once. */
const PIECE = 2 ** 20;
const MAX_HEADER = 16 * 1024;
/** Runs of the page's own texts that are kept. */
const TEXTS = 64;
/** Requests of one connection that wait for their answers at once: a browser sends them one after another. */
const WAITING = 32;

/** Starts a server on loopback (IPv4, and IPv6 where there is one). Throws an OptionError where it cannot listen. */
export async function startServer(content: ServerContent, options: ServerOptions = {}): Promise<LocalServer> {
  const { host, connections = 64 } = options;
  const token = randomBytes(24).toString("base64url");
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(token);
  const matches = (text: string) => timingSafeEqual(digest(text), expected);

  const data = new Map<string, Source>();
  const servers: Server[] = [];
  /**
   * The connections that are open, the one without progress for longest first. Each has the number of its answers that are not whole
   * yet, and whether it has asked with the token: then it is the user's own.
   */
  const sockets = new Map<Socket, { waiting: number; trusted: boolean }>();
  let own: ReadonlySet<string> = new Set();

  const close = async () => {
    const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const socket of sockets.keys()) socket.destroy();
    await Promise.all(closed);
    for (const source of data.values()) await source.close();
  };

  /** One run of a model after the other; the last files that runs gave can still be read. */
  let running: Promise<unknown> = Promise.resolve();
  const texts: string[] = [];
  const models = new Map(content.models ?? []);
  const afterOthers = (work: () => Promise<object>): Promise<object> => {
    const made = running.then(async () => {
      try {
        return await work();
      } catch (error) {
        return { error: error instanceof Error ? error.message : String(error) };
      }
    });
    running = made;
    return made;
  };
  /** Keeps a file that a model made, and says where it is. */
  const keep = async ({ name, source, model }: MadeFile): Promise<object> => {
    const id = `${randomBytes(9).toString("base64url")}/text`;
    data.set(id, await openSource("startServer", source));
    if (model) models.set(id, model);
    texts.push(id);
    for (const old of texts.splice(0, Math.max(0, texts.length - TEXTS))) {
      await data.get(old)?.close();
      data.delete(old);
      models.delete(old);
    }
    return { name, path: `/data/${id}`, ...(model && { model: describeModel(model, id) }) };
  };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = sockets.get(socket);
    // What had been sent before the connection was given up is still parsed.
    if (connection === undefined || socket.destroyed) return;
    if (connection.waiting === WAITING) return void socket.destroy();
    connection.waiting++;
    response.on("close", () => {
      connection.waiting--;
      // Progress: it moves to the end of the line.
      if (response.writableFinished && sockets.delete(socket)) sockets.set(socket, connection);
    });
    const { method = "", url: target = "", headersDistinct: headers } = request;
    const answerWith = (work: () => Promise<object>) =>
      afterOthers(work).then(
        (reported) => answerJson(response, reported, method === "HEAD"),
        () => socket.destroy(),
      );
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
      const { text: model } = content;
      answerWith(async () => keep(await model(route.text)));
      return;
    }
    if (route.kind === "ablate") {
      const model = models.get(route.id);
      if (model === undefined) return refuse(response, { status: 404, why: "no model made this file" });
      const { heads, position, attention } = route;
      answerWith(async () =>
        attention ? keep(await model.attention(heads)) : model.ablate(heads, position),
      );
      return;
    }
    const source = data.get(route.id);
    if (source === undefined) return refuse(response, { status: 404, why: "there is no such file" });
    // A file that ends early or a reader that goes away: nothing can be said any more.
    give(response, source, method === "HEAD", headers["range"]).catch(() => socket.destroy());
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
    // Every header is looked at: their size is what bounds them.
    server.maxHeadersCount = 0;
    // Drops a flood before there is a parser. The count below is the one of both servers.
    server.maxConnections = connections + 16;
    server.on("request", answer).on("checkContinue", answer).on("checkExpectation", answer);
    server.on("connection", (socket: Socket) => {
      if (sockets.size >= connections) {
        const stranger = [...sockets].find(([, { trusted }]) => !trusted)?.[0];
        if (stranger === undefined) return socket.destroy();
        sockets.delete(stranger);
        stranger.destroy();
      }
      sockets.set(socket, { waiting: 0, trusted: false });
      socket.on("close", () => sockets.delete(socket));
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
      // No error may be written into an answer that is not whole yet.
      if (socket.writable && !sockets.get(socket)?.waiting) socket.end(unreadable(error.code));
      socket.destroySoon();
    });
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ port, host: address, ipv6Only: address.includes(":") }, resolve);
    });
    // A connection that cannot be accepted (no file descriptor left) is no reason to end.
    server.on("error", () => {});
    return (server.address() as AddressInfo).port;
  };

  try {
    for (const [id, source] of content.data ?? []) data.set(id, await openSource("startServer", source));
    const port = await listen(host ?? "127.0.0.1", options.port ?? 0);
    // IPv6 loopback too, so that "localhost" leads here; where there is none, or the port is taken there, IPv4 does.
    if (host === undefined) await listen("::1", port).catch(() => servers.pop());
    const names = host === undefined ? ["127.0.0.1", "::1", "localhost"] : reachable(host);
    own = authorities(port, names);
    const shown = names[0].includes(":") ? `[${names[0]}]` : names[0];
    return { port, token, url: `http://${shown}:${port}/?token=${token}`, close };
  } catch (error) {
    await close();
    const { code, message } = error as NodeJS.ErrnoException;
    if (!/^E[A-Z]+$/.test(code ?? "")) throw error;
    const place = `${host ?? "127.0.0.1"} port ${options.port ?? "of its own"}`;
    const why = code === "EADDRINUSE" ? "another program listens there" : message;
    throw new OptionError("listen", `cannot listen on ${place}: ${why}`, {
      host,
      port: options.port,
      errno: code,
    });
  }
}

/** What a page receives about the model of a file, and the address of its runs. */
export function describeModel({ name, predicts }: FileModel, id: string): object {
  return { name, predicts, path: `/ablate/${id}` };
}

/** The names under which a server on `host` is reached: addresses only, since a name may be anybody's. */
function reachable(host: string): string[] {
  if (host !== "0.0.0.0" && host !== "::") return [host];
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = all.filter(
    ({ family, address }) => (host === "::" || family === "IPv4") && !address.includes("%"),
  );
  // What others reach first, loopback last.
  const addresses = found
    .sort((a, b) => Number(a.internal) - Number(b.internal))
    .map(({ address }) => address);
  return [...new Set([...addresses, "127.0.0.1", "localhost"])];
}

function refuse(response: ServerResponse, { status, why }: Refusal): void {
  const body = `${status} ${why}\n`;
  const allow = status === 405 ? { Allow: "GET, HEAD" } : {};
  // Whatever follows on this connection was meant for a server that would have read a body.
  const end = status === 404 ? {} : { Connection: "close" };
  const facts = { "Content-Type": "text/plain; charset=utf-8", "Content-Length": Buffer.byteLength(body) };
  response.writeHead(status, { ...HEADERS, ...facts, ...allow, ...end });
  response.end(body);
}

function answerJson(response: ServerResponse, value: object, headOnly: boolean): void {
  const body = JSON.stringify(value);
  const facts = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  response.writeHead(200, { ...HEADERS, ...facts });
  response.end(headOnly ? undefined : body);
}

/** The answer to bytes that are no request. */
function unreadable(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return TOO_LARGE;
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? TOO_SLOW : MALFORMED;
}

const [MALFORMED, TOO_SLOW, TOO_LARGE] = [400, 408, 431].map(rawRefusal);

/** A refusal as the bytes of a whole answer, after which the connection ends. */
function rawRefusal(status: number): string {
  const body = `${status} ${STATUS_CODES[status]}\n`;
  const facts = {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": body.length,
    Connection: "close",
  };
  const lines = Object.entries({ ...HEADERS, ...facts }).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

async function give(
  response: ServerResponse,
  source: Source,
  headOnly: boolean,
  asked: readonly string[] | undefined,
): Promise<void> {
  const { size } = source;
  const range = rangeOf(asked, size);
  const facts = { ...HEADERS, "Content-Type": "application/octet-stream", "Accept-Ranges": "bytes" };
  if (range === "unsatisfiable") {
    response.writeHead(416, { ...facts, "Content-Range": `bytes */${size}`, "Content-Length": 0 });
    response.end();
    return;
  }
  const [from, to] = range ?? [0, size];
  const part = range === undefined ? {} : { "Content-Range": `bytes ${from}-${to - 1}/${size}` };
  response.writeHead(range === undefined ? 200 : 206, { ...facts, ...part, "Content-Length": to - from });
  for (let at = from; !headOnly && at < to; ) {
    const piece = await source.read(at, Math.min(PIECE, to - at));
    at += piece.length;
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  response.end();
}

/** Waits until a response takes more, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
