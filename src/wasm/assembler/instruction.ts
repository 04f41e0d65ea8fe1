/**
 * WebAssembly's instructions as functions from values to a value: one row for each instruction in the file of its type, with its
 * opcode, operand types and result type. Only instructions that the kernels use. Names and opcodes are those of the specification
 * (WebAssembly 3.0; relaxed SIMD). 0xfd is the prefix of SIMD instructions; the number after it is the instruction. A program
 * bundles the rows of the kernels that it calls.
 */
import {
  type Code,
  type I32Value,
  operand,
  unsigned,
  Value,
  type ValueOperand,
  type ValueType,
} from "./value.ts";

type Operands<I extends readonly ValueType[]> = { -readonly [N in keyof I]: ValueOperand<I[N]> };

/** The code of operands, then `last`. */
function codeOf(types: readonly ValueType[], operands: readonly (Value | number)[], last: Code): Code {
  const code: (number | Code)[] = new Array(types.length + 1);
  for (let n = 0; n < types.length; n++) code[n] = operand(types[n], operands[n]).code;
  code[types.length] = last;
  return code;
}

/** An instruction of one byte. */
// @__NO_SIDE_EFFECTS__
export function plain<const I extends readonly ValueType[], const O extends ValueType>(
  op: number,
  from: I,
  to: O,
) {
  const row = [op];
  return (...operands: Operands<I>): Value<O> => new Value(to, codeOf(from, operands, row));
}

/** An instruction with the prefix of SIMD. */
// @__NO_SIDE_EFFECTS__
export function simd<const I extends readonly ValueType[], const O extends ValueType>(
  op: number,
  from: I,
  to: O,
) {
  const row = [0xfd, ...unsigned(op)];
  return (...operands: Operands<I>): Value<O> => new Value(to, codeOf(from, operands, row));
}

/** A load at `address + offset`, with log2 of its natural alignment. */
// @__NO_SIDE_EFFECTS__
export function loadOf<const O extends ValueType>(type: O, code: readonly number[], align: number) {
  return (address: I32Value | number, offset = 0): Value<O> =>
    new Value(type, [operand("i32", address).code, code, align, unsigned(offset)]);
}

/** An instruction followed by a lane number. */
// @__NO_SIDE_EFFECTS__
export function laneOf<const I extends readonly ValueType[], const O extends ValueType>(
  op: number,
  from: I,
  to: O,
) {
  return (...args: [...Operands<I>, lane: number]): Value<O> => {
    const lane = args[from.length] as number;
    return new Value(to, codeOf(from, args, [0xfd, op, lane]));
  };
}
