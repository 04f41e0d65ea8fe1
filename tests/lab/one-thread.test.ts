/**
 * What the Lab's bundles have in place of modules of heed: a pool of one thread, which does the same tasks in the same order and memory
 * as the engine's, and stand-ins for what no page uses.
 */
import { expect, it } from "vitest";
import { isObject } from "../../src/core/known-names.ts";
import type * as options from "../../src/core/option-names.ts";
import type { EngineMemory } from "../../src/wasm/engine/memory.ts";
import * as engine from "../../src/wasm/engine/worker-pool.ts";
import { oneThread } from "../../tools/build/element.mjs";
import { withoutUnused } from "../../tools/build/lab.mjs";
import * as lab from "../../tools/build/one-thread.mjs";
import * as unused from "../../tools/build/unused.mjs";

/** A memory that writes down what is allocated and freed. */
function memoryOf(log: unknown[]): EngineMemory {
  let next = 0;
  return {
    memory: { buffer: new ArrayBuffer(4096) },
    shared: false,
    alloc(bytes: number) {
      log.push(["alloc", bytes]);
      next += 1024;
      return next;
    },
    free: (at: number) => log.push(["free", at]),
  } as unknown as EngineMemory;
}

/** What a pool does with jobs of these numbers of tasks, in slices of so much work. */
function logOf({ WorkerPool }: typeof engine | typeof lab, counts: readonly number[], sliceWork: number) {
  const log: unknown[] = [];
  const pool = new WorkerPool(memoryOf(log));
  // The engine's pool first allocates memory for kernels that threads read.
  const base = log.splice(0).length;
  const run = (task: number, workspace: number) => log.push([task, workspace - 1024 * base]);
  const kernel = { id: 1, code: new Uint8Array(1), run };
  for (const count of counts)
    for (const done of pool.runSlices(
      {
        kernel,
        tasks: { at: 64, size: 8, count },
        threads: pool.threadsFor(1),
        callWork: 1,
        workspaceBytes: 100 * (1 + (count % 3)),
        taskWork: 10,
        overlap: () => log.push("overlap"),
      },
      sliceWork,
    ))
      log.push(done);
  return log.map((entry) => (Array.isArray(entry) && entry[0] === "free" ? "free" : entry));
}

it.each([Infinity, 5, 30])(
  "the tasks are those of the engine's pool, in slices of %d operations",
  (sliceWork) => {
    const counts = [0, 1, 7, 2, 5];
    const log = logOf(lab, counts, sliceWork);
    expect(log.length).toBeGreaterThan(20);
    expect(log).toEqual(logOf(engine, counts, sliceWork));
  },
);

it("the module exports what the engine imports, and replaces it wherever it is imported", () => {
  expect(Object.keys(lab).toSorted()).toEqual(
    Object.keys(engine)
      .filter((name) => name !== "WorkerLostError")
      .toSorted(),
  );
  expect(lab.SLICE_OPERATIONS).toBe(engine.SLICE_OPERATIONS);
  expect(oneThread.resolveId("../engine/worker-pool.ts")).toMatch(/one-thread\.mjs$/);
  expect(oneThread.resolveId("../engine/engine.ts")).toBeUndefined();
});

it("what stands in for unused modules exports their names, accepts every option, and throws for the rest", async () => {
  const paths = [
    "core/option-names",
    "core/known-names",
    "core/format",
    "wasm/kernels/attention/dropout",
    "nn/history/luong",
  ];
  const modules = await Promise.all(
    paths.map((path) => import(new URL(`../../src/${path}.ts`, import.meta.url).href)),
  );
  const names = modules.flatMap((module) => Object.keys(module));
  const { UNUSED, ...exported } = unused;
  expect(Object.keys(exported).toSorted()).toEqual(names.toSorted());
  for (const path of paths)
    expect(withoutUnused.resolveId(`./${path.split("/").at(-1)}.ts`, `/heed/src/${path}.ts`)).toMatch(
      /unused\.mjs$/,
    );
  for (const other of ["./errors.ts", "../nn/ops/dropout.ts"])
    expect(withoutUnused.resolveId(other, "/heed/src/core/tensor.ts")).toBeUndefined();
  const kinds = unused.KINDS as typeof options.KINDS;
  for (const value of [{}, [], 1, null]) {
    expect(unused.isObject(value)).toBe(isObject(value));
    expect(unused.checkKind("f", "x", "a text", value)).toBe(value);
    expect(kinds["a text"](value)).toBe(true);
  }
  for (const part of [unused.tensorText, unused.beginDropout, unused.LuongAttention])
    expect(part).toThrow("leaves this part of heed out");
});
