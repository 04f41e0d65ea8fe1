/** Every instruction against another decoder (wabt) and the engine's own validation; LEB128 at its edges. */
import { describe, expect, it } from "vitest";
import wabtOf from "wabt";
import { hasRelaxed } from "../../backend/levels.ts";
import { type FunctionBuilder, ModuleBuilder, STORES } from "./builder.ts";
import { f32, f32x4, f64, i16x8, i32, i32x4, select, shuffle32, v128, ZERO } from "./index.ts";
import { signed, unsigned, type Value, type ValueType } from "./value.ts";

const wabt = await wabtOf();
const memory = { initial: 1, maximum: 2, shared: true };

/** The instructions of the last function of a module, one per line, without locals. */
function instructions(bytes: Uint8Array): string[] {
  const module = wabt.readWasm(bytes, { relaxed_simd: true, threads: true, simd: true });
  try {
    const text = module.toText({});
    const body = text.slice(text.lastIndexOf("(func (;"));
    return body
      .split("\n")
      .slice(1)
      .map((line) => line.trim().replace(/\)+$/, ""))
      .filter((line) => line !== "" && !/^\((export|local|type)/.test(line));
  } finally {
    module.destroy();
  }
}

/** The instructions of a function: those of the value it gives, or those `write` does by itself. */
function written(
  params: readonly ValueType[],
  result: ValueType | undefined,
  write: (args: readonly Value[], f: FunctionBuilder) => Value | undefined,
): string[] {
  const module = new ModuleBuilder(memory);
  module.func(
    "f",
    Object.fromEntries(params.map((type, n) => [`p${n}`, type])),
    (f, locals) => {
      const value = write(Object.values(locals), f);
      if (value) f.result(value);
    },
    { exported: true, result },
  );
  const bytes = module.encode();
  const read = instructions(bytes);
  const missing = !hasRelaxed() && read.some((line) => line.includes("relaxed"));
  if (!missing) expect(WebAssembly.validate(bytes), "the engine accepts it").toBe(true);
  return read;
}

const gets = (n: number) => Array.from({ length: n }, (_, i) => `local.get ${i}`);

describe("LEB128", () => {
  const decode = (bytes: readonly number[], sign: boolean): number => {
    let value = 0n;
    bytes.forEach((byte, n) => {
      value |= BigInt(byte & 127) << BigInt(7 * n);
      expect(byte >= 128, `byte ${n} of ${bytes.length} says whether more follow`).toBe(n < bytes.length - 1);
    });
    return Number(sign ? BigInt.asIntN(7 * bytes.length, value) : value);
  };
  const shortest = (x: number, sign: boolean) => {
    let n = 1;
    while (sign ? x < -(2 ** (7 * n - 1)) || x >= 2 ** (7 * n - 1) : x >= 2 ** (7 * n)) n++;
    return n;
  };

  it("unsigned: every power of two and its neighbors up to 2^32 survive a round trip, in the fewest bytes", () => {
    for (let p = 0; p <= 32; p++)
      for (const x of [2 ** p - 1, 2 ** p, 2 ** p + 1].filter((x) => x < 2 ** 32)) {
        expect(decode(unsigned(x), false)).toBe(x);
        expect(unsigned(x)).toHaveLength(shortest(x, false));
      }
    expect(unsigned(0)).toEqual([0]);
    expect(unsigned(624485)).toEqual([0xe5, 0x8e, 0x26]);
  });

  it("signed: the same for both signs; numbers past 2^31 are the same 32 bits", () => {
    for (let p = 0; p <= 31; p++)
      for (const y of [2 ** p - 1, 2 ** p, 2 ** p + 1])
        for (const x of [y, 0 - y].filter((x) => x >= -(2 ** 31) && x < 2 ** 31)) {
          expect(decode(signed(x), true)).toBe(x);
          expect(signed(x)).toHaveLength(shortest(x, true));
        }
    expect(signed(-123456)).toEqual([0xc0, 0xbb, 0x78]);
    expect(signed(0x85ebca6b)).toEqual(signed(0x85ebca6b | 0));
    expect(signed(2 ** 32 - 1)).toEqual([0x7f]);
  });
});

/** The operands and the result of every instruction but loads, as the specification states them. */
const SIGNATURES: Record<string, Record<string, string>> = {
  i32: {
    "i32 → i32": "eqz",
    "i32 i32 → i32": "eq ne lt_s lt_u gt_s le_s ge_s add sub mul div_s rem_s and or xor shl shr_s shr_u",
  },
  f32: { "f32 f32 → i32": "eq gt", "f32 f32 → f32": "add mul max" },
  f64: { "f64 f64 → f64": "add", "f32 → f64": "promote_f32" },
  v128: {
    "v128 → v128": "not",
    "v128 v128 → v128": "and andnot or xor",
    "v128 v128 v128 → v128": "bitselect",
    "v128 → i32": "any_true",
  },
  i32x4: {
    "i32 → v128": "splat",
    "v128 → v128": "abs neg extend_low_i16x8_u",
    "v128 i32 → v128": "shl shr_s shr_u",
    "v128 v128 → v128": "eq ne lt_s le_s ge_u add sub mul min_s max_s",
    "v128 lane → i32": "extract_lane",
    "v128 i32 lane → v128": "replace_lane",
  },
  f32x4: {
    "f32 → v128": "splat",
    "v128 → v128": "abs neg sqrt convert_i32x4_s",
    "v128 v128 → v128": "eq ne lt gt le ge add sub mul div min max pmin pmax",
    "v128 v128 v128 → v128": "relaxed_madd",
    "v128 lane → f32": "extract_lane",
    "v128 f32 lane → v128": "replace_lane",
  },
  i16x8: { "v128 → v128": "extend_low_i8x16_u" },
};

describe("each instruction is what its name says", () => {
  const modules: Record<string, object> = { i32, f32, f64, v128, i32x4, f32x4, i16x8 };
  for (const [prefix, module] of Object.entries(modules))
    it(`${prefix}: operands, result, lane; loads with natural alignment and offsets at the edges of LEB128`, () => {
      const calls = module as Record<string, (...x: unknown[]) => Value>;
      const loads = Object.keys(calls).filter((name) => name.startsWith("load"));
      // wabt writes the alignment only where it is not the natural one.
      for (const name of loads)
        for (const offset of [0, 1, 127, 128, 16384, 2 ** 20])
          expect(written(["i32"], prefix as ValueType, ([at]) => calls[name](at, offset))).toEqual([
            ...gets(1),
            `${prefix}.${name}${offset ? ` offset=${offset}` : ""}`,
          ]);
      const rows = Object.entries(SIGNATURES[prefix]).flatMap(([signature, names]) =>
        names.split(" ").map((name) => [name, signature.split(" → ")] as const),
      );
      expect(rows.map(([name]) => name).sort()).toEqual(
        Object.keys(calls)
          .filter((name) => !loads.includes(name))
          .sort(),
      );
      for (const [name, [from, to]] of rows) {
        const operands = from.split(" ").filter((type) => type !== "lane") as ValueType[];
        for (const lane of from.endsWith("lane") ? [0, 3] : [undefined]) {
          const got = written(operands, to as ValueType, (args) => calls[name](...args, lane));
          const text = `${prefix}.${name}${lane === undefined ? "" : ` ${lane}`}`;
          expect(got).toEqual([...gets(operands.length), text]);
        }
      }
    });

  it("stores, with natural alignment and offsets at the edges of LEB128", () => {
    for (const [name, { type }] of Object.entries(STORES))
      for (const offset of [0, 1, 127, 128, 16384, 2 ** 20])
        expect(
          written(["i32", type], undefined, ([at, x], f) => {
            f.store(name as keyof typeof STORES, at as never, x, offset);
            return undefined;
          }),
        ).toEqual([...gets(2), `${name}${offset ? ` offset=${offset}` : ""}`]);
  });

  it("shuffles, selects and zero", () => {
    expect(
      written(["v128", "v128"], "v128", ([a, b]) => shuffle32(a as never, b as never, [0, 4, 1, 7])),
    ).toEqual([...gets(2), "i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 28 29 30 31"]);
    expect(written(["i32", "i32", "i32"], "i32", ([a, b, c]) => select(a, b, c as never)).at(-1)).toBe(
      "select",
    );
    expect(written(["v128", "v128", "i32"], "v128", ([a, b, c]) => select(a, b, c as never)).at(-1)).toBe(
      "select (result v128",
    );
    expect(written([], "v128", () => ZERO)).toEqual([
      "v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000",
    ]);
  });

  it("constants: integers and floats with their exact bits", () => {
    for (const x of [0, -1, 63, 64, -64, -65, 2 ** 31 - 1, -(2 ** 31)])
      expect(written(["i32"], "i32", ([a]) => i32.add(a as never, x))).toContain(`i32.const ${x}`);
    for (const [x, bits] of [
      [-0, 0x80000000],
      [2 ** -149, 1],
      [Infinity, 0x7f800000],
      [-1.5, 0xbfc00000],
    ]) {
      const module = new ModuleBuilder(memory);
      module.func("f", {}, (f) => f.result(i32x4.extract_lane(f32x4.splat(x), 0)), {
        result: "i32",
        exported: true,
      });
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), {
        env: { memory: new WebAssembly.Memory(memory) },
      });
      expect((exports.f as () => number)() >>> 0).toBe(bits);
    }
  });
});

describe("invalid operands are rejected when the kernel is built", () => {
  const wrong = (x: unknown) => x as never;
  it("an operand of another type", () => {
    expect(() => i32.add(wrong(ZERO), 1)).toThrow(new TypeError("assembler: expected i32, got v128"));
    expect(() => f32x4.add(ZERO, wrong(f32.load(0)))).toThrow("expected v128, got f32");
    expect(() => f32.load(wrong(ZERO))).toThrow("expected i32, got v128");
  });
  it("an i32 constant with a fraction, NaN or infinite", () => {
    for (const x of [0.5, Number.NaN, Infinity])
      expect(() => i32.add(0, x)).toThrow("i32.const takes an integer");
  });
});
