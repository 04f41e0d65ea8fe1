import { expect, test } from "vitest";
import { cast } from "../../api/cast.ts";
import { arange } from "../../core/create/create.ts";
import { singleRank } from "../communicator/local.ts";
import { localCluster, shardSequence } from "../index.ts";
import { formOf, gatherRows, pack, unpack } from "./messages.ts";
import { takeRanges } from "./shard.ts";

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

test("a message has the tensors with the widest elements first, in the order of the call, head by head", () => {
  // Ranks of one version exchange these bytes: another order on both would still be read right.
  const [narrow, first, second] = [
    cast(arange(3), "bfloat16").reshape([1, 3, 1]),
    arange(10, 22).reshape([2, 3, 2]),
    arange(30, 33).reshape([1, 3, 1]),
  ];
  const tensors = [narrow, first, second].map((t) => takeRanges(t, 1, [[0, 1], [2, 3]])); // biome-ignore format: a line
  const message = pack(singleRank(), tensors);
  const wide = new Float32Array(message.buffer, message.byteOffset, 10);
  expect([...wide]).toEqual([10, 11, 14, 15, 16, 17, 20, 21, 30, 32]);
  expect(message.subarray(40)).toEqual(new Uint8Array(Uint16Array.of(0, 0x4000).buffer));
  const moved = new Uint8Array(message.length + 2);
  moved.set(message, 2);
  // The second begins between two elements.
  for (const bytes of [message, moved.subarray(2)])
    expect(unpack(bytes, tensors.map(formOf), 2).map((t) => [...t.toFloat64()])).toEqual([
      [0, 2],
      [10, 11, 14, 15, 16, 17, 20, 21],
      [30, 32],
    ]);
});
