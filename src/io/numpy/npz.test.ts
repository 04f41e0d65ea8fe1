import { unzipSync, zipSync } from "fflate";
import { describe, expect, test } from "vitest";
import { textNpy } from "../../../tests/support/cases/npy-text.ts";
import { inflate } from "../archive/deflate.ts";
import { listMembers, writeMembers } from "../archive/zip.ts";
import { openNpz, readNpy, readNpz, writeNpy, writeNpz } from "../index.ts";
import { refuser } from "../refuse.ts";
import { readNpzTexts } from "./npy-text.ts";

const values = (t?: { data: unknown }) => Array.from((t?.data ?? []) as Float32Array);
const arrays = {
  a: { data: new Float32Array([1, Number.NaN, 3]), shape: [3] },
  "b/ä 𝔸": { data: new Int32Array(5000).fill(7), shape: [50, 100] },
  scalar: { data: new Float64Array([2.5]), shape: [] },
};

describe("texts in an npz", () => {
  const words = ["the", "naïve", "", "𝔸 ▁x"];

  test("are read from both kinds and both byte orders; arrays of numbers are skipped", async () => {
    const file = zipSync({
      "u.npy": textNpy(words, "U"),
      "big.npy": textNpy(words, "U", "(2, 2)", ">"),
      "s.npy": textNpy(words, "S"),
      "a.npy": writeNpy(arrays.a),
    });
    const opened = await readNpzTexts(file);
    expect(opened.get("u")).toEqual({ shape: [4], data: words });
    expect(opened.get("big")).toEqual({ shape: [2, 2], data: words });
    expect(opened.get("s")).toEqual({ shape: [4], data: words });
    expect(opened.get("a")).toBeUndefined();
  });

  test("that are cut off, too many or too long are refused by type", async () => {
    const full = textNpy(words, "U");
    const cut = readNpzTexts(zipSync({ "t.npy": full.subarray(0, full.length - 3) }, { level: 0 }));
    await expect(cut).rejects.toThrow(
      expect.objectContaining({ name: "FormatError", code: "npy-truncated" }),
    );
    const more = readNpzTexts(zipSync({ "t.npy": textNpy(words, "U", "(9007199254740991,)") }));
    await expect(more).rejects.toThrow(expect.objectContaining({ name: "FormatError", code: "npy-size" }));
    const small = readNpzTexts(zipSync({ "t.npy": full }), { maxBytes: 64 });
    await expect(small).rejects.toThrow(expect.objectContaining({ code: "max-bytes" }));
    const odd = textNpy(["ab"], "U");
    new DataView(odd.buffer).setUint32(odd.length - 8, 0xd800, true);
    expect((await readNpzTexts(zipSync({ "t.npy": odd }))).get("t")?.data).toEqual(["\ufffdb"]);
  });
});

describe("an npz that inflates to much", () => {
  const zeros = { big: { data: new Float32Array(2 ** 24), shape: [2 ** 12, 2 ** 12] }, small: arrays.a };

  test("is refused before anything is inflated, in total and by array", async () => {
    const file = await writeNpz(zeros, { compress: true });
    expect(file.length).toBeLessThan(100_000);
    await expect(readNpz(file, { maxBytes: 2 ** 20 })).rejects.toThrow(
      expect.objectContaining({ name: "UnsupportedError", code: "max-bytes" }),
    );
    await expect(readNpz(file, { maxBytes: 2 ** 20 })).rejects.toThrow(
      /its 2 arrays: 67109\d+ bytes in memory; the limit is 1048576 \(maxBytes\)/,
    );
    const opened = openNpz(file, { maxBytes: 2 ** 20 });
    await expect(opened.read("big")).rejects.toThrow(/"big": 671/);
    expect(values(await opened.read("small"))).toEqual([1, Number.NaN, 3]);
    await expect(readNpz(file, { maxBytes: -1 })).rejects.toThrow(/maxBytes must be an integer ≥ 0/);
  });

  test("lists its arrays without being inflated", async () => {
    const file = await writeNpz(zeros, { compress: true });
    const opened = openNpz(file);
    const before = process.memoryUsage().arrayBuffers;
    expect(await opened.header("big")).toEqual({ dtype: "float32", shape: [2 ** 12, 2 ** 12] });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 23);
    expect(opened.members.get("big")).toBe(2 ** 26 + 128);
    await expect(opened.header("none")).rejects.toThrow(/no array "none"/);
  });

  test.each([false, true])("headers of all arrays are read (compress: %s)", async (compress) => {
    const opened = openNpz(await writeNpz(arrays, { compress }));
    for (const [name, { shape }] of Object.entries(arrays))
      expect((await opened.header(name)).shape).toEqual(shape);
  });
});

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

  test.each([false, true])("fflate unzips a written file (compress: %s)", async (compress) => {
    const members = unzipSync(await writeNpz(arrays, { compress }));
    expect(Object.keys(members)).toEqual(Object.keys(arrays).map((name) => `${name}.npy`));
    expect(values(readNpy(members["a.npy"]))).toEqual([1, Number.NaN, 3]);
  });

  test.each([0, 6] as const)("a zip file of fflate is read (level %i)", async (level) => {
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

  test("inflating can stop early, and nothing continues in the background", async () => {
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

  test("an error names its array", async () => {
    await expect(writeNpz({ wrong: { data: new Float32Array(1), shape: [2] } })).rejects.toThrow(
      "writeNpz, wrong: ",
    );
  });
});
