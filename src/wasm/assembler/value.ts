/**
 * Values of a kernel in construction: a type and the code that pushes the value. An instruction is a function from
 * values to a value, so a kernel reads as assignments. The code of a value is emitted at each use: a value that is used twice
 * goes into a local (`f.let`). Types are checked by TypeScript, and again when the kernel is built.
 */
import type { OpcodeRow, ValueType } from "./opcodes.ts";
import {
  F32,
  F32X4,
  F64,
  I8X16,
  I16X8,
  I32,
  I32X4,
  LANE,
  MEMORY,
  SHUFFLE,
  signed,
  unsigned,
  V128,
} from "./opcodes.ts";

/** Code as a tree of bytes; flattened once when the module is encoded. */
export type Code = readonly (number | Code)[];

/** A value: its type and the code that pushes it. */
export class Value<T extends ValueType = ValueType> {
  readonly type: T;
  readonly code: Code;
  constructor(type: T, code: Code) {
    this.type = type;
    this.code = code;
  }
}

export type I32Value = Value<"i32">;
export type F32Value = Value<"f32">;
export type V128Value = Value<"v128">;
/** An i32 operand may be a plain number, an f32 operand too. */
export type ValueOperand<T extends ValueType> = T extends "v128" | "f64" ? Value<T> : Value<T> | number;

type Operands<I extends readonly ValueType[]> = { -readonly [N in keyof I]: ValueOperand<I[N]> };
type Calls<T extends Record<string, OpcodeRow>> = {
  readonly [N in keyof T]: (...args: Operands<T[N]["in"]>) => Value<T[N]["out"]>;
};

/** An operand as a value of a type; a number becomes a constant. */
export function operand<T extends ValueType>(type: T, x: ValueOperand<T> | Value): Value<T> {
  if (x instanceof Value) {
    if (x.type !== type) throw new TypeError(`assembler: expected ${type}, got ${x.type}`);
    return x as Value<T>;
  }
  return (type === "i32" ? constI32(x as number) : constF32(x as number)) as unknown as Value<T>;
}

function constI32(x: number): I32Value {
  if (!Number.isInteger(x)) throw new TypeError(`assembler: i32.const takes an integer, got ${x}`);
  return new Value("i32", [0x41, signed(x)]);
}

const FLOAT = new Float32Array(1);
const BYTES = new Uint8Array(FLOAT.buffer);

function constF32(x: number): F32Value {
  FLOAT[0] = x;
  return new Value("f32", [0x43, ...BYTES]);
}

function calls<T extends Record<string, OpcodeRow>>(table: T): Calls<T> {
  const out: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table))
    out[name] = (...args: (Value | number)[]) => {
      const code: (number | Code)[] = new Array(args.length + 1);
      for (let n = 0; n < args.length; n++) code[n] = operand(row.in[n], args[n]).code;
      code[args.length] = row.code;
      return new Value(row.out, code);
    };
  return out as Calls<T>;
}

/** A load at `address + offset`. */
function load<N extends keyof typeof MEMORY>(name: N) {
  const { type, code, align } = MEMORY[name];
  return (address: I32Value | number, offset = 0): Value<(typeof MEMORY)[N]["type"]> =>
    new Value(type, [operand("i32", address).code, code, align, unsigned(offset)]) as Value<
      (typeof MEMORY)[N]["type"]
    >;
}

/** Code of a store at `address + offset`; a statement, run by the function builder. */
export function storeCode(
  name: keyof typeof MEMORY,
  address: I32Value | number,
  value: Value | number,
  offset: number,
): Code {
  const { type, code, align } = MEMORY[name];
  return [operand("i32", address).code, operand(type, value).code, code, align, unsigned(offset)];
}

function lane<N extends keyof typeof LANE>(name: N) {
  const row = LANE[name];
  return (...args: [...Operands<(typeof LANE)[N]["in"]>, lane: number]): Value<(typeof LANE)[N]["out"]> => {
    const at = args.pop() as number;
    const code = (args as (Value | number)[]).map((x, n) => operand(row.in[n], x).code);
    return new Value(row.out, [...code, ...row.code, at]) as Value<(typeof LANE)[N]["out"]>;
  };
}

export const i32 = /* @__PURE__ */ Object.assign(calls(I32), {
  load: load("i32.load"),
  load8_u: load("i32.load8_u"),
  load16_s: load("i32.load16_s"),
});
export const f32 = /* @__PURE__ */ Object.assign(calls(F32), { load: load("f32.load") });
export const f64 = /* @__PURE__ */ Object.assign(calls(F64), { load: load("f64.load") });
export const v128 = /* @__PURE__ */ Object.assign(calls(V128), {
  load: load("v128.load"),
  load16x4_s: load("v128.load16x4_s"),
  load32_splat: load("v128.load32_splat"),
  load32_zero: load("v128.load32_zero"),
});
export const i32x4 = /* @__PURE__ */ Object.assign(calls(I32X4), {
  extract_lane: lane("i32x4.extract_lane"),
  replace_lane: lane("i32x4.replace_lane"),
});
export const f32x4 = /* @__PURE__ */ Object.assign(calls(F32X4), {
  extract_lane: lane("f32x4.extract_lane"),
  replace_lane: lane("f32x4.replace_lane"),
});
export const i16x8 = /* @__PURE__ */ calls(I16X8);
export const i8x16 = /* @__PURE__ */ Object.assign(calls(I8X16), {
  /** Selects 16 bytes of `a` (0–15) and `b` (16–31). */
  shuffle(a: V128Value, b: V128Value, bytes: readonly number[]): V128Value {
    return new Value("v128", [a.code, b.code, SHUFFLE, bytes]);
  },
});

/** Selects four 32-bit lanes of `a` (0–3) and `b` (4–7). */
export function shuffle32(a: V128Value, b: V128Value, lanes: readonly number[]): V128Value {
  return i8x16.shuffle(
    a,
    b,
    lanes.flatMap((n) => [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3]),
  );
}

/** `yes` where the condition is not 0, else `no`; both are computed. */
export function select<T extends ValueType>(yes: Value<T>, no: Value<T>, condition: I32Value): Value<T> {
  const typed = yes.type === "v128" ? [0x1c, 1, 0x7b] : [0x1b];
  return new Value(yes.type, [yes.code, no.code, condition.code, ...typed]);
}

/** Four zero lanes. V8 compiles this constant to an xor; other v128 constants are slow in hot loops and are loaded from memory. */
export const ZERO: V128Value = /* @__PURE__ */ new Value("v128", [
  0xfd,
  0x0c,
  ...new Array<number>(16).fill(0),
]);
