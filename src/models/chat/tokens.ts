/** The tokens of a chat template, with the white space around blocks trimmed as transformers trims it (trim_blocks, lstrip_blocks). */
import { FormatError } from "../../core/errors.ts";

/** A token of a template. */
export interface TemplateToken {
  readonly kind: "text" | "open" | "close" | "name" | "number" | "string" | "symbol" | "end";
  readonly text: string;
  readonly at: number;
}

/** Throws a FormatError about a place in a template. */
export function refuseTemplate(what: string, at?: number): never {
  throw new FormatError(
    "chat-template",
    `chat template: ${what}${at === undefined ? "" : ` (character ${at})`}`,
    { offset: at },
  );
}

const SYMBOL = /^(?:\*\*|\/\/|==|!=|<=|>=|[-+*/%~<>=.,:;|()[\]{}])/;

/** The tokens of a template. */
export function tokensOf(source: string): TemplateToken[] {
  const tokens: TemplateToken[] = [];
  let at = 0;
  let trim: "all" | "line" | "none" = "none";
  const text = (from: number, to: number, stripEnd: boolean, stripLine: boolean) => {
    let part = source.slice(from, to);
    if (trim === "all") part = part.replace(/^\s+/, "");
    else if (trim === "line") part = part.replace(/^\r?\n/, "");
    if (stripEnd) part = part.replace(/\s+$/, "");
    // Spaces before a block that begins a line.
    else if (
      stripLine &&
      (/\n[ \t]*$/.test(part) || (/^[ \t]*$/.test(part) && (from === 0 || trim === "line")))
    )
      part = part.replace(/[ \t]+$/, "");
    if (part !== "") tokens.push({ kind: "text", text: part, at: from });
  };
  while (at < source.length) {
    const open = /\{[{%#]/g;
    open.lastIndex = at;
    const match = open.exec(source);
    if (match === null) {
      text(at, source.length, false, false);
      break;
    }
    const kind = match[0];
    const start = match.index;
    const sign = source[start + 2] === "-" || source[start + 2] === "+" ? source[start + 2] : "";
    text(at, start, sign === "-", kind !== "{{" && sign !== "+");
    let inside = start + 2 + sign.length;
    if (kind === "{#") {
      const end = source.indexOf("#}", inside);
      if (end < 0) return refuseTemplate("a comment does not end", start);
      at = end + 2;
      trim = source[end - 1] === "-" ? "all" : "line";
      continue;
    }
    tokens.push({ kind: "open", text: kind, at: start });
    const close = kind === "{{" ? "}}" : "%}";
    let depth = 0;
    for (;;) {
      while (/\s/.test(source[inside] ?? "")) inside++;
      if (inside >= source.length) return refuseTemplate(`${kind} does not end`, start);
      const isMinus =
        (source[inside] === "-" || source[inside] === "+") && source.startsWith(close, inside + 1);
      if (depth === 0 && (isMinus || source.startsWith(close, inside))) {
        at = inside + close.length + (isMinus ? 1 : 0);
        trim = isMinus && source[inside] === "-" ? "all" : kind === "{%" && !isMinus ? "line" : "none";
        tokens.push({ kind: "close", text: close, at: inside });
        break;
      }
      const token = tokenAt(source, inside);
      if (/^[([{]$/.test(token.text) && token.kind === "symbol") depth++;
      if (/^[)\]}]$/.test(token.text) && token.kind === "symbol") depth--;
      tokens.push(token);
      inside += token.kind === "string" ? stringEnd(source, inside) - inside : token.text.length;
    }
  }
  tokens.push({ kind: "end", text: "", at: source.length });
  return tokens;
}

function stringEnd(source: string, at: number): number {
  const quote = source[at];
  for (let i = at + 1; i < source.length; i++) {
    if (source[i] === "\\") i++;
    else if (source[i] === quote) return i + 1;
  }
  return refuseTemplate("a text does not end", at);
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\n": "",
  n: "\n",
  t: "\t",
  r: "\r",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

function tokenAt(source: string, at: number): TemplateToken {
  const character = source[at];
  if (character === "'" || character === '"') {
    const raw = source.slice(at + 1, stringEnd(source, at) - 1);
    const text = raw.replace(/\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])/g, (sequence, one: string) =>
      one.length > 1 ? String.fromCharCode(Number.parseInt(one.slice(1), 16)) : (ESCAPES[one] ?? sequence),
    );
    return { kind: "string", text, at };
  }
  const rest = source.slice(at, at + 256);
  const name = /^[A-Za-z_]\w*/.exec(rest);
  if (name) return { kind: "name", text: name[0], at };
  const number = /^\d+(?:\.\d+)?/.exec(rest);
  if (number) return { kind: "number", text: number[0], at };
  const symbol = SYMBOL.exec(rest);
  if (symbol) return { kind: "symbol", text: symbol[0], at };
  return refuseTemplate(`the character ${JSON.stringify(character)}`, at);
}
