/** Responses of the local server: refusals, JSON, files and ranges of files, and the answer to bytes that are no request. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Source } from "../io/source.ts";
import type { StaticFile } from "./content.ts";
import { HEADERS, type Refusal, rangeOf, WASM_HEADERS } from "./policy.ts";

/** Bytes of a user's file that one read takes into memory. */
const CHUNK = 2 ** 20;

/** Answers with a page, script or stylesheet. */
export function respondWithStatic(response: ServerResponse, file: StaticFile, headOnly: boolean): void {
  const headers = file.wasm ? WASM_HEADERS : HEADERS;
  response.writeHead(200, { ...headers, "Content-Type": file.type, "Content-Length": file.body.length });
  response.end(headOnly ? undefined : file.body);
}

/** Answers with a refusal. */
export function refuse(response: ServerResponse, { status, why }: Refusal): void {
  const body = `${status} ${why}\n`;
  const allow = status === 405 ? { Allow: "GET, HEAD" } : {};
  // Later bytes on this connection may be a request's body, which was not read.
  const end = status === 404 ? {} : { Connection: "close" };
  const content = { "Content-Type": "text/plain; charset=utf-8", "Content-Length": Buffer.byteLength(body) };
  response.writeHead(status, { ...HEADERS, ...content, ...allow, ...end });
  response.end(body);
}

/** Answers with a JSON value. */
export function respondJson(response: ServerResponse, value: object, headOnly: boolean): void {
  const body = JSON.stringify(value);
  const content = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  response.writeHead(200, { ...HEADERS, ...content });
  response.end(headOnly ? undefined : body);
}

/** The response to bytes that Node could not parse as a request. */
export function parseErrorResponse(code: string | undefined): string {
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

/** Answers with a file, or with the range of it that the request names. */
export async function respondWithFile(
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
