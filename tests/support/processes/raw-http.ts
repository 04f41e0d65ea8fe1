/** Requests as bytes over a socket, for tests of the local server: requests that no HTTP client would send. */
import { connect } from "node:net";

/** The bytes received until the connection was closed or reset, or the response was complete. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Every byte, as latin-1 text. */
  readonly all: string;
}

/** Sends `bytes` and returns the response; `wait` is the idle timeout in milliseconds. */
export function send(
  port: number,
  bytes: string | Uint8Array,
  wait = 10_000,
  host = "127.0.0.1",
): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    let all = "";
    const done = () => {
      socket.destroy();
      resolve(parse(all));
    };
    socket.setTimeout(wait, done);
    socket.setEncoding("latin1");
    socket.on("data", (text) => {
      all += text;
      if (isWhole(all)) done();
    });
    socket.on("error", done);
    socket.on("close", done);
    socket.on("connect", () => socket.write(bytes));
  });
}

/** Whether the first response is complete. */
function isWhole(all: string): boolean {
  const end = all.indexOf("\r\n\r\n");
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(all.slice(0, end + 2));
  return end >= 0 && length !== null && all.length >= end + 4 + Number(length[1]);
}

function parse(all: string): Answer {
  const end = all.indexOf("\r\n\r\n");
  const [first, ...lines] = (end < 0 ? all : all.slice(0, end)).split("\r\n");
  const headers = new Map(
    lines.map((line) => [line.split(": ")[0].toLowerCase(), line.split(": ").slice(1).join(": ")]),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1] ?? 0);
  return { status, headers, body: end < 0 ? "" : all.slice(end + 4), all };
}

/** A GET request with the Host of loopback, and other header lines. */
export function get(port: number, target: string, ...lines: string[]): string {
  const host = lines.some((line) => /^host:/i.test(line)) ? [] : [`Host: 127.0.0.1:${port}`];
  return [`GET ${target} HTTP/1.1`, ...host, ...lines, "", ""].join("\r\n");
}
