import { describe, expect, test } from "vitest";
import { tensor } from "../../core/create/construct.ts";
import { isDType } from "../../core/dtype.ts";
import { Tensor } from "../../core/tensor.ts";
import { ELEMENTS, FILE_DTYPES } from "../element.ts";
import { readNpy, writeNpy } from "../index.ts";

describe("npy", () => {
  test.each(FILE_DTYPES.filter((dtype) => ELEMENTS[dtype].npy))(
    "%s round-trips bit for bit, in every shape",
    (dtype) => {
      const { bytes: width, array } = ELEMENTS[dtype];
      for (const shape of [[], [1], [0], [7], [2, 3], [3, 0, 2], [2, 1, 2, 1, 2]]) {
        const size = shape.reduce((a, b) => a * b, 1);
        // Bytes that make NaNs with payloads, subnormals and negative zeros.
        const bytes = Uint8Array.from(
          { length: size * width },
          (_, i) => (i % 5 === 0 ? 0xff : i * 73) & 255,
        );
        const data = new array(bytes.buffer, 0, size);
        const t = readNpy(writeNpy({ data, shape, dtype }));
        expect([t.dtype, t.shape]).toEqual([dtype, shape]);
        expect(t instanceof Tensor).toBe(isDType(dtype));
        expect(new Uint8Array(t.data.buffer, t.data.byteOffset, t.data.byteLength)).toEqual(bytes);
      }
    },
  );

  test("reading aligned little-endian bytes copies nothing", () => {
    const file = writeNpy(tensor(new Float32Array(4), [4]));
    expect(readNpy(file).data.buffer).toBe(file.buffer);
  });

  test("bytes at an odd address are read, and a Buffer is", () => {
    const file = writeNpy({ data: new Float64Array([1, 2]), shape: [2] });
    const odd = new Uint8Array(file.length + 1);
    odd.set(file, 1);
    expect([...(readNpy(odd.subarray(1)).data as Float64Array)]).toEqual([1, 2]);
    expect([...(readNpy(Buffer.from(odd.buffer, 1)).data as Float64Array)]).toEqual([1, 2]);
    expect([...(readNpy(file.buffer).data as Float64Array)]).toEqual([1, 2]);
    expect([...(readNpy(new DataView(file.buffer) as never).data as Float64Array)]).toEqual([1, 2]);
  });

  test("a strided view is written in its own order, signalling NaNs and all", () => {
    const bits = new Uint32Array([1, 0x7f800001, 3, 4, 5, 0xff800002]);
    const view = tensor(new Float32Array(bits.buffer), [2, 3]).transpose();
    const t = readNpy(writeNpy(view));
    expect(t.shape).toEqual([3, 2]);
    expect([...new Uint32Array(t.data.slice().buffer)]).toEqual([1, 4, 0x7f800001, 5, 3, 0xff800002]);
  });

  test("a view with an offset and a broadcast axis is written with all its elements", () => {
    const data = new Int16Array([9, 1, 2, 3]);
    const t = readNpy(writeNpy({ data, shape: [2, 3], strides: [0, 1], offset: 1, dtype: "int16" }));
    expect([...(t.data as Int16Array)]).toEqual([1, 2, 3, 1, 2, 3]);
  });

  test("arrays that do not say their dtype: a Uint8Array is uint8, a list float32 or bool, a Uint16Array is refused", () => {
    expect(readNpy(writeNpy({ data: new Uint8Array(2), shape: [2] })).dtype).toBe("uint8");
    expect(readNpy(writeNpy({ data: new Uint32Array(2), shape: [2] })).dtype).toBe("uint32");
    expect(readNpy(writeNpy({ data: [1, 2], shape: [2] })).dtype).toBe("float32");
    expect(readNpy(writeNpy({ data: [true, false], shape: [2] })).dtype).toBe("bool");
    expect(() => writeNpy({ data: new Uint16Array(2), shape: [2] })).toThrow(/int16|float16|bfloat16/);
  });

  test.each<[string, object, string, string]>([
    [
      "bfloat16, which NumPy lacks",
      { data: new Uint16Array(1), shape: [1], dtype: "bfloat16" },
      "UnsupportedError",
      "npy-dtype",
    ],
    [
      "an array of another class than its dtype",
      { data: new Float32Array(1), shape: [1], dtype: "uint32" },
      "DTypeError",
      "dtype-array",
    ],
    ["an unknown dtype", { data: new Float32Array(1), shape: [1], dtype: "f128" }, "DTypeError", "dtype"],
    ["a shape larger than its array", { data: new Uint32Array(1), shape: [2] }, "ShapeError", "extent"],
    ["a negative axis", { data: new Float32Array(1), shape: [-1] }, "ShapeError", "shape"],
    ["no shape", { data: new Float32Array(1) }, "ShapeError", "tensor"],
    ["no tensor", null as unknown as object, "ShapeError", "tensor"],
    ["data behind a function", { data: () => 1, shape: [1] }, "UnsupportedError", "lazy-tensor"],
  ])("writing refuses %s", (_, value, name, code) => {
    expect(() => writeNpy(value as { data: unknown })).toThrow(expect.objectContaining({ name, code }));
  });

  test("reading refuses anything but bytes", () => {
    for (const wrong of [null, undefined, "path.npy", [1, 2], {}])
      expect(() => readNpy(wrong as unknown as Uint8Array)).toThrow(
        expect.objectContaining({ name: "OptionError", code: "bytes" }),
      );
  });

  test("the long integers of a header that Python 2 wrote are read", () => {
    const dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L), }";
    const header = `${dict.padEnd(117)}\n`;
    const bytes = Uint8Array.from([
      0x93, ...Buffer.from("NUMPY"), 1, 0, header.length, 0, ...Buffer.from(header), ...new Uint8Array(8),
    ]); // biome-ignore format: bytes in a row
    expect(readNpy(bytes).shape).toEqual([2, 1]);
    bytes[bytes.indexOf(0x4c)] = 0x27;
    expect(() => readNpy(bytes)).toThrow(/^readNpy: .* \(byte \d+\)$/);
  });
});
