/** Files of the official Python writers (tests/golden/files): read exactly, refused as they should be, and written back to the same bytes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type FileTensor,
  openSafetensors,
  readNpy,
  readNpz,
  readSafetensors,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from "./index.ts";

const folder = join(import.meta.dirname, "../../tests/golden/files");
const expected: {
  read: Record<string, Record<string, { dtype: string; shape: number[]; bytes: string }>>;
  refused: Record<string, string>;
} = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));

async function read(file: string): Promise<Map<string, FileTensor>> {
  const bytes = new Uint8Array(readFileSync(join(folder, file)));
  if (file.endsWith(".npy")) return new Map([["", readNpy(bytes)]]);
  return file.endsWith(".npz") ? readNpz(bytes) : readSafetensors(bytes).tensors;
}

function hex(t: FileTensor): string {
  return Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength).toString("hex");
}

describe("files of the Python writers", () => {
  for (const [file, tensors] of Object.entries(expected.read))
    test(`${file} is read exactly`, async () => {
      const arrays = await read(file);
      expect([...arrays.keys()].sort()).toEqual(Object.keys(tensors).sort());
      for (const [name, { dtype, shape, bytes }] of Object.entries(tensors)) {
        const t = arrays.get(name)!;
        expect([t.dtype, t.shape, hex(t)], name).toEqual([dtype, shape, bytes]);
      }
    });

  for (const [file, code] of Object.entries(expected.refused))
    test(`${file} is refused with ${code}`, async () => {
      await expect(read(file)).rejects.toMatchObject({
        name: "FormatError",
        code,
        fields: { offset: expect.any(Number) },
      });
    });

  test("every file of the folders has an expectation", () => {
    const files = ["npy", "npz", "safetensors"].flatMap((kind) =>
      readdirSync(join(folder, kind)).map((name) => `${kind}/${name}`),
    );
    expect(files.sort()).toEqual([...Object.keys(expected.read), ...Object.keys(expected.refused)].sort());
  });
});

describe("writers", () => {
  const same = Object.keys(expected.read).filter((f) => f.startsWith("npy/") && !/big|fortran|v2|v3/.test(f));
  test.each(same)("writeNpy gives the bytes numpy.save gave for %s", async (file) => {
    const bytes = readFileSync(join(folder, file));
    expect(Buffer.from(writeNpy(readNpy(bytes))).equals(bytes)).toBe(true);
  });

  test.each(["npz/stored.npz", "npz/none.npz"])(
    "writeNpz gives the bytes numpy.savez gave for %s",
    async (file) => {
      const bytes = readFileSync(join(folder, file));
      expect(Buffer.from(await writeNpz(await readNpz(bytes))).equals(bytes)).toBe(true);
    },
  );

  test.each(["all", "none", "one"])(
    "writeSafetensors gives the bytes the official writer gave for %s.safetensors",
    (file) => {
      const bytes = readFileSync(join(folder, `safetensors/${file}.safetensors`));
      const { tensors, metadata } = readSafetensors(bytes);
      expect(Buffer.from(writeSafetensors(tensors, { metadata })).equals(bytes)).toBe(true);
    },
  );
});

const shared = ["golden", "conformance"].map((name) => join(import.meta.dirname, "../../../shared", name));
describe.skipIf(!shared.every((path) => existsSync(path)))("shared golden data", () => {
  const files = shared
    .filter((path) => existsSync(path))
    .flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".safetensors"))
        .map((name) => join(root, name)),
    );
  test("every safetensors file is read completely and lazily with the same result, and round-trips", async () => {
    expect(files.length).toBeGreaterThan(100);
    for (const path of files) {
      const { tensors, metadata } = readSafetensors(readFileSync(path));
      const lazy = await openSafetensors(path);
      expect([...lazy.tensors.keys()], path).toEqual([...tensors.keys()]);
      for (const [name, t] of tensors)
        expect(hex(await lazy.read(name)) === hex(t), `${path} ${name}`).toBe(true);
      await lazy.close();
      const again = readSafetensors(writeSafetensors(tensors, { metadata }));
      expect(Object.fromEntries(again.metadata)).toEqual(Object.fromEntries(metadata));
      for (const [name, t] of tensors)
        expect(hex(again.tensors.get(name)!) === hex(t), `${path} ${name}`).toBe(true);
    }
  });
});
