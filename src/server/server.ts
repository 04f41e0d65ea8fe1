/**
 * The local server of the explorer: pages from a map that is built when the server starts, and the user's files by opaque
 * id. The path of a request is never joined to a folder, so path traversal is impossible. The server listens on loopback,
 * on a free port, and gives data only to requests with the token of the printed address. Node only.
 *
 * Node parses requests (llhttp, strict), policy.ts decides which are allowed, content.ts has the files. Leaves to others: the list of
 * pages (assets.ts), the list of files (the command line).
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { OptionError } from "../core/errors.ts";
import { ServedContent, type ServerContent } from "./content.ts";
import { authorities, decide, type Route } from "./policy.ts";
import { parseErrorResponse, refuse, respondJson, respondWithFile, respondWithStatic } from "./responses.ts";

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

const MAX_HEADER = 16 * 1024;

/** Starts a server on loopback (IPv4, and IPv6 where available). Throws an OptionError if it cannot listen. */
export async function startServer(content: ServerContent, options: ServerOptions = {}): Promise<LocalServer> {
  const { host, connections: limit = 64 } = options;
  const token = randomBytes(24).toString("base64url");
  const served = new ServedContent(content);
  const connections = new Connections(limit);
  const servers: Server[] = [];
  let names: ReadonlySet<string> = new Set();

  const close = async () => {
    const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    connections.destroy();
    await Promise.all(closed);
    await served.close();
  };
  const matches = tokenCheck(token);
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.begin(request.socket, response);
    if (connection === undefined) return;
    const { method = "", url: target = "", headersDistinct: headers } = request;
    const route = decide({ method, target, headers }, names, matches);
    if ("status" in route) refuse(response, route);
    else {
      if (route.kind !== "page") connection.trusted = true;
      respond(served, route, request, response);
    }
  };

  try {
    await served.open();
    const listen = async (address: string, port: number) => {
      const server = newServer(options, connections, limit).on("request", answer);
      servers.push(server.on("checkContinue", answer).on("checkExpectation", answer));
      return listenOn(server, address, port);
    };
    const port = await listen(host ?? "127.0.0.1", options.port ?? 0);
    // IPv6 loopback too, since "localhost" may resolve to it. Without IPv6, or if the port is in use there, IPv4 is enough.
    if (host === undefined) await listen("::1", port).catch(() => servers.pop());
    const hosts = host === undefined ? ["127.0.0.1", "::1", "localhost"] : reachable(host);
    names = authorities(port, hosts);
    const shown = hosts[0].includes(":") ? `[${hosts[0]}]` : hosts[0];
    return { port, token, url: `http://${shown}:${port}/?token=${token}`, close };
  } catch (error) {
    await close();
    throw listenError(error, options);
  }
}

/** Compares tokens in a time that does not depend on them. */
function tokenCheck(token: string): (text: string) => boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const expected = digest(token);
  return (text) => timingSafeEqual(digest(text), expected);
}

/** Answers an allowed request. */
function respond(
  served: ServedContent,
  route: Route,
  { method, headersDistinct, socket }: IncomingMessage,
  response: ServerResponse,
): void {
  const headOnly = method === "HEAD";
  const missing = (why: string) => refuse(response, { status: 404, why });
  const respondWithRun = (run: () => Promise<object>) => {
    const disconnected = new AbortController();
    response.on("close", () => disconnected.abort());
    served
      .enqueue(run, disconnected.signal)
      .then((value) => respondJson(response, value, headOnly))
      .catch(() => socket.destroy());
  };
  if (route.kind === "page") {
    const page = served.page(route.path);
    if (page) respondWithStatic(response, page, headOnly);
    else missing("there is no such page");
  } else if (route.kind === "text") {
    const run = served.textRun(route.text, route.model, route.once);
    if (run) respondWithRun(run);
    else missing("there is no model here");
  } else if (route.kind === "ablate") {
    const run = served.ablationRun(route.id, route.heads, route);
    if (run) respondWithRun(run);
    else missing("no model made this file");
  } else if (route.kind === "ask") {
    const run = served.questionRun(route.id, route.question);
    if (run) respondWithRun(run);
    else missing("no model made this file");
  } else {
    const source = served.file(route.id);
    const ended = () => void socket.destroy();
    // A file that ends early or a client that disconnects: the headers are sent, so no error can follow.
    if (source) respondWithFile(response, source, headOnly, headersDistinct["range"]).catch(ended);
    else missing("there is no such file");
  }
}

/** A server with the limits of the options; `connections` counts the connections of both servers. */
function newServer(
  { headerTimeout = 5000, idleTimeout = 30_000 }: ServerOptions,
  connections: Connections,
  limit: number,
): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER,
    headersTimeout: headerTimeout,
    requestTimeout: headerTimeout,
    keepAliveTimeout: idleTimeout,
    connectionsCheckingInterval: Math.min(1000, headerTimeout / 2),
    insecureHTTPParser: false,
    requireHostHeader: false,
  });
  server.timeout = idleTimeout;
  // All headers are checked; maxHeaderSize limits them.
  server.maxHeadersCount = 0;
  // Drops a flood of connections before Node creates parsers.
  server.maxConnections = limit + 16;
  server.on("connection", (socket: Socket) => connections.add(socket));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    // An error response must not be written into another response.
    if (socket.writable && !connections.isAnswering(socket)) socket.end(parseErrorResponse(error.code));
    socket.destroySoon();
  });
  return server;
}

async function listenOn(server: Server, address: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: address, ipv6Only: address.includes(":") }, resolve);
  });
  // A connection that cannot be accepted (no file descriptor left) does not stop the server.
  server.on("error", () => {});
  return (server.address() as AddressInfo).port;
}

/** An error of the system as a typed one; other errors as they are. */
function listenError(error: unknown, { host, port }: ServerOptions): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (!/^E[A-Z]+$/.test(String(code))) return error;
  const address = `${host ?? "127.0.0.1"}, ${port === undefined ? "a free port" : `port ${port}`}`;
  const why = code === "EADDRINUSE" ? "another program uses this port" : message;
  return new OptionError("listen", `cannot listen on ${address}: ${why}`, { host, port, errno: code });
}

/** The addresses of a server on `host`. They are numeric, except "localhost": anyone can make another name resolve to them. */
function reachable(host: string): string[] {
  if (host !== "0.0.0.0" && host !== "::") return [host];
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const usable = all.filter(
    ({ family, address }) => (host === "::" || family === "IPv4") && !address.includes("%"),
  );
  // Loopback last: the first address is printed, and other machines must reach it.
  const addresses = usable
    .sort((a, b) => Number(a.internal) - Number(b.internal))
    .map(({ address }) => address);
  return [...new Set([...addresses, "127.0.0.1", "localhost"])];
}

/** Maximum number of requests in flight on one connection; a browser sends one at a time. */
const MAX_IN_FLIGHT = 32;

/** An open connection. */
interface Connection {
  /** Number of responses that are not complete. */
  inFlight: number;
  /** True after a request with the token, which only the user has. */
  trusted: boolean;
}

/**
 * The open connections of a server, in at most a given number: a flood of connections that never send the token cannot keep the
 * user's out. The one without progress for the longest time is the first.
 */
export class Connections {
  readonly #limit: number;
  readonly #sockets = new Map<Socket, Connection>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a connection. Where there are too many, it replaces the first that is not trusted, or is closed. */
  add(socket: Socket): void {
    if (this.#sockets.size >= this.#limit) {
      const untrusted = [...this.#sockets].find(([, { trusted }]) => !trusted)?.[0];
      if (untrusted === undefined) {
        socket.destroy();
        return;
      }
      this.#sockets.delete(untrusted);
      untrusted.destroy();
    }
    this.#sockets.set(socket, { inFlight: 0, trusted: false });
    socket.on("close", () => this.#sockets.delete(socket));
  }

  /** Counts a request; undefined where it is not to be answered. */
  begin(socket: Socket, response: ServerResponse): Connection | undefined {
    const connection = this.#sockets.get(socket);
    // Node still parses the bytes that arrived before the connection was dropped.
    if (connection === undefined || socket.destroyed) return undefined;
    if (connection.inFlight === MAX_IN_FLIGHT) {
      socket.destroy();
      return undefined;
    }
    connection.inFlight++;
    response.on("close", () => {
      connection.inFlight--;
      // Progress: the connection becomes the last in the map.
      if (response.writableFinished && this.#sockets.delete(socket)) this.#sockets.set(socket, connection);
    });
    return connection;
  }

  /** True while a response is being written. */
  isAnswering(socket: Socket): boolean {
    return Boolean(this.#sockets.get(socket)?.inFlight);
  }

  /** Ends every connection. */
  destroy(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }
}
