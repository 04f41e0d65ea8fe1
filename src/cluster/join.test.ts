/** Threads of a rank: its share of the cores, however the launcher binds ranks. */
import { expect, it } from "vitest";
import { localCluster } from "./communicator/local.ts";
import { shareOfCores } from "./join.ts";

it.each([
  ["bound one by one", 8, (rank: number) => `a ${rank}`, 4, [4, 4, 4, 4, 4, 4, 4, 4]],
  ["bound as a whole to 8 cores", 8, () => "a 0-7", 8, [1, 1, 1, 1, 1, 1, 1, 1]],
  ["not bound", 4, () => "a", 16, [4, 4, 4, 4]],
  ["on two machines with other numbers of ranks", 3, (rank: number) => (rank < 2 ? "a" : "b"), 8, [4, 4, 8]],
  ["more than cores", 3, () => "a", 2, [1, 1, 1]],
  ["alone on a large machine", 1, () => "a", 64, [16]],
] as const)("ranks that are %s", async (_, size, cores, available, expected) => {
  const shares = await localCluster(size, (comm) => shareOfCores(comm, available, cores(comm.rank)));
  expect(shares).toEqual(expected);
});
