import { expect, test } from "vitest";
import { cast } from "../../api/cast.ts";
import { arange } from "../../core/create.ts";
import { localCluster, shardSequence } from "../index.ts";
import { gatherRows } from "./messages.ts";

test("tensors of 2 and 4 bytes an element are gathered where a rank's part begins between two elements", async () => {
  const N = 5;
  const plan = shardSequence({ length: N, ranks: 2 });
  // 6 bytes a row, and 3 rows on rank 0: the part of rank 1 begins at byte 18.
  const parts = [arange(N).reshape([1, N, 1]), cast(arange(N), "bfloat16").reshape([1, N, 1])];
  const results = await localCluster(2, async (comm) => {
    const rows = parts.map((t) => plan.take(comm.rank, t));
    return (await gatherRows(comm, plan, rows)).map((t) => [...t.toFloat64()]);
  });
  expect([1, 2].map((r) => (plan.size(r - 1) * 6) % 4)).toContain(2);
  for (const rows of results)
    expect(rows).toEqual([
      [0, 1, 2, 3, 4],
      [0, 1, 2, 3, 4],
    ]);
});
