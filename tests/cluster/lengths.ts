/**
 * A program that two ranks run: `lengths.ts CASES`, a list of [operation, sent, expected] as JSON. In each case rank 0 passes `sent`
 * bytes where rank 1 expects `expected`. Rank 1 prints the error of each, and whether bytes behind its array are as they were.
 */
import type { Moves } from "../../src/cluster/communicator/moves.ts";
import { type Communicator, joinCluster } from "../../src/cluster/index.ts";
import { messageOf } from "../../src/core/errors.ts";

const cases: readonly [operation: string, sent: number, expected: number][] = JSON.parse(process.argv[2]);
const comm = (await joinCluster()) as Communicator & Moves;
const GUARD = 0xa5;

async function result([operation, sent, expected]: (typeof cases)[number]) {
  const length = comm.rank === 0 ? sent : expected;
  const memory = new Uint8Array(4 * sent + 4 * expected).fill(GUARD);
  const used = operation === "allGather" ? 2 * length : length;
  const mine = memory.subarray(0, used);
  const none = new Uint8Array(0);
  const call = () => {
    if (operation === "allGather") return comm.allGather(new Uint8Array(length), mine);
    if (operation === "reduce")
      return comm.reduce(new Float64Array(memory.buffer, 0, length / 8).fill(1), "fast");
    if (operation === "broadcast") return comm.broadcast(mine, 0);
    // Rank 0 sends, rank 1 receives.
    if (operation === "allToAll")
      return comm.rank === 0
        ? comm.allToAll(mine, [0, length], none, [0, 0])
        : comm.allToAll(none, [0, 0], mine, [length, 0]);
    return comm.rank === 0
      ? comm.exchange(1, mine, undefined, none)
      : comm.exchange(undefined, none, 0, mine);
  };
  const failure = await call().then(() => "no error", messageOf);
  return { failure, isWhole: memory.subarray(used).every((x) => x === GUARD) };
}

const results: Awaited<ReturnType<typeof result>>[] = [];
for (const one of cases) results.push(await result(one));
if (comm.rank === 1) process.stdout.write(`${JSON.stringify(results)}\n`);
await comm.close();
