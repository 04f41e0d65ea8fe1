/** The bench of the GPU in tiny sizes: everything that it times computes the CPU's results, and its report names the adapter. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gpuAtHand } from "../tests/support/backends/gpu.ts";
import { type GpuRow, measure, rowsOf, worstOf } from "./gpu.ts";

it("the rows take turns, and wait for the device", async () => {
  const rows = (await rowsOf("tiny", async (t) => t)).slice(0, 3);
  const order: string[] = [];
  const noted = rows.map(
    (row): GpuRow => ({
      ...row,
      run() {
        order.push(row.name);
        return row.run();
      },
    }),
  );
  const medians = await measure(noted, 2, async () => order.push("finished"));
  expect(medians).toHaveLength(3);
  const round = rows.flatMap(({ name }) => [name, "finished"]);
  expect(order).toEqual([...round, ...round, ...round]);
  expect(await worstOf(async (t) => t)).toBe(0);
});

const { gpu, reason } = await gpuAtHand();
describe.skipIf(!gpu)(`on an adapter${gpu ? "" : `: ${reason}`}`, () => {
  it("checks the results and reports adapter, date and a line for each row", async () => {
    const argv = ["--no-warnings", join(import.meta.dirname, "gpu.ts"), "--tiny", "--rounds", "1"];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    expect(status, stderr).toBe(0);
    expect(stdout).toMatch(/; level \w+; \d{4}-\d\d-\d\d\n/);
    for (const { name } of await rowsOf("tiny", async (t) => t)) expect(stdout).toContain(name);
    if (/llvmpipe|swiftshader/i.test(stdout)) expect(stdout).toContain("its times are not those of a GPU");
  });
});
