import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Json, type JsonLimits, scanObject } from "./json.ts";
import { refuser } from "./refuse.ts";

function scan(text: string, limits?: JsonLimits): Map<string, Json> {
  const root = new Map<string, Json>();
  scanObject(new TextEncoder().encode(text), refuser("test"), (key, value) => root.set(key, value), limits);
  return root;
}

/** Maps as the objects `JSON.parse` makes. */
function plain(value: Json): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Map ? Object.fromEntries([...value].map(([k, v]) => [k, plain(v)])) : value;
}

const text = fc.string({ unit: "binary" }).filter((s) => s !== "__proto__" && !/\p{Surrogate}/u.test(s));
const integer = fc.maxSafeInteger().filter((n) => !Object.is(n, -0));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom(null, true, false),
    integer,
    text,
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 5 }),
  object: fc.dictionary(text, tie("value"), { maxKeys: 5 }),
}));

describe("the JSON scanner", () => {
  test("agrees with JSON.parse on every object of integers, texts, lists and objects", () => {
    fc.assert(
      fc.property(
        fc.dictionary(text, value),
        fc.constantFrom(undefined, 1, "\t", "\r\n "),
        (object, indent) => {
          expect(plain(scan(JSON.stringify(object, null, indent)))).toEqual({ ...object });
        },
      ),
      { numRuns: 500 },
    );
  });

  test("accepts nothing that JSON.parse refuses", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...'{}[]",:\\ \n01-.eu', "true", "null", '"a"'), { maxLength: 8 }),
        (parts) => {
          const json = `{${parts.join("")}`;
          let ours: unknown;
          try {
            ours = plain(scan(json, { numbers: "finite" }));
          } catch (error) {
            expect(error).toMatchObject({ name: "FormatError" });
            return;
          }
          expect(ours).toEqual(JSON.parse(json));
        },
      ),
      { numRuns: 20_000 },
    );
  });

  test("fractions and exponents are read where they are allowed, and only where they are finite", () => {
    expect(plain(scan('{"a":[1.5,-2e3,1E-7,0.25e+2,12]}', { numbers: "finite" }))).toEqual({
      a: [1.5, -2000, 1e-7, 25, 12],
    });
    for (const wrong of ["1e400", "1.", ".5", "1e", "1e+", "9007199254740993"])
      expect(() => scan(`{"a":${wrong}}`, { numbers: "finite" })).toThrow(
        expect.objectContaining({ name: "FormatError" }),
      );
  });

  test("16 levels are read, 17 are not", () => {
    const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
    expect(scan(nested(16)).size).toBe(1);
    expect(() => scan(nested(17))).toThrow(
      expect.objectContaining({ code: "json-depth", fields: { offset: 5 + 15 } }),
    );
  });

  test("members are passed with the byte offset of their value", () => {
    const entries: [string, number][] = [];
    scanObject(new TextEncoder().encode(' {"ä": 1, "b":[2]}'), refuser("test"), (key, _, at) =>
      entries.push([key, at]),
    );
    expect(entries).toEqual([
      ["ä", 8],
      ["b", 15],
    ]);
  });
});

describe("an escape in a string", () => {
  const value = (text: string) => scan(`{"a":"${text}"}`).get("a");

  test("is the character that it names, in one to four bytes of UTF-8", () => {
    for (const [written, character] of [
      ["\\u0041", "A"],
      ["\\u00e9", "\u00e9"],
      ["\\u20AC", "\u20ac"],
      ["\\ud83d\\ude00", "\u{1f600}"],
      ["x\\u0000y", "x\0y"],
    ])
      expect(value(written), written).toBe(character);
  });

  test("of half a surrogate pair, of three digits, or unknown to JSON is refused at its byte", () => {
    for (const [written, words] of [
      ["\\ud83d", "half of a surrogate pair in a string"],
      ["\\ude00\\ud83d", "half of a surrogate pair in a string"],
      ["\\ud83dxxxxxx", "half of a surrogate pair in a string"],
      ["\\u12g4", "an escape that JSON does not know"],
      ["\\q", "an escape that JSON does not know"],
    ])
      expect(() => value(written), written).toThrow(`${words} (byte 6)`);
  });
});
