/** Edges of readers and writers: arrays of other classes, a lock that is being written, sources that end early. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  openSafetensors,
  readNpy,
  readNpz,
  readSafetensors,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from "./index.ts";
import { lockFolder } from "./lock.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "heed-edges-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("what is written", () => {
  it("may be a clamped array, which is uint8, and says its dtype where its class does not", () => {
    const clamped = { data: Uint8ClampedArray.of(1, 2, 255), shape: [3] } as never;
    expect(() => writeNpy(clamped)).toThrow(/Uint8ClampedArray of 3 does not say its dtype; pass one of /);
    const bytes = writeNpy({ data: Uint8ClampedArray.of(1, 2, 255), shape: [3], dtype: "uint8" } as never);
    expect(readNpy(bytes)).toMatchObject({ dtype: "uint8", shape: [3] });
    expect(() => writeSafetensors({ x: { data: new Uint16Array(2), shape: [2] } as never })).toThrow(
      /writeSafetensors, x: Uint16Array of 2 does not say its dtype; pass one of .*uint16/,
    );
  });

  it("is named tensors", async () => {
    for (const given of [null, 3, "x"]) {
      expect(() => writeSafetensors(given as never)).toThrow(
        /^writeSafetensors: expected a Map or an object of tensors, got /,
      );
      await expect(writeNpz(given as never)).rejects.toThrow(
        /^writeNpz: expected a Map or an object of tensors/,
      );
    }
  });

  it("has names that fit its file", async () => {
    const x = { data: new Float32Array(1), shape: [1] };
    await expect(writeNpz({ ["n".repeat(70_000)]: x })).rejects.toThrow("writeNpz: a name of 70004 bytes");
    expect(() => writeSafetensors({ ["n".repeat(100_000_001)]: x })).toThrow(
      /writeSafetensors: a header of \d+ bytes; at most 100000000 are read/,
    );
  });
});

describe("what is read", () => {
  it("may be in shared memory", async () => {
    const x = { data: Float32Array.of(1, 2), shape: [2] };
    const shared = (bytes: Uint8Array) => {
      const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
      copy.set(bytes);
      return copy;
    };
    expect(readSafetensors(shared(writeSafetensors({ x }))).tensors.get("x")?.data).toEqual(x.data);
    expect((await readNpz(shared(await writeNpz({ x }, { compress: true })))).get("x")?.data).toEqual(x.data);
  });

  it("from a source is as long as the source says, or an error at the byte where it ended", async () => {
    const bytes = writeSafetensors({ x: { data: new Float32Array(64), shape: [64] } });
    const source = (size: number) => ({ size, read: (at: number, n: number) => bytes.slice(at, at + n) });
    const file = await openSafetensors(source(bytes.length));
    expect((await file.read("x")).shape).toEqual([64]);
    await expect(openSafetensors(source(-1))).rejects.toThrow(
      "the source's size must be an integer ≥ 0, got -1",
    );
    const short = {
      size: bytes.length,
      read: (at: number, n: number) => bytes.slice(at, Math.min(at + n, 200)),
    };
    await expect((await openSafetensors(short)).read("x")).rejects.toThrow(
      /the source gave \d+ of 256 bytes/,
    );
  });

  it("from npy files of Python 2 has its long integers", () => {
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

describe("a lock", () => {
  const path = () => join(folder, ".heed-lock");
  const lockName = async () => {
    const release = await lockFolder(folder, "test");
    const { readdirSync } = await import("node:fs");
    const [name] = readdirSync(folder);
    await release();
    return join(folder, name);
  };

  it("that another process took over is left to it", async () => {
    const file = await lockName();
    const release = await lockFolder(folder, "test");
    const other = JSON.stringify({ pid: process.pid, host: hostname(), doing: "other", id: "1" });
    writeFileSync(file, other);
    await release();
    expect(readFileSync(file, "utf8")).toBe(other);
  });

  it("of nobody in particular is waited for, then refused by its path", async () => {
    const file = await lockName();
    writeFileSync(file, "");
    await expect(lockFolder(folder, "test")).rejects.toThrow(
      `${folder} is in use by another process; wait for it, or remove ${file} where no process works there`,
    );
    writeFileSync(file, JSON.stringify({ pid: "x", host: 1, doing: [] }));
    await expect(lockFolder(folder, "test")).rejects.toThrow("is in use by another process");
    writeFileSync(file, JSON.stringify({ pid: 1, host: "elsewhere", doing: "heed train" }));
    await expect(lockFolder(folder, "test")).rejects.toThrow(
      "is in use by process 1 on elsewhere (heed train)",
    );
    expect(path()).toContain(folder);
  });

  it("that is released while another waits is taken", async () => {
    const file = await lockName();
    writeFileSync(file, "");
    setTimeout(() => rmSync(file), 40);
    const release = await lockFolder(folder, "test");
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ pid: process.pid, doing: "test" });
    await release();
  });
});
