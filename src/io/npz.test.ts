import { unzipSync, zipSync } from "fflate";
import { describe, expect, test } from "vitest";
import { inflate } from "./archive/deflate.ts";
import { listMembers, writeMembers } from "./archive/zip.ts";
import { readNpy, readNpz, writeNpy, writeNpz } from "./index.ts";
import { refuser } from "./refuse.ts";

const values = (t?: { data: unknown }) => Array.from((t?.data ?? []) as Float32Array);
const arrays = {
  a: { data: new Float32Array([1, Number.NaN, 3]), shape: [3] },
  "b/ä 𝔸": { data: new Int32Array(5000).fill(7), shape: [50, 100] },
  scalar: { data: new Float64Array([2.5]), shape: [] },
};

describe("npz", () => {
  test.each([false, true])(
    "arrays round-trip in their order (compress: %s), and the same arrays give the same bytes",
    async (compress) => {
      const file = await writeNpz(arrays, { compress });
      const read = await readNpz(file);
      expect([...read.keys()]).toEqual(Object.keys(arrays));
      for (const [name, { data, shape }] of Object.entries(arrays)) {
        expect(read.get(name)?.shape).toEqual(shape);
        expect(values(read.get(name))).toEqual([...data]);
      }
      expect(Buffer.from(await writeNpz(new Map(Object.entries(arrays)), { compress })).equals(file)).toBe(
        true,
      );
    },
  );

  test.each([false, true])("fflate unzips what is written (compress: %s)", async (compress) => {
    const members = unzipSync(await writeNpz(arrays, { compress }));
    expect(Object.keys(members)).toEqual(Object.keys(arrays).map((name) => `${name}.npy`));
    expect(values(readNpy(members["a.npy"]))).toEqual([1, Number.NaN, 3]);
  });

  test.each([0, 6] as const)("what fflate zips is read (level %i)", async (level) => {
    const file = zipSync(
      Object.fromEntries(Object.entries(arrays).map(([name, t]) => [`${name}.npy`, writeNpy(t)])),
      { level },
    );
    expect(values((await readNpz(file)).get("scalar"))).toEqual([2.5]);
  });

  test("every zip64 record that is written is read", () => {
    const members = ["a", "bb", "ccc"].map((name, i) => ({ name, bytes: new Uint8Array(10 + i).fill(i) }));
    for (const limit of [0, 1, 2, 11, 60, 200]) {
      const file = writeMembers("test", members, limit);
      const listed = listMembers(file, refuser("test"));
      expect(listed.map(({ name, start, end }) => [name, ...file.subarray(start, end)])).toEqual(
        members.map(({ name, bytes }) => [name, ...bytes]),
      );
    }
  });

  test("65,535 members need and get a zip64 end record", () => {
    const members = Array.from({ length: 65_535 }, (_, i) => ({ name: `${i}`, bytes: new Uint8Array(0) }));
    expect(listMembers(writeMembers("test", members), refuser("test")).length).toBe(65_535);
  });

  test("inflating can stop early, and nothing goes on in the background", async () => {
    const file = await writeNpz(
      { a: { data: new Float32Array(1 << 20), shape: [1 << 20] } },
      { compress: true },
    );
    const [{ start, end }] = listMembers(file, refuser("test"));
    const pieces = inflate(file.subarray(start, end));
    expect((await pieces.next()).done).toBe(false);
    await pieces.return(undefined);
    expect((await pieces.next()).done).toBe(true);
  });

  test.each(["", "__proto__", "a\0b", "\ud800"])("the name %j is refused", async (name) => {
    const one = new Map([[name, { data: new Float32Array(1), shape: [1] }]]);
    await expect(writeNpz(one)).rejects.toMatchObject({ name: "OptionError", code: "name" });
  });

  test("an error names the array it is about", async () => {
    await expect(writeNpz({ wrong: { data: new Float32Array(1), shape: [2] } })).rejects.toThrow(
      "writeNpz, wrong: ",
    );
  });
});
