/** Native Float16Arrays (Node 24) are read, written, copied and merged like bits in a Uint16Array, and keep their class. */
import { describe, expect, it } from "vitest";
import { cast } from "../api/cast.ts";
import { mergeStates, type State, scaledDotProductAttention, tensor } from "../index.ts";
import { readSafetensors, writeNpy, writeSafetensors } from "../io/index.ts";
import { narrow, readerOf, writerOf } from "./dtype.ts";
import { asTensor } from "./tensor.ts";

const Half = (globalThis as unknown as { Float16Array?: new (values: number[] | number) => Float32Array })
  .Float16Array;
const VALUES = [1, -2.5, 0.333251953125, 65504, 6e-8, 0];

describe.skipIf(Half === undefined)("a native Float16Array", () => {
  const native = () => new Half!(VALUES);
  const bits = cast(tensor(VALUES, [2, 3]), "float16");

  it("has the same numbers as its bits, and keeps its class through a transpose and a copy", () => {
    const half = asTensor("test", { data: native(), shape: [2, 3] } as never);
    expect(half.dtype).toBe("float16");
    expect(half.toFloat64()).toEqual(bits.toFloat64());
    const turned = half.transpose().contiguous();
    expect(turned.data.constructor.name).toBe("Float16Array");
    expect(turned.toArray()).toEqual(bits.transpose().toArray());
    const data = native();
    writerOf("float16", data as never)(1, 0.1);
    expect(readerOf("float16", data as never)(1)).toBe(0.0999755859375);
  });

  it("is written like the bits", () => {
    const half = { data: native(), shape: [2, 3] } as never;
    expect(writeSafetensors({ x: half })).toEqual(writeSafetensors({ x: bits }));
    expect(writeNpy(half)).toEqual(writeNpy(bits));
    expect(readSafetensors(writeSafetensors({ x: half })).tensors.get("x")).toMatchObject({
      dtype: "float16",
    });
  });

  it("of two partial results merges to a native Float16Array", () => {
    const half = { data: native(), shape: [2, 3] } as never;
    const part = scaledDotProductAttention(half, half, half) as State;
    expect(part.output.data.constructor.name).toBe("Float16Array");
    const { output } = mergeStates([part, scaledDotProductAttention(half, half, half)]);
    expect(output.data.constructor.name).toBe("Float16Array");
    expect(output.toFloat64()).toEqual(part.output.toFloat64());
  });
});

it("rounding a row to 16 bits keeps the sign of NaN, keeps infinities, and overflows to them", () => {
  const row = Float32Array.of(Number.NaN, Infinity, -Infinity, 65519.99, 65520, -1e30, 1e-9, 3.4e38);
  const half = new Uint16Array(row.length);
  narrow("float16", row, half);
  expect([...half]).toEqual([0x7e00, 0x7c00, 0xfc00, 0x7bff, 0x7c00, 0xfc00, 0, 0x7c00]);
  narrow("bfloat16", row, half);
  expect([...half]).toEqual([0x7fc0, 0x7f80, 0xff80, 0x4780, 0x4780, 0xf14a, 0x3089, 0x7f80]);
});
