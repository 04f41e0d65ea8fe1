/**
 * A JSON scanner for the headers of files (RFC 8259), stricter than `JSON.parse`: a duplicate key, the key
 * `__proto__`, a lone surrogate, bytes that are not UTF-8, deep nesting and numbers that are not exact are
 * rejected with their byte offset. Objects come as Maps. It works on the bytes, so offsets are
 * those of the file, and passes on each member of the root as soon as it is complete, so that a bad entry of a
 * long header is refused before the rest is read.
 */
import { ascii, quote, type Refuse, utf8 } from "./refuse.ts";

/** A JSON value; objects are Maps. */
export type Json = null | boolean | number | string | Json[] | Map<string, Json>;

/** What the scanner allows. */
export interface JsonLimits {
  /** Deepest nesting; 16. */
  readonly maxDepth?: number;
  /** Longest array; no limit. */
  readonly maxItems?: number;
  /** `"integers"` (the default) refuses fractions and exponents; `"finite"` takes them. */
  readonly numbers?: "integers" | "finite";
  /** What the keys of the root are, for errors; `"fields"`. */
  readonly rootKeys?: "fields" | "tensors";
}

/**
 * Reads one JSON object whose bytes are all of `bytes`, and calls `member` for each of its keys with the value
 * and the byte at which the value begins.
 */
// long: the parsers of values, texts and numbers share one cursor, so they are closures of one function
export function scanObject(
  bytes: Uint8Array,
  refuse: Refuse,
  member: (key: string, value: Json, at: number) => void,
  {
    maxDepth = 16,
    maxItems = Number.POSITIVE_INFINITY,
    numbers = "integers",
    rootKeys = "fields",
  }: JsonLimits = {},
): void {
  let at = 0;
  const latin = ascii(bytes);

  const space = () => {
    while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  };
  const bad = (expected: string): never =>
    refuse(
      "json",
      at,
      at < bytes.length
        ? `expected ${expected}, got ${shown(bytes[at])}`
        : `the JSON ends where ${expected} should be`,
    );
  const expectCode = (code: number, expected: string) => {
    if (bytes[at] !== code) bad(expected);
    at++;
  };

  function value(depth: number): Json {
    const c = bytes[at];
    if (c === 0x22) return string();
    if (c === 0x7b) {
      const map = new Map<string, Json>();
      object(
        depth + 1,
        (key) => map.has(key),
        (key, item) => map.set(key, item),
      );
      return map;
    }
    if (c === 0x5b) return array(depth + 1);
    if (c === 0x2d || (c >= 0x30 && c <= 0x39)) return number();
    for (const [word, meaning] of WORDS)
      if (latin.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    return bad("a value");
  }

  function object(
    depth: number,
    isDuplicate: (key: string) => boolean,
    visit: (key: string, value: Json, at: number) => void,
  ): void {
    if (depth > maxDepth) refuse("json-depth", at, `nested deeper than ${maxDepth}`);
    at++;
    space();
    if (bytes[at] === 0x7d) {
      at++;
      return;
    }
    for (;;) {
      const start = at;
      if (bytes[at] !== 0x22) bad("a key");
      const key = string();
      if (isDuplicate(key)) {
        const tensor = depth === 1 && rootKeys === "tensors" ? key : undefined;
        refuse(
          "json-duplicate",
          start,
          tensor === undefined ? `the key ${quote(key)} appears twice` : "the name appears twice",
          tensor,
        );
      }
      if (key === "__proto__") refuse("json-key", start, "the key __proto__ is refused");
      space();
      expectCode(0x3a, '":"');
      space();
      const valueAt = at;
      visit(key, value(depth), valueAt);
      space();
      if (bytes[at] === 0x7d) break;
      expectCode(0x2c, '"," or "}"');
      space();
    }
    at++;
  }

  function array(depth: number): Json[] {
    if (depth > maxDepth) refuse("json-depth", at, `nested deeper than ${maxDepth}`);
    const items: Json[] = [];
    at++;
    space();
    if (bytes[at] === 0x5d) {
      at++;
      return items;
    }
    for (;;) {
      if (items.length === maxItems) refuse("json-items", at, `an array of more than ${maxItems} items`);
      items.push(value(depth));
      space();
      if (bytes[at] === 0x5d) break;
      expectCode(0x2c, '"," or "]"');
      space();
    }
    at++;
    return items;
  }

  function number(): number {
    const start = at;
    if (bytes[at] === 0x2d) at++;
    const first = at;
    while (bytes[at] >= 0x30 && bytes[at] <= 0x39) at++;
    if (at === first || (bytes[first] === 0x30 && at > first + 1))
      refuse("json-number", start, "not a JSON number");
    const integerEnd = at;
    if (numbers === "finite") {
      if (bytes[at] === 0x2e) digitsAfter(start);
      if (bytes[at] === 0x65 || bytes[at] === 0x45) {
        if (bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d) at++;
        digitsAfter(start);
      }
    } else if (bytes[at] === 0x2e || bytes[at] === 0x65 || bytes[at] === 0x45)
      refuse("json-number", start, "expected an integer, got a fraction or an exponent");
    // A number longer than any integer of 2^53 is not exact, so the text below stays short.
    if (at - start > 400) refuse("json-number", start, "a number of more than 400 characters");
    const text = latin.slice(start, at);
    const result = Number(text);
    if (at === integerEnd ? !Number.isSafeInteger(result) || Object.is(result, -0) : !Number.isFinite(result))
      refuse("json-number", start, `${text.slice(0, 40)} is not an exact number`);
    return result;
  }

  function digitsAfter(start: number): void {
    const first = ++at;
    while (bytes[at] >= 0x30 && bytes[at] <= 0x39) at++;
    if (at === first) refuse("json-number", start, "not a JSON number");
  }

  function string(): string {
    const start = at++;
    let digits = 0;
    let escapes = false;
    for (let c = bytes[at]; c !== 0x22; c = bytes[++at]) {
      if (c === undefined) refuse("json", start, "a string without an end");
      if (c < 0x20) refuse("json-string", at, `a control character ${shown(c)} in a string`);
      digits |= c;
      if (c !== 0x5c) continue;
      escapes = true;
      at++; // What is escaped may be a quote.
    }
    const end = at++;
    if (!escapes && digits < 0x80) return latin.slice(start + 1, end);
    const raw = bytes.subarray(start + 1, end);
    const text = utf8(escapes ? resolveEscapes(raw, start + 1, refuse) : raw);
    return text ?? refuse("json-utf8", start + 1, "a string that is not UTF-8");
  }

  space();
  if (bytes[at] !== 0x7b) bad("a JSON object");
  const keys = new Set<string>();
  object(
    1,
    (key) => keys.has(key),
    (key, item, start) => {
      keys.add(key);
      member(key, item, start);
    },
  );
  space();
  if (at < bytes.length) bad("the end of the JSON");
}

const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;

const ESCAPES: ReadonlyMap<number, number> = /* @__PURE__ */ new Map(
  [...'"\\/bfnrt'].map((c, i) => [c.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(i)]),
);

/** The bytes of a string with its escapes resolved; `base` is where it begins in the JSON. */
function resolveEscapes(raw: Uint8Array, base: number, refuse: Refuse): Uint8Array {
  const out = new Uint8Array(raw.length); // An escape is never shorter than the UTF-8 it encodes.
  let end = 0;
  /** The four hexadecimal digits of the escape \u at `at`, or −1. */
  const unit = (at: number): number => {
    const hex = raw[at] === 0x5c && raw[at + 1] === 0x75 ? ascii(raw.subarray(at + 2, at + 6)) : "";
    return /^[0-9a-fA-F]{4}$/.test(hex) ? Number.parseInt(hex, 16) : -1;
  };
  for (let at = 0; at < raw.length; ) {
    const short = raw[at] === 0x5c ? ESCAPES.get(raw[at + 1]) : raw[at];
    if (short !== undefined) {
      at += raw[at] === 0x5c ? 2 : 1;
      out[end++] = short;
      continue;
    }
    let point = unit(at);
    if (point < 0) refuse("json-string", base + at, "an escape that JSON does not know");
    const low = point >= 0xd800 && point < 0xdc00 ? unit(at + 6) : -1;
    if (low >= 0xdc00 && low < 0xe000) point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    else if (point >= 0xd800 && point < 0xe000)
      refuse("json-string", base + at, "half of a surrogate pair in a string");
    at += point > 0xffff ? 12 : 6;
    if (point < 0x80) out[end++] = point;
    else {
      // UTF-8: as many bytes after the first as it takes for 6 bits each.
      const more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
      out[end++] = [0, 0xc0, 0xe0, 0xf0][more] | (point >> (6 * more));
      for (let i = more - 1; i >= 0; i--) out[end++] = 0x80 | ((point >> (6 * i)) & 0x3f);
    }
  }
  return out.subarray(0, end);
}

/** A byte as a message shows it. */
function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f
    ? `"${String.fromCharCode(byte)}"`
    : `byte 0x${byte.toString(16).padStart(2, "0")}`;
}
