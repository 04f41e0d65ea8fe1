/**
 * Messages between ranks that are late, doubled, cut or damaged, and a clock that jumps. Late messages change no bit. With every call
 * checked, any other fault is a typed error or changes no bit. A lock whose holder lives is never taken over, whatever the clock says.
 * `HEED_CASES` is the number of seeds of each test, `HEED_ALL=1` asks for all.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { checked } from "../../src/cluster/communicator/checked.ts";
import { NOTHING } from "../../src/cluster/communicator/communicator.ts";
import {
  type Communicator,
  contextAttention,
  contextAttentionBackward,
  localCluster,
  shardSequence,
} from "../../src/cluster/index.ts";
import { HeedError } from "../../src/core/errors.ts";
import { configure, Tensor } from "../../src/index.ts";
import { LOCK, lockFolder } from "../../src/io/filesystem/lock.ts";
import { saveFile } from "../../src/io/filesystem/save.ts";
import { languageModel, nextTokenBatch, train, Windows } from "../../src/train/index.ts";
import { caseCount } from "../support/cases/count.ts";
import { type Random, random } from "../support/cases/random.ts";

const CASES = caseCount(150, 400);
configure({ threads: 1 });

/** Turns of the event loop without a message after which a rank gives up, in place of the time limit of MPI. */
const TURNS = 2000;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** What happens to a message. */
const FAULTS: Readonly<Record<string, (bytes: Uint8Array, r: Random) => readonly Uint8Array[]>> = {
  doubled: (bytes) => [bytes, bytes],
  cut: (bytes, r) => [bytes.slice(0, r.int(0, Math.max(0, bytes.length - 1)))],
  damaged: (bytes, r) => {
    const copy = bytes.slice();
    if (copy.length > 0) copy[r.int(0, copy.length - 1)] ^= 1 << r.int(0, 7);
    return [copy];
  },
};

interface Job {
  /** Messages that all ranks have sent. */
  count: number;
}

/** A rank whose messages are numbered; number `at` of the whole job has a fault. */
function withFault(
  comm: Communicator,
  job: Job,
  at: number,
  deliver: (bytes: Uint8Array) => readonly Uint8Array[],
) {
  return Object.assign(Object.create(comm), {
    rank: comm.rank,
    size: comm.size,
    exchange: async (...[to, send, from, into]: Parameters<Communicator["exchange"]>) => {
      const bytes = new Uint8Array(send.buffer, send.byteOffset, send.byteLength);
      const [first, second] = to !== undefined && job.count++ === at ? deliver(bytes) : [bytes];
      await comm.exchange(to, first, from, into);
      if (second) await comm.exchange(to, second, undefined, NOTHING);
    },
  });
}

/** Rejects where no rank sends a message for long. */
async function stalled(job: Job, isOver: () => boolean): Promise<void> {
  for (let [turns, count] = [0, job.count]; !isOver(); turns++) {
    if (count !== job.count) [turns, count] = [0, job.count];
    if (turns === TURNS) throw new HeedError("stalled", "no message for long");
    await turn();
  }
}

type Program = (comm: Communicator, r: () => Random) => Promise<unknown>;

const bytesOf = ({ data, offset, size }: Tensor) => [
  ...(data as Float32Array).subarray(offset, offset + size),
];

const ids = Int32Array.from({ length: 300 }, (_, n) => (n * n * 7 + n) % 17);
const windows = new Windows(ids, [{ start: 0, end: ids.length }], { window: 9, seed: 3 });

const PROGRAMS: Readonly<Record<string, { readonly share: number; readonly run: Program }>> = {
  "the six operations": {
    share: 1,
    async run(comm, newRandom) {
      const r = newRandom();
      const results: number[][] = [];
      for (let n = 0; n < 4; n++) {
        const [length, kind] = [r.int(0, 40), r.int(0, 3)];
        const mine = Float64Array.from({ length }, (_, i) => Math.sin(i + comm.rank));
        const { rank, size } = comm;
        const into = new Float64Array(kind === 1 ? length * size : length);
        if (kind === 0) await comm.exchange((rank + 1) % size, mine, (rank + size - 1) % size, into);
        if (kind === 1) await comm.allGather(mine, into);
        if (kind === 2) await comm.reduce(mine);
        if (kind === 3) await comm.barrier();
        results.push([...(kind === 2 ? mine : into)]);
      }
      return results;
    },
  },
  "attention over shards": {
    share: 0.3,
    async run(comm, newRandom) {
      const r = newRandom();
      const [N, via] = [r.int(comm.size, 24), r.pick(["gather", "ring", "resident"] as const)];
      const tensors = Array.from(
        { length: 4 },
        () =>
          new Tensor(
            Float32Array.from({ length: N * 8 }, () => r.normal()),
            [1, 2, N, 4],
            "float32",
          ),
      );
      const plan = shardSequence({ length: N, ranks: comm.size, isCausal: true });
      const [q, k, v, dO] = tensors.map((t) => plan.take(comm.rank, t));
      const options = { isCausal: true, via };
      const state = await contextAttention(comm, plan, q, k, v, options);
      const gradients = await contextAttentionBackward(comm, plan, dO, q, k, v, state, options);
      return [state.output, gradients.dQuery, gradients.dKey, gradients.dValue].map(bytesOf);
    },
  },
  training: {
    share: 0.05,
    async run(comm) {
      const sizes = { vocabulary: 17, context: 8, layers: 1, heads: 2, width: 8, seed: 1 };
      const model = languageModel("decoder", sizes);
      const checkpoints: Uint8Array[] = [];
      await train({
        model,
        data: (step) => [0, 1, 2, 3, 4].map((m) => nextTokenBatch([windows.sequence(5 * step + m)])),
        steps: 2,
        comm,
        checkpoint: { path: "checkpoint", every: 1, save: async (_, bytes) => void checkpoints.push(bytes) },
      });
      return [checkpoints.map((one) => [...one]), [...model.parameters().values()].map(bytesOf)];
    },
  },
};

describe.each(Object.entries(PROGRAMS))("%s", (_, { share, run }) => {
  const cases = Math.ceil(CASES * share);
  const sizeOf = (seed: number) => 2 + (seed % 4);

  it("have the same bits with late messages, with and without the check of every call", {
    timeout: 300_000,
  }, async () => {
    for (let seed = 0; seed < cases / 4; seed++) {
      const size = sizeOf(seed);
      const newRandom = () => random(seed);
      const expected = await localCluster(size, (comm) => run(comm, newRandom));
      const r = random(seed + 0.5);
      const deliver = async () => {
        for (let turns = r.int(0, 6); turns > 0; turns--) await turn();
      };
      const late = await localCluster(size, (comm) => run(comm, newRandom), {
        deliver,
        check: seed % 2 === 0,
      });
      expect(late, `seed ${seed}`).toEqual(expected);
    }
  });

  it("have the same bits or end with a typed error where a message is doubled, cut or damaged", {
    timeout: 300_000,
  }, async () => {
    let errors = 0;
    for (let seed = 0; seed < cases; seed++) {
      const size = sizeOf(seed);
      const newRandom = () => random(seed);
      const job = { count: 0 };
      const expected = await localCluster(size, (comm) =>
        run(checked(withFault(comm, job, -1, () => [])), newRandom),
      );
      const r = random(seed + 0.5);
      const [at, fault] = [r.int(0, job.count - 1), r.pick(Object.keys(FAULTS))];
      const what = `seed ${seed}: message ${at} of ${job.count} ${fault}`;
      job.count = 0;
      let ended = 0;
      const outcome = await localCluster(size, async (comm) => {
        const rank = checked(withFault(comm, job, at, (bytes) => FAULTS[fault](bytes, r)));
        const done = run(rank, newRandom).finally(() => ended++);
        const limit = stalled(job, () => ended >= size);
        await Promise.race([done, limit.then(() => done)]);
        return done;
      }).catch((error: unknown) => error);
      if (outcome instanceof Error) {
        expect(outcome, `${what}: ${outcome.stack}`).toBeInstanceOf(HeedError);
        errors++;
      } else expect(outcome, what).toEqual(expected);
    }
    // Messages without bytes cannot be cut or damaged, and the last one is doubled without effect.
    expect(errors).toBeGreaterThan(cases / 2);
  });
});

describe("a clock that jumps", () => {
  const root = mkdtempSync(join(tmpdir(), "heed-clock-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const elsewhere = {
    pid: 1,
    host: hostname(),
    doing: "heed train",
    start: "100",
    boot: "b",
    namespace: "n",
  };
  /** Seconds since 1970, any time within 60 years. */
  const anyTime = (r: Random) => r.int(1, 2 ** 31 - 1);

  it("never takes the lock of a living process elsewhere, and takes that of a dead one after the limit", {
    timeout: 300_000,
  }, async () => {
    const count = Math.ceil(CASES / 5);
    await Promise.all(
      Array.from({ length: count }, async (_, seed) => {
        const r = random(seed);
        const folder = join(root, `${seed}`);
        mkdirSync(folder);
        const file = join(folder, LOCK);
        const text = JSON.stringify({ ...elsewhere, id: `${seed}`, beats: true });
        writeFileSync(file, text);
        utimesSync(file, 0, anyTime(r));
        const isAlive = r.chance(0.5);
        const beats = isAlive && setInterval(() => utimesSync(file, 0, anyTime(r)), 50);
        const taken = lockFolder(folder, "test", { interval: 1000, limit: 5000 });
        if (!isAlive) return (await taken)();
        await expect(taken, `seed ${seed}`).rejects.toMatchObject({ code: "locked" });
        clearInterval(beats as NodeJS.Timeout);
        expect(readFileSync(file, "utf8"), `seed ${seed}`).toBe(text);
      }),
    );
  });

  it("loses no file that this process is writing, when another save begins after the jump", async () => {
    const folder = join(root, "saves");
    mkdirSync(folder);
    const now = Date.now();
    const spy = vi.spyOn(Date, "now");
    async function* slow() {
      yield Uint8Array.of(1);
      spy.mockImplementation(() => now + 86_400_000);
      await saveFile(join(folder, "other"), Uint8Array.of(2));
      yield Uint8Array.of(3);
    }
    try {
      await saveFile(join(folder, "file"), slow());
    } finally {
      spy.mockRestore();
    }
    expect([...readFileSync(join(folder, "file"))]).toEqual([1, 3]);
    expect(readdirSync(folder).sort()).toEqual(["file", "other"]);
  });

  it("leaves the lock of this process to it, also where the system does not say when a process started", async () => {
    const folder = join(root, "own");
    mkdirSync(folder);
    const fs = process.getBuiltinModule("node:fs");
    const { readFileSync: read } = fs;
    const spies = [
      vi.spyOn(fs, "readlinkSync").mockImplementation(() => {
        throw new Error("no /proc");
      }),
      vi.spyOn(fs, "readFileSync").mockImplementation(((path: string, ...rest: never[]) => {
        if (`${path}`.startsWith("/proc/")) throw new Error("no /proc");
        return read(path, ...rest);
      }) as never),
    ];
    try {
      const unlock = await lockFolder(folder, "test");
      const now = Date.now();
      spies.push(vi.spyOn(Date, "now").mockImplementation(() => now + 86_400_000) as never);
      await expect(lockFolder(folder, "test")).rejects.toMatchObject({ code: "locked" });
      await unlock();
    } finally {
      for (const spy of spies) spy.mockRestore();
    }
  });
});
