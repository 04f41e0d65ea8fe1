/**
 * The rules that a request to the local server must pass, and the headers of every response. Pure functions;
 * server.ts has the sockets.
 *
 * A page of another site can make a browser send requests to loopback, with DNS rebinding even under its own name.
 * So: the Host must be this server's address (RFC 9110 §7.2), an Origin or Sec-Fetch-Site that names another
 * site is refused for every path (Fetch Metadata), and a request for data must be same-origin and have the token of the
 * printed address. There are no CORS headers.
 */

/** The content security policy of a page and of its workers. @param script sources of scripts to allow besides 'self' */
const policy = (script: string) =>
  `default-src 'none'; script-src 'self'${script}; worker-src 'self'; connect-src 'self'; ` +
  "img-src 'self' data:; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The headers of every response, whatever its status. The explorer computes in plain JavaScript and compiles nothing. */
export const HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": policy(""),
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};

/** The headers of the Lab's pages and scripts, which compile heed's kernels. */
export const WASM_HEADERS: Readonly<Record<string, string>> = {
  ...HEADERS,
  "Content-Security-Policy": policy(" 'wasm-unsafe-eval'"),
};

/** The parts of a request that are checked. */
export interface ReceivedRequest {
  readonly method: string;
  /** The request target as received. */
  readonly target: string;
  /** All values of each received header, by its lowercase name. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

/** A refusal: the status, and the reason in one line. */
export interface Refusal {
  readonly status: 400 | 403 | 404 | 405 | 413 | 417;
  readonly why: string;
}

/** A head to ablate, as a request names it. */
export interface RequestedHead {
  readonly layer: number;
  readonly head: number;
  readonly replace: "zero" | "mean";
  /** The token at which the head's output is replaced; null: every token. */
  readonly position: number | null;
}

/** What a request asks for: a page by its path, a user's file by its id, or a run of the model. */
export type Route =
  | { readonly kind: "page"; readonly path: string }
  | { readonly kind: "data"; readonly id: string }
  /** A text to run a model on, and the number of the model. */
  | { readonly kind: "text"; readonly text: string; readonly model: number; readonly once: boolean }
  /** A run of a file's model on the file's text with heads ablated; `attention`: the response is the run's attention as a file. */
  | {
      readonly kind: "ablate";
      readonly id: string;
      readonly heads: readonly RequestedHead[];
      readonly position: number | null;
      readonly attention: boolean;
    }
  /** A question to a file's model: an object of JSON, which the model checks. */
  | { readonly kind: "ask"; readonly id: string; readonly question: object };

/** The values of the Host header that a server on `port` accepts, for each of `hosts`. */
export function authorities(port: number, hosts: readonly string[]): ReadonlySet<string> {
  const names = hosts.map((host) => (host.includes(":") ? `[${host}]` : host).toLowerCase());
  return new Set(names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])));
}

const DATA = "/data/";
const TEXT = "/text";
const ABLATE = "/ablate/";
const ASK = "/ask/";
/** Maximum number of heads in a request. */
const MAX_HEADS = 1024;
/** Maximum length of a text or a question in a request, escapes included: the headers of a request are limited to 16 KiB. */
const MAX_TEXT_LENGTH = 12_000;

const NO_TOKEN: Refusal = { status: 403, why: "the address lacks its token: open the one that heed printed" };

/**
 * The route of a request, or its refusal. `names` are the server's authorities; `matches` compares a token with the
 * server's.
 */
export function decide(
  { method, target, headers }: ReceivedRequest,
  names: ReadonlySet<string>,
  matches: (token: string) => boolean,
): Route | Refusal {
  const host = headers["host"];
  if (host?.length !== 1 || !names.has(host[0].toLowerCase()))
    return { status: 403, why: "this server answers only under its own address" };
  const origin = headers["origin"];
  const ownOrigin = `http://${host[0].toLowerCase()}`;
  if (origin !== undefined && (origin.length !== 1 || origin[0].toLowerCase() !== ownOrigin))
    return { status: 403, why: "a page of another origin may not ask" };
  if (method !== "GET" && method !== "HEAD") return { status: 405, why: "only GET and HEAD are answered" };
  if (
    headers["transfer-encoding"] !== undefined ||
    (headers["content-length"] ?? ["0"]).some((n) => n !== "0")
  )
    return { status: 413, why: "a request with a body is not read" };
  if (headers["expect"] !== undefined) return { status: 417, why: "Expect is not supported" };
  if (!target.startsWith("/")) return { status: 400, why: "the request target must be a path" };

  const question = target.indexOf("?");
  const path = question < 0 ? target : target.slice(0, question);
  const site = headers["sec-fetch-site"];
  if (path.startsWith(DATA) || path === TEXT || path.startsWith(ABLATE) || path.startsWith(ASK)) {
    const same = site === undefined ? origin !== undefined : site.length === 1 && site[0] === "same-origin";
    if (!same) return { status: 403, why: "only this server's own page may request data" };
    const search = question < 0 ? "" : target.slice(question + 1);
    const [, token, parameters = ""] = /^token=([\w-]+)(&.*)?$/.exec(search) ?? [];
    if (token === undefined || !matches(token)) return NO_TOKEN;
    if (path.startsWith(ABLATE)) return ablationRoute(path.slice(ABLATE.length), parameters);
    if (path.startsWith(ASK)) return questionRoute(path.slice(ASK.length), parameters);
    if (path === TEXT) return textRoute(parameters);
    return parameters === "" ? { kind: "data", id: path.slice(DATA.length) } : NO_TOKEN;
  }
  // A user may follow a link from another site to the first page; every other cross-site request is refused.
  const followed = path === "/" && headers["sec-fetch-mode"]?.[0] === "navigate";
  if (site !== undefined && !followed && !(site.length === 1 && /^(same-origin|none)$/.test(site[0])))
    return { status: 403, why: "a page of another site may not ask" };
  return { kind: "page", path };
}

/** A run of a model on a text: `&text=…&model=1&once=1`; without a number, the first model. */
function textRoute(parameters: string): Route | Refusal {
  const [, first = parameters, model = "0", once] =
    /^(&text=[^&]+)(?:&model=(\d{1,4}))?(&once=1)?$/.exec(parameters) ?? [];
  const text = parameterOf("text", first);
  return typeof text === "string"
    ? { kind: "text", text, model: Number(model), once: once !== undefined }
    : text;
}

/** A question to a model: `&question=…`, an object of JSON. */
function questionRoute(id: string, parameters: string): Route | Refusal {
  const text = parameterOf("question", parameters);
  if (typeof text !== "string") return text;
  let question: unknown;
  try {
    question = JSON.parse(text);
  } catch {}
  return typeof question === "object" && question !== null
    ? { kind: "ask", id, question }
    : { status: 400, why: "the question is no object of JSON" };
}

/** The only parameter of a request, decoded. */
function parameterOf(name: "text" | "question", parameters: string): string | Refusal {
  const [, parameter, text] = /^&(text|question)=([^&]+)$/.exec(parameters) ?? [];
  if (parameter !== name || text === undefined) return NO_TOKEN;
  if (text.length > MAX_TEXT_LENGTH) return { status: 413, why: `the ${name} is too long` };
  try {
    return decodeURIComponent(text);
  } catch {
    return { status: 400, why: `the ${name} is not UTF-8` };
  }
}

/** A run with heads ablated: `&heads=4.7,4.8m,2.1.5&position=3&attention=1`; `position` and `attention` are optional. */
function ablationRoute(id: string, parameters: string): Route | Refusal {
  const [, list, position, attention] =
    /^&heads=([\d.,m]*)(?:&position=(\d{1,7}))?(&attention=1)?$/.exec(parameters) ?? [];
  const named = list === undefined ? [] : list.split(",").slice(0, MAX_HEADS + 1);
  const heads = named.flatMap((one): RequestedHead[] => {
    const [, layer, head, mean, only] = /^(\d{1,5})\.(\d{1,5})(m?)(?:\.(\d{1,7}))?$/.exec(one) ?? [];
    if (layer === undefined) return [];
    return [
      {
        layer: Number(layer),
        head: Number(head),
        replace: mean === "m" ? "mean" : "zero",
        position: only === undefined ? null : Number(only),
      },
    ];
  });
  if (heads.length === 0 || heads.length < named.length || heads.length > MAX_HEADS)
    return {
      status: 400,
      why: "heads must be a list such as 4.7,4.8m,2.1.5: layer, head, m for the mean, token",
    };
  return {
    kind: "ablate",
    id,
    heads,
    position: position === undefined ? null : Number(position),
    attention: attention !== undefined,
  };
}

/** The bytes that a Range header requests (RFC 9110 §14.2): `[from, to)`, "unsatisfiable", or undefined for all bytes. */
export function rangeOf(
  header: readonly string[] | undefined,
  size: number,
): readonly [number, number] | "unsatisfiable" | undefined {
  const match = header?.length === 1 ? /^bytes=(\d{0,16})-(\d{0,16})$/.exec(header[0]) : null;
  if (match === null || (match[1] === "" && match[2] === "")) return undefined;
  const [first, last] = [Number(match[1]), Number(match[2])];
  const from = match[1] === "" ? Math.max(0, size - last) : first;
  const to = match[1] === "" || match[2] === "" ? size : Math.min(size, last + 1);
  if (match[1] !== "" && match[2] !== "" && last < first) return undefined;
  return from < to ? [from, to] : "unsatisfiable";
}
