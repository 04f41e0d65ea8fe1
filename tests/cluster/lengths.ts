/**
 * A program that two ranks run: `lengths.ts OPERATION SENT EXPECTED`. Rank 0 passes SENT bytes where rank 1 expects EXPECTED. Rank 1
 * prints the error, and whether bytes behind its buffer have changed.
 */
import { joinCluster } from "../../src/cluster/index.ts";
import { messageOf } from "../../src/core/errors.ts";

const [operation, sent, expected] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const comm = await joinCluster();
const length = comm.rank === 0 ? sent : expected;
const GUARD = 0xa5;
const memory = new Uint8Array(4 * sent + 4 * expected).fill(GUARD);
let used = length;

async function call(): Promise<void> {
  if (operation === "exchange") {
    if (comm.rank === 0) await comm.exchange(1, memory.subarray(0, length), undefined, new Uint8Array(0));
    else await comm.exchange(undefined, new Uint8Array(0), 0, memory.subarray(0, length));
  } else if (operation === "allGather") {
    used = 2 * length;
    await comm.allGather(new Uint8Array(length), memory.subarray(0, used));
  } else await comm.reduce(new Float64Array(memory.buffer, 0, length / 8).fill(1), "fast");
}

const failure = await call().then(
  () => "no error",
  (error) => messageOf(error),
);
if (comm.rank === 1) {
  const isWhole = memory.subarray(used).every((x) => x === GUARD);
  process.stdout.write(`${JSON.stringify({ failure, isWhole })}\n`);
}
await comm.close();
