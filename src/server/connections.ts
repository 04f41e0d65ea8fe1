/**
 * The open connections of a server, in at most a given number: a flood of connections that never send the token cannot keep the
 * user's out.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Maximum number of requests in flight on one connection; a browser sends one at a time. */
const MAX_IN_FLIGHT = 32;

/** An open connection. */
export interface Connection {
  /** Number of responses that are not complete. */
  inFlight: number;
  /** True after a request with the token, which only the user has. */
  trusted: boolean;
}

/** The connections of a server; the one without progress for the longest time is the first. */
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
