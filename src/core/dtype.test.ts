/** 16-bit formats against their definitions, every pattern of them; names and arrays. */
import { expect, it, vi } from "vitest";
import { scaledDotProductAttention } from "../api/attention.ts";
import { cast } from "../api/cast.ts";
import { tensor, zeros } from "./create/construct.ts";
import {
  arrayFor,
  checkArray,
  DTYPES,
  type DType,
  dtypeOf,
  dtypeOfArray,
  FLOAT_DTYPES,
  fromBfloat16,
  fromFloat16,
  isFloat,
  readerOf,
  roundingOf,
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

it("the rounding of a float dtype is half the distance from 1 to the next number", () => {
  for (const dtype of FLOAT_DTYPES) {
    const data = arrayFor(dtype, 1);
    const [read, write] = [readerOf(dtype, data), writerOf(dtype, data)];
    const rounded = (x: number) => {
      write(0, x);
      return read(0);
    };
    const half = roundingOf(dtype);
    expect([rounded(1 + half), rounded(1 + 2 * half)], dtype).toEqual([1, 1 + 2 * half]);
  }
});

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
    uint8: "uint8", "|u1": "uint8", U8: "uint8", F8_E4M3: "float8_e4m3fn",
    F8_E5M2: "float8_e5m2", I32: "int32", "<i4": "int32", I64: "int64", "<i8": "int64",
  }; // biome-ignore format: pairs
  for (const [name, dtype] of Object.entries(spellings)) expect([name, dtypeOf(name)]).toEqual([name, dtype]);
  for (const name of ["int4", "", "Float32", "constructor", "toString", "__proto__"])
    expect(dtypeOf(name)).toBeUndefined();
});

it("each dtype has its array, its bytes, and a reader and writer that agree", () => {
  for (const dtype of Object.keys(DTYPES) as DType[]) {
    const data = arrayFor(dtype, 3);
    expect(data.BYTES_PER_ELEMENT).toBe(DTYPES[dtype].bytes);
    writerOf(dtype, data)(1, 1);
    expect([0, 1, 2].map(readerOf(dtype, data))).toEqual([0, 1, 0]);
    expect(isFloat(dtype)).toBe(/float\d\d/.test(dtype));
    expect(() => checkArray("x", data, dtype)).not.toThrow();
  }
  expect(() => dtypeOfArray("q", new Uint16Array(1))).toThrow(
    /^q: Uint16Array of 1 does not say its dtype; pass dtype "float16" or "bfloat16", or for float32 numbers a Float32Array$/,
  );
  expect(() => dtypeOfArray("q", [1])).toThrow(/^q: no dtype is stored in \[1\]; pass a Float32Array$/);
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

it("bytes have a dtype by name: a mask, pixels, 8-bit floats", () => {
  expect(() => tensor(new Uint8Array(4), [2, 2])).toThrow(
    /^tensor: Uint8Array of 4 does not say its dtype; pass dtype "bool" or "uint8" or "float8_e4m3fn"/,
  );
  expect(() => tensor({ data: new Uint8ClampedArray(4), shape: [4] })).toThrow(/does not say its dtype/);
  expect(tensor(Uint8Array.of(1, 0), [2], "bool").toArray()).toEqual([true, false]);
  const pixels = tensor(Uint8Array.of(12, 255), [2], "uint8");
  expect(pixels.toArray()).toEqual([12, 255]);
  expect(String(pixels)).toBe("tensor [2] uint8\n[ 12, 255]");
  expect(tensor(JSON.parse(JSON.stringify(pixels))).toArray()).toEqual([12, 255]);
  expect(cast(pixels, "float32").toArray()).toEqual([12, 255]);
  expect(cast(tensor([0.9, 255.5]), "uint8").toArray()).toEqual([0, 255]);
  expect(() => cast(tensor([256]), "uint8")).toThrow("cast: uint8 cannot hold 256");
  expect(() => tensor([-1], "uint8")).toThrow("tensor: -1 does not fit uint8");
  for (const dtype of ["uint8", "float8_e4m3fn", "float8_e5m2"] as const)
    expect(() => scaledDotProductAttention(zeros([2, 2], dtype), zeros([2, 2]), zeros([2, 2]))).toThrow(
      /got query \[2, 2\] .*convert the others: cast\(x, "float32"\)/,
    );
});

/** Values of an 8-bit float by its definition; `finite` formats have no ∞, and only the last pattern is NaN. */
const FLOAT8 = [
  ["float8_e4m3fn", 4, 3, true],
  ["float8_e5m2", 5, 2, false],
] as const;

it("every float8 pattern has the value of its definition, and cast rounds to nearest even", () => {
  for (const [dtype, e, f, finite] of FLOAT8) {
    const bits = Uint8Array.from({ length: 256 }, (_, at) => at);
    const wide = cast(tensor(bits, [256], dtype), "float32").data;
    for (const at of bits) {
      const magnitude = at & 127;
      const bias = 2 ** (e - 1) - 1;
      const normal = (1 + (magnitude & (2 ** f - 1)) / 2 ** f) * 2 ** ((magnitude >> f) - bias);
      const want =
        !finite || magnitude >> f < 2 ** e - 1
          ? defined(at, e, f)
          : magnitude === 127
            ? Number.NaN
            : at & 128
              ? -normal
              : normal;
      if (!Object.is(wide[at], want)) expect.fail(`${dtype} ${at}: ${wide[at]}, expected ${want}`);
    }
    // Back, from float32 and from float64, exactly; and from between two patterns, to the even one.
    const real = [...bits].filter((at) => !Number.isNaN(wide[at]));
    for (const from of ["float32", "float64"] as const) {
      const values = tensor(
        real.map((at) => wide[at]),
        [real.length],
      );
      expect([...cast(cast(values, from), dtype).data]).toEqual(real);
      const pairs = real.filter((at) => at < 127 && Number.isFinite(wide[at + 1]));
      const middle = tensor(
        pairs.map((at) => (wide[at] + wide[at + 1]) / 2),
        [pairs.length],
      );
      expect([...cast(cast(middle, from), dtype).data]).toEqual(pairs.map((at) => at + (at % 2)));
    }
  }
  // As in PyTorch, what is too large is NaN in a format without ∞.
  const large = cast(tensor([448, 464, 465, -1e9, Infinity, Number.NaN]), "float8_e4m3fn");
  expect([...large.data]).toEqual([0x7e, 0x7e, 0x7f, 0xff, 0x7f, 0x7f]);
  const infinite = cast(tensor([57344, 61439, 61440, -1e9, Infinity, Number.NaN]), "float8_e5m2");
  expect([...infinite.data]).toEqual([0x7b, 0x7b, 0x7c, 0xfc, 0x7c, 0x7f]);
});
