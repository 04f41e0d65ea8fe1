/**
 * A JSON scanner for the headers of files (RFC 8259), stricter than `JSON.parse`: a duplicate key, the key
 * `__proto__`, a lone surrogate, bytes that are not UTF-8, deep nesting and numbers that are not exact are
 * refused where they stand, with their byte offset. Objects come as Maps. It works on the bytes, so offsets are
 * those of the file, and hands each member of the root on as soon as it is whole, so that a bad entry of a
 * long header is refused before the rest is read.
 */
import { type Refuse, utf8 } from "./refuse.ts";

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
}

/**
 * Reads one JSON object whose bytes are all of `bytes`, and calls `member` for each of its keys with the value
 * and the byte at which the value begins.
 */
export function scanObject(
  bytes: Uint8Array,
  refuse: Refuse,
  member: (key: string, value: Json, at: number) => void,
  { maxDepth = 16, maxItems = Number.POSITIVE_INFINITY, numbers = "integers" }: JsonLimits = {},
): void {
  let at = 0;

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
  const take = (code: number, expected: string) => {
    if (bytes[at] !== code) bad(expected);
    at++;
  };

  function value(depth: number): Json {
    const c = bytes[at];
    if (c === 0x22) return string();
    if (c === 0x7b) {
      const map = new Map<string, Json>();
      object(depth + 1, (key, item) => map.set(key, item));
      return map;
    }
    if (c === 0x5b) return array(depth + 1);
    if (c === 0x2d || (c >= 0x30 && c <= 0x39)) return number();
    for (const [word, meaning] of WORDS)
      if (startsWith(word)) {
        at += word.length;
        return meaning;
      }
    return bad("a value");
  }

  function object(depth: number, visit: (key: string, value: Json, at: number) => void): void {
    if (depth > maxDepth) refuse("json-depth", at, `nested deeper than ${maxDepth}`);
    const keys = new Set<string>();
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
      if (keys.has(key)) refuse("json-duplicate", start, "the key comes twice", key);
      if (key === "__proto__") refuse("json-key", start, "the key __proto__ is refused", key);
      keys.add(key);
      space();
      take(0x3a, '":"');
      space();
      const valueAt = at;
      visit(key, value(depth), valueAt);
      space();
      if (bytes[at] === 0x7d) break;
      take(0x2c, '"," or "}"');
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
      take(0x2c, '"," or "]"');
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
    const whole = at;
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
    const text = String.fromCharCode(...bytes.subarray(start, at));
    const result = Number(text);
    if (at === whole ? !Number.isSafeInteger(result) || Object.is(result, -0) : !Number.isFinite(result))
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
    let text = "";
    let from = at;
    const flush = () => {
      const part = utf8(bytes.subarray(from, at));
      if (part === undefined) refuse("json-utf8", from, "a string that is not UTF-8");
      text += part;
    };
    for (;;) {
      const c = bytes[at];
      if (c === 0x22) break;
      if (c === undefined) refuse("json", start, "a string without an end");
      if (c < 0x20) refuse("json-string", at, `a control character ${shown(c)} in a string`);
      if (c !== 0x5c) {
        at++;
        continue;
      }
      flush();
      const escaped = ESCAPES.get(bytes[at + 1]);
      if (escaped !== undefined) {
        text += escaped;
        at += 2;
      } else {
        const hex = String.fromCharCode(...bytes.subarray(at + 2, at + 6));
        if (bytes[at + 1] !== 0x75 || !/^[0-9a-fA-F]{4}$/.test(hex))
          refuse("json-string", at, "an escape that JSON does not know");
        text += String.fromCharCode(Number.parseInt(hex, 16));
        at += 6;
      }
      from = at;
    }
    flush();
    at++;
    if (/\p{Surrogate}/u.test(text)) refuse("json-string", start, "half of a surrogate pair in a string");
    return text;
  }

  function startsWith(word: string): boolean {
    for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word.charCodeAt(i)) return false;
    return true;
  }

  space();
  if (bytes[at] !== 0x7b) bad("a JSON object");
  object(1, member);
  space();
  if (at < bytes.length) bad("the end of the JSON");
}

const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;

const ESCAPES: ReadonlyMap<number, string> = /* @__PURE__ */ new Map(
  [...'"\\/bfnrt'].map((c, i) => [c.charCodeAt(0), '"\\/\b\f\n\r\t'[i]]),
);

/** A byte as a message shows it. */
function shown(byte: number): string {
  return byte > 0x20 && byte < 0x7f
    ? `"${String.fromCharCode(byte)}"`
    : `byte 0x${byte.toString(16).padStart(2, "0")}`;
}
