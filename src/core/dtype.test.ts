/** 16-bit formats against their definitions, every pattern of them; names and arrays. */
import { expect, it, vi } from "vitest";
import {
  arrayFor,
  BYTES,
  checkArray,
  type DType,
  dtypeOf,
  dtypeOfArray,
  fromBfloat16,
  fromFloat16,
  isFloat,
  readerOf,
  toBfloat16,
  toFloat16,
  writerOf,
} from "./dtype.ts";
import { DTypeError } from "./errors.ts";

/** Value of a binary format of `e` exponent and `f` fraction bits, from its definition. */
function defined(bits: number, e: number, f: number): number {
  const sign = bits >> (e + f) ? -1 : 1;
  const exponent = (bits >> f) & (2 ** e - 1);
  const fraction = (bits & (2 ** f - 1)) / 2 ** f;
  const bias = 2 ** (e - 1) - 1;
  if (exponent === 2 ** e - 1) return fraction ? Number.NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** (1 - bias) : sign * (1 + fraction) * 2 ** (exponent - bias);
}

it("every float16 and bfloat16 pattern has the value of its definition, and survives a round trip", () => {
  for (let bits = 0; bits < 65536; bits++) {
    for (const [from, to, e, f] of [
      [fromFloat16, toFloat16, 5, 10],
      [fromBfloat16, toBfloat16, 8, 7],
    ] as const) {
      const x = from(bits);
      const want = defined(bits, e, f);
      if (!Object.is(x, want)) expect.fail(`${bits}: ${x}, expected ${want}`);
      if (x === x && to(x) !== bits) expect.fail(`${x} became ${to(x)}, expected ${bits}`);
    }
  }
});

it("numbers between two patterns round to the nearer one, ties to even, once from float64", () => {
  for (const [from, to, last] of [
    [fromFloat16, toFloat16, 0x7bff],
    [fromBfloat16, toBfloat16, 0x7f7f],
  ] as const)
    for (let bits = 0; bits < last; bits += 1 + (bits & 7)) {
      const [a, b] = [from(bits), from(bits + 1)];
      const middle = (a + b) / 2;
      const even = bits % 2 === 0 ? bits : bits + 1;
      expect(to(middle)).toBe(even);
      expect(to(-middle)).toBe(even | 0x8000);
      // A float64 near a tie that float32 would round to the tie.
      if (middle > 1e-30) {
        expect(to(middle * (1 + 2 ** -50))).toBe(bits + 1);
        expect(to(middle * (1 - 2 ** -50))).toBe(bits);
      }
    }
});

it("overflow becomes ∞, NaN stays NaN, −0 stays −0", () => {
  expect([65519.99, 65520, 1e300, -1e300].map(toFloat16)).toEqual([0x7bff, 0x7c00, 0x7c00, 0xfc00]);
  expect([3.3895e38, 3.4e38, -Infinity].map(toBfloat16)).toEqual([0x7f7f, 0x7f80, 0xff80]);
  expect([toFloat16(Number.NaN), toBfloat16(Number.NaN)]).toEqual([0x7e00, 0x7fc0]);
  expect([toFloat16(-0), toBfloat16(-0), toFloat16(-1e-30), toBfloat16(-1e-60)]).toEqual([
    0x8000, 0x8000, 0x8000, 0x8000,
  ]);
});

it("accepts the spellings of ONNX Runtime, safetensors and NumPy, and no others", () => {
  const spellings: Record<string, DType> = {
    float: "float32", F32: "float32", "<f4": "float32", double: "float64", F64: "float64", "<f8": "float64",
    half: "float16", F16: "float16", "<f2": "float16", BF16: "bfloat16", bool: "bool", BOOL: "bool", "|b1": "bool",
    uint8: "bool", I32: "int32", "<i4": "int32", I64: "int64", "<i8": "int64",
  }; // biome-ignore format: pairs
  for (const [name, dtype] of Object.entries(spellings)) expect([name, dtypeOf(name)]).toEqual([name, dtype]);
  for (const name of ["int4", "", "Float32", "constructor", "toString", "__proto__"])
    expect(dtypeOf(name)).toBeUndefined();
});

it("each dtype has its array, its bytes, and a reader and writer that agree", () => {
  for (const dtype of ["float32", "float64", "float16", "bfloat16", "bool", "int32", "int64"] as const) {
    const data = arrayFor(dtype, 3);
    expect(data.BYTES_PER_ELEMENT).toBe(BYTES[dtype]);
    writerOf(dtype, data)(1, 1);
    expect([0, 1, 2].map(readerOf(dtype, data))).toEqual([0, 1, 0]);
    expect(isFloat(dtype)).toBe(dtype.includes("float"));
    expect(() => checkArray("x", data, dtype)).not.toThrow();
  }
  expect(dtypeOfArray(new Uint16Array(1))).toBeUndefined();
  expect(dtypeOfArray([1])).toBeUndefined();
  expect(() => checkArray("query", new Int8Array(2), "bool")).toThrow(DTypeError);
  expect(() => checkArray("query", new Float32Array(2), "bfloat16")).toThrow(
    /query: dtype bfloat16 is stored in a Uint16Array of bits, got Float32Array of 2/,
  );
});

it("float16 reads the same where the engine has no Float16Array", () => {
  const bits = Uint16Array.from({ length: 65536 }, (_, at) => at);
  const native = readerOf("float16", bits);
  vi.stubGlobal("Float16Array", undefined);
  const table = readerOf("float16", bits);
  vi.unstubAllGlobals();
  for (const at of bits)
    if (!Object.is(native(at), table(at))) expect.fail(`${at}: ${native(at)}, ${table(at)}`);
});
