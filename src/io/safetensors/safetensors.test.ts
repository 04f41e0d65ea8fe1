import { describe, expect, test } from "vitest";
import { isDType } from "../../core/dtype.ts";
import { Tensor } from "../../core/tensor.ts";
import { ELEMENTS, FILE_DTYPES, type NamedTensors } from "../element.ts";
import { readSafetensors, writeSafetensors } from "../index.ts";

const f32 = (...values: number[]) => ({ data: new Float32Array(values), shape: [values.length] });

describe("safetensors", () => {
  test("every dtype round-trips bit for bit, in one file", () => {
    const tensors = new Map(
      FILE_DTYPES.map((dtype) => {
        const { bytes: width, array } = ELEMENTS[dtype];
        const bytes = Uint8Array.from({ length: 6 * width }, (_, i) => (i % 3 === 0 ? 0xff : i * 91) & 255);
        return [`t ${dtype}`, { data: new array(bytes.buffer, 0, 6), shape: [2, 3], dtype }];
      }),
    );
    const read = readSafetensors(writeSafetensors(tensors)).tensors;
    expect([...read.keys()].sort()).toEqual([...tensors.keys()].sort());
    for (const [name, { data, shape, dtype }] of tensors) {
      const t = read.get(name)!;
      expect([t.dtype, t.shape]).toEqual([dtype, shape]);
      expect(t instanceof Tensor).toBe(isDType(dtype));
      expect(
        Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength).equals(Buffer.from(data.buffer)),
      ).toBe(true);
    }
  });

  test("every tensor of a written file is aligned, so that reading copies nothing", () => {
    const file = writeSafetensors({
      a: { data: new Uint8Array(3), shape: [3] },
      b: { data: new Uint16Array(1), shape: [1], dtype: "bfloat16" },
      c: f32(1, 2, 3),
      d: { data: new BigInt64Array(1), shape: [1] },
    });
    for (const { data } of readSafetensors(file).tensors.values()) expect(data.buffer).toBe(file.buffer);
  });

  test("the order of tensors and texts changes no byte", () => {
    const one = writeSafetensors(
      { a: f32(1), b: f32(2), c: { data: new Float64Array(1), shape: [] } },
      { metadata: { x: "1", y: "2" } },
    );
    const file = writeSafetensors(
      { c: { data: new Float64Array(1), shape: [] }, b: f32(2), a: f32(1) },
      {
        metadata: new Map([
          ["y", "2"],
          ["x", "1"],
        ]),
      },
    );
    expect(Buffer.from(one).equals(file)).toBe(true);
    expect([...readSafetensors(one).metadata]).toEqual([
      ["x", "1"],
      ["y", "2"],
    ]);
  });

  test("names and texts of any characters round-trip", () => {
    const names = ["", " ", '"', "\\", "\n", "\0", "ä", "𝔸", "constructor", "\u2028", "\u007f"];
    const tensors = new Map(names.map((name, i) => [name, f32(i)]));
    const read = readSafetensors(
      writeSafetensors(tensors, { metadata: Object.fromEntries(names.map((n) => [n, n])) }),
    );
    for (const [i, name] of names.entries()) {
      expect(read.tensors.get(name)?.data[0]).toBe(i);
      expect(read.metadata.get(name)).toBe(name);
    }
  });

  test("a Git LFS pointer is named as such, with the command that downloads the file", () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 90868376\n`;
    expect(() => readSafetensors(new TextEncoder().encode(pointer))).toThrow(
      expect.objectContaining({ code: "git-lfs", message: expect.stringMatching(/git lfs pull/) }),
    );
  });

  test("a file with no tensors is 10 bytes of header in 16", () => {
    const file = writeSafetensors({});
    expect(file.length).toBe(16);
    expect(readSafetensors(file).tensors.size).toBe(0);
  });

  test.each<[string, NamedTensors, object]>([
    ["the name __proto__", new Map([["__proto__", f32(1)]]), {}],
    ["the name __metadata__", { __metadata__: f32(1) }, {}],
    ["half a surrogate pair", { "\ud800": f32(1) }, {}],
    ["a text that is a number", { a: f32(1) }, { metadata: { a: 1 } }],
  ])("writing refuses %s", (_, tensors, options) => {
    expect(() => writeSafetensors(tensors, options)).toThrow(
      expect.objectContaining({ name: "OptionError" }),
    );
  });
});
