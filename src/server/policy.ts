/**
 * What the local server asks of a request before it answers, and the headers of every answer. Pure functions; the
 * sockets are server.ts's.
 *
 * A page of another site can make a browser send requests to loopback, and by DNS rebinding even under a name of its
 * own. So: the Host must be this server's own address (RFC 9110 §7.2), an Origin or Sec-Fetch-Site that names another
 * site is refused everywhere (Fetch Metadata), and data needs a sign of the same origin and the token of the address
 * that was printed. There are no CORS headers at all.
 */

/** The policy of a page and of its workers. @param script what scripts may do besides being this server's own */
const policy = (script: string) =>
  `default-src 'none'; script-src 'self'${script}; worker-src 'self'; connect-src 'self'; ` +
  "img-src 'self' data:; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The headers of every answer, whatever its status. The explorer computes in plain JavaScript and compiles nothing. */
export const HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": policy(""),
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};

/** The headers of pages and scripts that compile heed's kernels: those of the Lab. */
export const WASM_HEADERS: Readonly<Record<string, string>> = {
  ...HEADERS,
  "Content-Security-Policy": policy(" 'wasm-unsafe-eval'"),
};

/** What is looked at of a request. */
export interface Asked {
  readonly method: string;
  /** The request target as received. */
  readonly target: string;
  /** Every value of each received header, by its name in lower case. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

/** A refusal: the status, and one line that says why. */
export interface Refusal {
  readonly status: 400 | 403 | 404 | 405 | 413 | 417;
  readonly why: string;
}

/** A head that the model is to run without. */
export interface AskedHead {
  readonly layer: number;
  readonly head: number;
  readonly replace: "zero" | "mean";
  readonly position: number | null;
}

/** Where a request leads: a path of the map of pages, a file of the user's by its id, or the model with a text. */
export type Route =
  | { readonly kind: "page"; readonly path: string }
  | { readonly kind: "data"; readonly id: string }
  /** A text to run the model on. */
  | { readonly kind: "text"; readonly text: string }
  /** A file's model, to be run on its text without some heads; `attention`: what that run's attention is, as a file. */
  | {
      readonly kind: "ablate";
      readonly id: string;
      readonly heads: readonly AskedHead[];
      readonly position: number | null;
      readonly attention: boolean;
    };

/** The names under which a server on `port` is reached; `host` is a further one that was requested. */
export function authorities(port: number, hosts: readonly string[]): ReadonlySet<string> {
  const names = hosts.map((host) => (host.includes(":") ? `[${host}]` : host).toLowerCase());
  return new Set(names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])));
}

const DATA = "/data/";
const TEXT = "/text";
const ABLATE = "/ablate/";
/** Heads that a request may name. */
const MAX_HEADS = 1024;
/** Letters of a text that a page may send, escapes included: a request's head holds 16 KiB. */
const TEXT_LETTERS = 12_000;

/**
 * Whether a request may be answered, and by what: the route, or a refusal. `own` are the server's authorities,
 * `matches` compares a token with the server's.
 */
export function decide(
  { method, target, headers }: Asked,
  own: ReadonlySet<string>,
  matches: (token: string) => boolean,
): Route | Refusal {
  const host = headers["host"];
  if (host?.length !== 1 || !own.has(host[0].toLowerCase()))
    return { status: 403, why: "this server answers only under its own address" };
  const origin = headers["origin"];
  const here = `http://${host[0].toLowerCase()}`;
  if (origin !== undefined && (origin.length !== 1 || origin[0].toLowerCase() !== here))
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
  if (path.startsWith(DATA) || path === TEXT || path.startsWith(ABLATE)) {
    const same = site === undefined ? origin !== undefined : site.length === 1 && site[0] === "same-origin";
    if (!same) return { status: 403, why: "data is given to this server's own page only" };
    const search = question < 0 ? "" : target.slice(question + 1);
    if (path.startsWith(ABLATE)) return ablation(path.slice(ABLATE.length), search, matches);
    const [, token, text] = /^token=([\w-]+)(?:&text=([^&]+))?$/.exec(search) ?? [];
    if (token === undefined || !matches(token) || (text !== undefined) !== (path === TEXT))
      return { status: 403, why: "the address lacks its token: open the one that heed printed" };
    if (text !== undefined) {
      if (text.length > TEXT_LETTERS) return { status: 413, why: "the text is too long" };
      try {
        return { kind: "text", text: decodeURIComponent(text) };
      } catch {
        return { status: 400, why: "the text is no UTF-8" };
      }
    }
    return { kind: "data", id: path.slice(DATA.length) };
  }
  // A link on another site may lead here; nothing else of another site may ask.
  const followed = path === "/" && headers["sec-fetch-mode"]?.[0] === "navigate";
  if (site !== undefined && !followed && !(site.length === 1 && /^(same-origin|none)$/.test(site[0])))
    return { status: 403, why: "a page of another site may not ask" };
  return { kind: "page", path };
}

/** A run without heads: `token=…&heads=4.7,4.8m,2.1.5&position=3&attention=1`, of which the last two may be left out. */
function ablation(id: string, search: string, matches: (token: string) => boolean): Route | Refusal {
  const [, token, rest] = /^token=([\w-]+)(&.*)?$/.exec(search) ?? [];
  if (token === undefined || !matches(token))
    return { status: 403, why: "the address lacks its token: open the one that heed printed" };
  const [, list, position, attention] =
    /^&heads=([\d.,m]*)(?:&position=(\d{1,7}))?(&attention=1)?$/.exec(rest ?? "") ?? [];
  const named = list === undefined ? [] : list.split(",").slice(0, MAX_HEADS + 1);
  const heads = named.flatMap((one): AskedHead[] => {
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

/** The bytes a Range header asks for (RFC 9110 §14.2): `[from, to)`, "unsatisfiable", or undefined: all of them. */
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
