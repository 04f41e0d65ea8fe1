import { execFile } from "node:child_process";
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { faultAt } from "../../../tests/files/faults.ts";
import { saveFile } from "../index.ts";
import { keepPrevious, makeFolder, previousOf, writeAll } from "./save.ts";

const OLD = Buffer.from("the old file");
const PIECES = ["the new file, ", "in pieces, ", "whole"].map((s) => new Uint8Array(Buffer.from(s)));
const NEW = Buffer.concat(PIECES);

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heed-save-"));
  path = join(folder, "x.npy");
});
afterEach(() => rm(folder, { recursive: true }));

describe("saveFile", () => {
  test.each<[string, () => Parameters<typeof saveFile>[1]]>([
    ["bytes", () => new Uint8Array(NEW)],
    ["an ArrayBuffer", () => new Uint8Array(NEW).buffer],
    ["a list of pieces", () => PIECES],
    [
      "pieces as they come",
      async function* () {
        yield* PIECES;
      },
    ],
  ])("writes %s and leaves nothing else", async (_, contents) => {
    await saveFile(path, contents());
    expect(await readFile(path)).toEqual(NEW);
    expect(await readdir(folder)).toEqual(["x.npy"]);
  });

  test("replaces a file, keeping its mode, and writes through a link", async () => {
    await writeFile(path, OLD);
    await chmod(path, 0o640);
    await symlink("x.npy", join(folder, "link"));
    await saveFile(join(folder, "link"), PIECES);
    expect(await readFile(path)).toEqual(NEW);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect((await lstat(join(folder, "link"))).isSymbolicLink()).toBe(true);
  });

  test("a long name and a relative path are fine", async () => {
    const long = join(folder, "n".repeat(250));
    await saveFile(long, PIECES);
    expect(await readFile(long)).toEqual(NEW);
  });

  test("refuses a device, a folder, a missing folder and anything but bytes, before any work", async () => {
    await mkdir(path);
    for (const wrong of ["/dev/null", path, join(folder, "no", "x")])
      await expect(saveFile(wrong, PIECES)).rejects.toMatchObject({ name: "OptionError", code: "file" });
    await expect(saveFile(join(folder, "y"), "text" as unknown as Uint8Array)).rejects.toMatchObject({
      code: "contents",
    });
    await expect(saveFile(join(folder, "y"), [7 as unknown as Uint8Array])).rejects.toMatchObject({
      code: "bytes",
    });
    expect(await readdir(folder)).toEqual(["x.npy"]);
  });

  test("an error of the caller's iterable is rethrown, and the old file stays", async () => {
    await writeFile(path, OLD);
    const failing = async function* () {
      yield PIECES[0];
      throw new RangeError("mine");
    };
    await expect(saveFile(path, failing())).rejects.toThrow(RangeError);
    expect(await readFile(path)).toEqual(OLD);
    expect(await readdir(folder)).toEqual(["x.npy"]);
  });

  test("when any call of the file system fails, the file is complete, the error typed, and no temporary file is left", async () => {
    for (let n = 1; ; n++) {
      await writeFile(path, OLD);
      const undo = faultAt(n, (call) => {
        throw Object.assign(new Error(`ENOSPC: no space left on device, ${call}`), { code: "ENOSPC" });
      });
      const error = await saveFile(path, PIECES).catch((e) => e);
      const calls = undo();
      if (calls.length < n) {
        expect(error).toBeUndefined();
        expect(n).toBeGreaterThan(12);
        // The new name is durable when the folder is synced.
        expect(calls.slice(calls.indexOf("rename"))).toEqual(["rename", "open", "sync", "close"]);
        break;
      }
      expect(error, calls.join()).toMatchObject({
        name: "OptionError",
        code: "file",
        fields: { errno: "ENOSPC", path },
      });
      const renamed = calls.slice(0, n - 1).includes("rename");
      expect(await readFile(path), calls.join()).toEqual(renamed ? NEW : OLD);
      expect(await readdir(folder), calls.join()).toEqual(["x.npy"]);
    }
  });

  test("killed at any call of the file system, the file is complete, and the next save deletes temporary files", async () => {
    // The pinned Node runs TypeScript as it is; the one that runs the tests may not.
    const node = createRequire(import.meta.url).resolve("node/bin/node");
    const script = join(folder, "child.mjs");
    await mkdir(join(folder, "out"));
    path = join(folder, "out", "x.npy");
    const at = (file: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, file)).href);
    await writeFile(
      script,
      `import { saveFile } from ${at("save.ts")};
       import { faultAt } from ${at("../../../tests/files/faults.ts")};
       faultAt(Number(process.argv[2]), () => process.kill(process.pid, "SIGKILL"));
       await saveFile(process.argv[3], ${JSON.stringify(PIECES.map((p) => [...p]))}.map((p) => Uint8Array.from(p)));`,
    );
    const run = (n: number) =>
      new Promise<string | null>((done, fail) => {
        const child = execFile(node, [script, `${n}`, path], (error, _, stderr) => {
          if (error && child.signalCode !== "SIGKILL") fail(new Error(stderr));
          else done(child.signalCode);
        });
      });
    let strays = 0;
    let n = 1;
    for (; ; n++) {
      await writeFile(path, OLD);
      const signal = await run(n);
      const now = await readFile(path);
      expect(now.equals(OLD) || now.equals(NEW), `killed at call ${n}: ${now}`).toBe(true);
      if (signal === null) break;
      strays += (await readdir(join(folder, "out"))).length - 1;
      await saveFile(path, NEW);
      expect(await readdir(join(folder, "out")), `after call ${n}`).toEqual(["x.npy"]);
    }
    expect(await readFile(path)).toEqual(NEW);
    expect(n).toBeGreaterThan(12);
    expect(strays).toBeGreaterThan(4);
  });

  test("temporary files of running processes, of other machines and of this process stay; older ones with its number are deleted", async () => {
    const host =
      hostname()
        .replace(/[^A-Za-z0-9-]/g, "-")
        .slice(0, 30) || "host";
    const names = [
      `.a.${host}.${process.ppid}.abc-0.heed-tmp`,
      `.b.another-machine.999999999.abc-0.heed-tmp`,
      `.c.${host}.${process.pid}.abc-1.heed-tmp`,
      ".d.heed-tmp",
    ];
    const old = [`.e.${host}.${process.pid}.abc-2.heed-tmp`, `.f.${host}.999999999.abc-3.heed-tmp`];
    for (const name of [...names, ...old]) await writeFile(join(folder, name), "");
    await utimes(join(folder, old[0]), 1, 1);
    await saveFile(path, PIECES);
    expect((await readdir(folder)).sort()).toEqual([...names, "x.npy"].sort());
  });

  // Threads read the source as it is.
  const runsSource = Boolean((process.features as { typescript?: unknown }).typescript);
  test.skipIf(!runsSource)(
    "threads that save to one path in the same millisecond leave one complete file",
    async () => {
      // Each thread counts its own saves, so their temporary files would have the same names.
      const contents = [0, 1, 2, 3].map((i) => new Uint8Array(1000).fill(i));
      const module = JSON.stringify(pathToFileURL(join(import.meta.dirname, "save.ts")).href);
      const begin = new Int32Array(new SharedArrayBuffer(8));
      const code = `
      import { workerData } from "node:worker_threads";
      import { saveFile } from ${module};
      Date.now = () => 1e12;
      Atomics.add(workerData.begin, 1, 1);
      Atomics.wait(workerData.begin, 0, 0);
      for (let n = 0; n < 20; n++) await saveFile(workerData.path, workerData.bytes);`;
      const url = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
      const ended = contents.map((bytes) => {
        const worker = new Worker(url, { workerData: { path, bytes, begin }, execArgv: ["--no-warnings"] });
        return new Promise((resolve, reject) => worker.on("error", reject).on("exit", resolve));
      });
      while (Atomics.load(begin, 1) < contents.length) await new Promise((resolve) => setTimeout(resolve, 5));
      Atomics.store(begin, 0, 1);
      Atomics.notify(begin, 0);
      expect(await Promise.all(ended)).toEqual([0, 0, 0, 0]);
      const now = await readFile(path);
      expect(contents.some((bytes) => now.equals(bytes))).toBe(true);
      expect(await readdir(folder)).toEqual(["x.npy"]);
    },
  );

  test("the previous file is kept, as a copy where the file system has no links; a missing one is none", async () => {
    await keepPrevious(path);
    expect(await readdir(folder)).toEqual([]);
    await writeFile(path, OLD);
    const fs = process.getBuiltinModule("node:fs/promises");
    const failure = Object.assign(new Error("EPERM: operation not permitted"), { code: "EPERM" });
    const link = vi.spyOn(fs, "link").mockRejectedValueOnce(failure);
    try {
      await keepPrevious(path);
      expect(link).toHaveBeenCalledOnce();
    } finally {
      link.mockRestore();
    }
    expect(await readFile(previousOf(path))).toEqual(OLD);
    expect((await readdir(folder)).sort()).toEqual(["x.npy", "x.npy.1"]);
  });

  test("bytes for a place in a file are written in parts, each after the one before", async () => {
    const places: [number, number, number | null][] = [];
    const file = {
      write: async (_: Uint8Array, from: number, length: number, position: number | null) => {
        places.push([from, length, position]);
        return { bytesWritten: Math.min(2, length) };
      },
    };
    await writeAll(file, new Uint8Array(3), 7);
    expect(places).toEqual([
      [0, 3, 7],
      [2, 1, 9],
    ]);
  });

  test("a folder that is there is not made again", async () => {
    await makeFolder(join(folder, "a", "b"));
    await makeFolder(join(folder, "a", "b"));
    expect(await readdir(join(folder, "a"))).toEqual(["b"]);
  });

  test("twenty saves at once to one path leave one complete file", async () => {
    const contents = Array.from({ length: 20 }, (_, i) => new Uint8Array(1000).fill(i));
    await Promise.all(contents.map((bytes) => saveFile(path, bytes)));
    const now = await readFile(path);
    expect(contents.some((bytes) => now.equals(bytes))).toBe(true);
    expect(await readdir(folder)).toEqual(["x.npy"]);
  });
});
