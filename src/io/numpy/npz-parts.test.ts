import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { randn, zeros } from "../../index.ts";
import { openSource } from "../source.ts";
import { openNpz, writeNpz } from "./npz.ts";
import { openNpzParts } from "./npz-parts.ts";

/** The file of bytes as a source that counts what is read of it. */
async function counted(bytes: Uint8Array) {
  const count = { read: 0 };
  const source = await openSource("test", {
    size: bytes.length,
    read(offset: number, length: number) {
      count.read += length;
      return bytes.slice(offset, offset + length);
    },
  });
  return { source, count };
}

describe.each([false, true])("an npz file in parts, deflated: %s", (compress) => {
  it("reads the directory and the headers, and then the requested array only", async () => {
    const tensors = {
      a: randn([300, 1000], { seed: 1 }),
      b: randn([7], { seed: 2 }),
      c: randn([500, 1000], { seed: 3 }),
    };
    const bytes = await writeNpz(tensors, { compress });
    const { source, count } = await counted(bytes);
    const file = await openNpzParts(source);
    expect([...file.members.keys()]).toEqual(["a", "b", "c"]);
    expect((await file.header("c")).shape).toEqual([500, 1000]);
    expect(count.read).toBeLessThan(200_000);
    const opened = openNpz(bytes);
    expect(await file.read("a")).toEqual(await opened.read("a"));
    expect(count.read).toBeLessThan(1_500_000);
    expect(await file.read("b")).toEqual(await opened.read("b"));
    expect(await file.read("c")).toEqual(await opened.read("c"));
    await expect(file.read("d")).rejects.toThrow(/no array "d"/);
  });

  it("reads files that are smaller than its parts, and a directory that is larger", async () => {
    const small = await writeNpz({ a: zeros([2]) }, { compress });
    const one = await openNpzParts((await counted(small)).source);
    expect((await one.read("a")).shape).toEqual([2]);
    const names = Array.from({ length: 2500 }, (_, n) => `a-rather-long-name-of-an-array-${n}`);
    const many = await writeNpz(Object.fromEntries(names.map((name) => [name, zeros([1])])), { compress });
    const file = await openNpzParts((await counted(many)).source);
    expect(file.members.size).toBe(2500);
    expect((await file.header(names[0])).shape).toEqual([1]);
    expect((await file.read(names[2499])).data).toEqual(Float32Array.of(0));
  });

  it("reads a header beyond the first 4 kB of its member, an array twice, and a file on disk", async () => {
    const name = "a".repeat(5000);
    const bytes = await writeNpz({ [name]: randn([7], { seed: 4 }), b: zeros([2]) }, { compress });
    const folder = mkdtempSync(join(tmpdir(), "heed-npz-"));
    try {
      const path = join(folder, "long.npz");
      writeFileSync(path, bytes);
      for (const source of [await openSource("test", path), await openSource("test", bytes)]) {
        const file = await openNpzParts(source);
        expect((await file.header(name)).shape).toEqual([7]);
        expect(await file.read(name)).toEqual(await file.read(name));
        expect(await file.read("b")).toEqual(zeros([2]));
        await expect(file.header("c")).rejects.toThrow(/no array "c"/);
        await source.close();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("rejects a broken file as openNpz does", async () => {
    const bytes = await writeNpz({ a: randn([2000], { seed: 1 }) }, { compress });
    for (const broken of [bytes.subarray(0, bytes.length - 1), new Uint8Array(0), bytes.subarray(1)]) {
      const { source } = await counted(broken);
      expect(() => openNpz(broken)).toThrow();
      await expect(openNpzParts(source)).rejects.toThrow(/^readNpz: /);
    }
    const flipped = bytes.slice();
    flipped[bytes.length >> 1] ^= 0xff;
    const file = await openNpzParts((await counted(flipped)).source);
    await expect(file.read("a")).rejects.toThrow(/^readNpz: /);
  });
});
