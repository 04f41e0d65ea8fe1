/**
 * Every public function with tensors of another device (support/cases/device-calls.ts): it runs there with the results of the CPU, or it
 * throws an UnsupportedError that says what to do. docs/devices.md lists those that throw.
 */
import { readFileSync } from "node:fs";
import * as heed from "heed";
import * as cluster from "heed/cluster";
import * as nn from "heed/nn";
import * as history from "heed/nn/history";
import * as train from "heed/train";
import { describe, expect, it } from "vitest";
import { at } from "../../tools/setup.mjs";
import { use } from "../support/backends/levels.ts";
import { onDevice } from "../support/backends/opaque-backend.ts";
import { CALLS } from "../support/cases/device-calls.ts";

await heed.prepare({ device: "opaque" });

/** Property and method names of a tensor, without those that are refused; a symbol is the name for `console.log`. */
const isRefused = (name: string) => {
  const { get } = Object.getOwnPropertyDescriptor(heed.Tensor.prototype, name) ?? {};
  try {
    get?.call(heed.tensor([1]));
    return false;
  } catch (error) {
    return (error as heed.HeedError).code === "method";
  }
};
const methods = ["data", ...Object.getOwnPropertyNames(heed.Tensor.prototype)].filter(
  (name) => !isRefused(name),
);

/** The tensors in a result, in order. */
async function tensorsIn(result: unknown): Promise<heed.Tensor[]> {
  const x = await result;
  if (x instanceof heed.Tensor) return [x];
  if (typeof x !== "object" || x === null || ArrayBuffer.isView(x)) return [];
  const members = x instanceof Map || x instanceof Set ? [...x.values()] : Object.values(x);
  return (await Promise.all(members.map(tensorsIn))).flat();
}

it("each export of heed, heed/train and heed/cluster, and each method of Tensor, has a row; layers.test.ts has those of heed/nn", () => {
  const exported = {
    heed: Object.keys(heed),
    "heed/train": Object.keys(train),
    "heed/cluster": Object.keys(cluster),
    Tensor: methods,
  };
  for (const [name, names] of Object.entries(exported))
    expect(Object.keys(CALLS[name as keyof typeof exported]).sort(), name).toEqual(names.sort());
  for (const name of Object.keys(CALLS["heed/nn"])) expect(nn).toHaveProperty(name);
  for (const name of Object.keys(CALLS["heed/nn/history"])) expect(history).toHaveProperty(name);
});

for (const [entry, rows] of Object.entries(CALLS))
  describe(entry, () => {
    for (const [name, row] of Object.entries(rows)) {
      if (typeof row === "string") continue;
      const call = typeof row === "function" ? row : row.cpu;
      if (row === call)
        it(`${name} runs on the device`, async () => {
          use("reference", 1);
          const want = await tensorsIn(call((t) => t, "cpu"));
          const got = await tensorsIn(call(onDevice, "opaque"));
          expect(got.map(({ device }) => device)).toEqual(want.map(() => "opaque"));
          expect(got.length).toBeGreaterThan(0);
          for (const [n, t] of want.entries()) {
            expect([got[n].shape, n]).toEqual([t.shape, n]);
            const [a, b] = await Promise.all([got[n].read(), t.read()]);
            // The norm of gradients is float64 on the CPU.
            for (let i = 0; i < b.length; i++)
              expect(Number(a[i]), `${n}, ${i}`).toBeCloseTo(Number(b[i]), 5);
          }
        });
      else
        it(`${name} needs the CPU, and its error says what to do`, async () => {
          use("reference", 1);
          await call((t) => t, "cpu");
          const run = async () => call(onDevice, "opaque");
          await expect(run()).rejects.toThrow(heed.UnsupportedError);
          await expect(run()).rejects.toMatchObject({ code: "device", fields: { device: "opaque" } });
          const caller =
            entry === "Tensor"
              ? "the elements of this tensor are"
              : `${(typeof row === "object" && row.errorOf) || name}: `;
          await expect(run()).rejects.toThrow(
            new RegExp(`^${caller}.*await (tensor|model)\\.to\\("cpu"\\)$`),
          );
        });
    }
  });

it("docs/devices.md lists the functions that need the CPU", () => {
  const [, table] =
    /<!-- cpu -->([\s\S]*)<!-- \/cpu -->/.exec(readFileSync(at("docs/devices.md"), "utf8")) ?? [];
  const listed = [...(table ?? "").matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, names]) =>
    [...names.matchAll(/`(?:x\.)?(\w+)/g)].map(([, name]) => name),
  );
  const needed = Object.values(CALLS).flatMap((rows) =>
    Object.entries(rows).flatMap(([name, row]) => (typeof row === "object" ? [name] : [])),
  );
  expect(needed.length).toBeGreaterThan(15);
  expect(listed.sort()).toEqual(needed.sort());
});
