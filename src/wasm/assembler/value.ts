/**
 * Values of a kernel in construction: a type and the code that pushes the value. An instruction is a function from
 * values to a value, so a kernel reads as assignments. The code of a value is emitted at each use: a value that is used twice
 * goes into a local (`f.let`). Types are checked by TypeScript, and again when the kernel is built.
 */

export type ValueType = "i32" | "f32" | "f64" | "v128";

/** Value types in the binary format. */
export const TYPE: Readonly<Record<ValueType, number>> = { i32: 0x7f, f32: 0x7d, f64: 0x7c, v128: 0x7b };

/** Numbers of one byte share their lists: a kernel has tens of thousands of them. */
const SINGLE: readonly (readonly number[])[] = Array.from({ length: 128 }, (_, byte) => [byte]);

/** Unsigned LEB128. */
export function unsigned(value: number): readonly number[] {
  if (value < 128) return SINGLE[value];
  const bytes: number[] = [];
  do {
    const low = value % 128;
    value = Math.floor(value / 128);
    bytes.push(value > 0 ? low | 128 : low);
  } while (value > 0);
  return bytes;
}

/** Signed LEB128 of a 32-bit integer. */
export function signed(value: number): readonly number[] {
  if (value >= -64 && value < 64) return SINGLE[value & 127];
  const bytes: number[] = [];
  value |= 0;
  for (;;) {
    const low = value & 127;
    value >>= 7;
    if ((value === 0 && (low & 64) === 0) || (value === -1 && (low & 64) !== 0)) {
      bytes.push(low);
      return bytes;
    }
    bytes.push(low | 128);
  }
}

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

/** Selects four 32-bit lanes of `a` (0–3) and `b` (4–7). */
export function shuffle32(a: V128Value, b: V128Value, lanes: readonly number[]): V128Value {
  const bytes = lanes.flatMap((n) => [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3]);
  return new Value("v128", [a.code, b.code, [0xfd, 0x0d], bytes]);
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
