/**
 * A JSON reader for large arrays of numbers: nested lists of numbers become one flat array with a shape while they are read, so
 * ten million weights take 80 MB, not ten million boxed numbers. NaN and Infinity, which Python writes, are numbers, and `null`
 * among numbers is NaN, as JavaScript writes it. Strings are unchanged, unpaired surrogates included.
 */
import { FormatError } from "../../core/errors.ts";

/** A nested list of numbers: [shape] row-major. */
export class NumberList {
  readonly shape: readonly number[];
  readonly data: Float64Array;
  constructor(shape: readonly number[], data: Float64Array) {
    this.shape = shape;
    this.data = data;
  }
}

/** A value; objects are Maps. */
export type JsonValue = null | boolean | number | string | NumberList | JsonValue[] | Map<string, JsonValue>;

/** Deepest nesting. */
const DEPTH = 32;

/** Reads JSON in UTF-8. Errors begin with `name` and include the byte offset. */
export function readJson(bytes: Uint8Array, name: string): JsonValue {
  return new Scanner(bytes, name).document();
}

class Scanner {
  private readonly bytes: Uint8Array;
  private readonly name: string;
  private at = 0;
  private readonly utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(bytes: Uint8Array, name: string) {
    this.bytes = bytes;
    this.name = name;
  }

  document(): JsonValue {
    const { bytes } = this;
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) this.at = 3;
    const value = this.value(0);
    this.space();
    if (this.at < bytes.length) this.refuse("expected the end of the file");
    return value;
  }

  private refuse(what: string, at = this.at): never {
    if (this.at >= this.bytes.length && what !== "expected the end of the file")
      what = "the file ends in the middle of a value: it is cut off";
    throw new FormatError("json", `${this.name}: ${what} (byte ${at})`, { offset: at });
  }

  private space(): void {
    const { bytes } = this;
    for (let c = bytes[this.at]; c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09; ) c = bytes[++this.at];
  }

  private value(depth: number): JsonValue {
    if (depth > DEPTH) this.refuse(`nested deeper than ${DEPTH}`);
    this.space();
    const c = this.bytes[this.at];
    if (c === 0x22) return this.text();
    if (c === 0x7b) return this.object(depth);
    if (c === 0x5b) return this.beginsNumbers() ? this.numbers() : this.list(depth);
    for (const [word, meaning] of WORDS) if (this.takeWord(word)) return meaning;
    return this.number();
  }

  private object(depth: number): Map<string, JsonValue> {
    const map = new Map<string, JsonValue>();
    this.at++;
    this.space();
    if (this.takeIf(0x7d)) return map;
    for (;;) {
      this.space();
      if (this.bytes[this.at] !== 0x22) this.refuse("expected a key");
      const key = this.text();
      if (map.has(key)) this.refuse(`the key ${JSON.stringify(key.slice(0, 80))} appears twice`);
      this.space();
      if (!this.takeIf(0x3a)) this.refuse('expected ":"');
      map.set(key, this.value(depth + 1));
      this.space();
      if (this.takeIf(0x7d)) return map;
      if (!this.takeIf(0x2c)) this.refuse('expected "," or "}"');
    }
  }

  private list(depth: number): JsonValue[] {
    const items: JsonValue[] = [];
    this.at++;
    this.space();
    if (this.takeIf(0x5d)) return items;
    for (;;) {
      items.push(this.value(depth + 1));
      this.space();
      if (this.takeIf(0x5d)) return items;
      if (!this.takeIf(0x2c)) this.refuse('expected "," or "]"');
    }
  }

  /** True if the first value inside the brackets is a number. */
  private beginsNumbers(): boolean {
    const { bytes } = this;
    let at = this.at;
    let c = bytes[at];
    while (c === 0x5b || c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) c = bytes[++at];
    // Digits, −, NaN, Infinity, null.
    return (c >= 0x30 && c <= 0x39) || c === 0x2d || c === 0x4e || c === 0x49 || c === 0x6e;
  }

  /** A nested list of numbers. All lists at one depth have the same length. */
  private numbers(): NumberList {
    const shape: number[] = [];
    let data = new Float64Array(256);
    let size = 0;
    let rank = -1;
    const fill = (depth: number): void => {
      const start = this.at++;
      if (depth > DEPTH) this.refuse(`nested deeper than ${DEPTH}`, start);
      let count = 0;
      for (;;) {
        this.space();
        if (this.bytes[this.at] === 0x5b) {
          if (rank >= 0 && depth + 1 >= rank) this.refuse("a list where a number should be");
          fill(depth + 1);
        } else {
          if (rank < 0) rank = depth + 1;
          if (depth + 1 !== rank) this.refuse("a number where a list should be");
          if (size === data.length) {
            const wider = new Float64Array(2 * size);
            wider.set(data);
            data = wider;
          }
          data[size++] = this.takeWord("null") ? Number.NaN : this.number();
        }
        count++;
        this.space();
        if (this.takeIf(0x5d)) break;
        if (!this.takeIf(0x2c)) this.refuse('expected "," or "]"');
      }
      if (shape[depth] === undefined) shape[depth] = count;
      else if (shape[depth] !== count)
        this.refuse(
          `a list of ${count} at depth ${depth + 1} beside lists of ${shape[depth]}; all must be of one length`,
          start,
        );
    };
    fill(0);
    return new NumberList(shape, data.subarray(0, size));
  }

  private number(): number {
    const { bytes } = this;
    const start = this.at;
    const negative = this.takeIf(0x2d);
    if (this.takeWord("Infinity")) return negative ? -Infinity : Infinity;
    if (!negative && this.takeWord("NaN")) return Number.NaN;
    // Up to 15 digits with a power of ten up to 22 are exact in float64; the engine parses other numbers.
    let [digits, mantissa, power] = [0, 0, 0];
    let c = bytes[this.at];
    const integer = this.at;
    for (; c >= 0x30 && c <= 0x39; c = bytes[++this.at]) {
      mantissa = 10 * mantissa + (c - 0x30);
      digits++;
    }
    if (this.at === integer) this.refuse("expected a value", start);
    if (bytes[integer] === 0x30 && this.at > integer + 1) this.refuse("not a JSON number", start);
    if (c === 0x2e) {
      const point = ++this.at;
      for (c = bytes[this.at]; c >= 0x30 && c <= 0x39; c = bytes[++this.at]) {
        mantissa = 10 * mantissa + (c - 0x30);
        digits++;
        power--;
      }
      if (this.at === point) this.refuse("not a JSON number", start);
    }
    if (c === 0x65 || c === 0x45) {
      c = bytes[++this.at];
      const down = c === 0x2d;
      if (down || c === 0x2b) c = bytes[++this.at];
      const first = this.at;
      let exponent = 0;
      for (; c >= 0x30 && c <= 0x39; c = bytes[++this.at])
        exponent = Math.min(9999, 10 * exponent + (c - 0x30));
      if (this.at === first) this.refuse("not a JSON number", start);
      power += down ? -exponent : exponent;
    }
    if (this.at - start > 400) this.refuse("a number of more than 400 characters", start);
    if (digits <= 15 && power >= -22 && power <= 22) {
      const size = power < 0 ? mantissa / 10 ** -power : mantissa * 10 ** power;
      return negative ? -size : size;
    }
    return Number(this.utf8.decode(bytes.subarray(start, this.at)));
  }

  private text(): string {
    const { bytes } = this;
    const start = this.at++;
    let escapes = false;
    for (let c = bytes[this.at]; c !== 0x22; c = bytes[++this.at]) {
      if (c === undefined) this.refuse("a string without an end", start);
      if (c < 0x20) this.refuse("a control character in a string");
      if (c !== 0x5c) continue;
      escapes = true;
      this.at++;
    }
    const raw = bytes.subarray(start, ++this.at);
    const text = this.utf8.decode(raw);
    if (!escapes) return text.slice(1, -1);
    try {
      return JSON.parse(text);
    } catch {
      return this.refuse("a string with an invalid escape", start);
    }
  }

  private takeIf(code: number): boolean {
    if (this.bytes[this.at] !== code) return false;
    this.at++;
    return true;
  }

  private takeWord(word: string): boolean {
    for (let n = 0; n < word.length; n++) if (this.bytes[this.at + n] !== word.charCodeAt(n)) return false;
    this.at += word.length;
    return true;
  }
}

const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;
