/** Tensors that writers take and bytes that readers take: array classes, names, shared memory. */
import { describe, expect, it } from "vitest";
import { readNpy, readNpz, readSafetensors, writeNpy, writeNpz, writeSafetensors } from "./index.ts";

describe("a writer", () => {
  it("takes a clamped array as uint8, and needs a dtype where the array class does not determine it", () => {
    const clamped = { data: Uint8ClampedArray.of(1, 2, 255), shape: [3] } as never;
    expect(() => writeNpy(clamped)).toThrow(/Uint8ClampedArray of 3 does not say its dtype; pass one of /);
    const bytes = writeNpy({ data: Uint8ClampedArray.of(1, 2, 255), shape: [3], dtype: "uint8" } as never);
    expect(readNpy(bytes)).toMatchObject({ dtype: "uint8", shape: [3] });
    expect(() => writeSafetensors({ x: { data: new Uint16Array(2), shape: [2] } as never })).toThrow(
      /writeSafetensors, x: Uint16Array of 2 does not say its dtype; pass one of .*uint16/,
    );
  });

  it("takes tensors by name", async () => {
    for (const value of [null, 3, "x"]) {
      expect(() => writeSafetensors(value as never)).toThrow(
        /^writeSafetensors: expected a Map or an object of tensors by name, { x: tensor }, got /,
      );
      await expect(writeNpz(value as never)).rejects.toThrow(
        /^writeNpz: expected a Map or an object of tensors/,
      );
    }
  });

  it("refuses names and headers that are too long for the format", async () => {
    const x = { data: new Float32Array(1), shape: [1] };
    await expect(writeNpz({ ["n".repeat(70_000)]: x })).rejects.toThrow("writeNpz: a name of 70004 bytes");
    expect(() => writeSafetensors({ ["n".repeat(100_000_001)]: x })).toThrow(
      /writeSafetensors: a header of \d+ bytes; at most 100000000 are read/,
    );
  });
});

it("readers take bytes in shared memory", async () => {
  const x = { data: Float32Array.of(1, 2), shape: [2] };
  const shared = (bytes: Uint8Array) => {
    const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
    copy.set(bytes);
    return copy;
  };
  expect(readSafetensors(shared(writeSafetensors({ x }))).tensors.get("x")?.data).toEqual(x.data);
  expect((await readNpz(shared(await writeNpz({ x }, { compress: true })))).get("x")?.data).toEqual(x.data);
});
