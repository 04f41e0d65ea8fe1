import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { randomInput } from "../../../tests/support/cases/store/draw.ts";
import { HeedError, OptionError } from "../../core/errors.ts";
import type { HeadRef } from "../block.ts";
import type { HeadStore } from "../head-store.ts";
import { storeFrom } from "../layout/from.ts";
import { errorOf, failureOf, type Port, packed } from "./messages.ts";
import { plainKernel } from "./row-source.ts";
import { Runner } from "./scheduler.ts";
import { serveStore } from "./serve.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A worker on this thread: `serveStore` at the other end of a channel. */
function worker(kernel = plainKernel): Port {
  const { port1, port2 } = new MessageChannel();
  serveStore(port2 as unknown as Port, { kernel });
  ends.push(() => {
    port1.close();
    port2.close();
  });
  return port1 as unknown as Port;
}

const refs = (store: HeadStore): HeadRef[] =>
  store.blocks.flatMap(({ layers, heads }, block) =>
    layers.flatMap((layer) => Array.from({ length: heads }, (_, head) => ({ block, layer, head }))),
  );

/** All answers that a store computes in workers, for every head, in a form that is quick to compare. */
async function everything(store: HeadStore): Promise<unknown[]> {
  const answers: unknown[] = await Promise.all(
    refs(store).flatMap((ref) => [
      store.lse(ref),
      store.measures(ref),
      store.overview(ref, 7),
      store.column(ref, 0, "weights"),
      store.range(ref, "masked"),
      ...store.blocks[0].stages.map((stage) =>
        store.tile(ref, { stage, transfer: "sqrt", level: 0, i: 0, j: 0 }),
      ),
    ]),
  );
  return answers.map(brief);
}

/** Replaces arrays by a hash of their bytes. */
function brief(answer: unknown): unknown {
  if (ArrayBuffer.isView(answer)) {
    const bytes = new Uint8Array(answer.buffer, answer.byteOffset, answer.byteLength);
    return `${bytes.length}: ${bytes.reduce((sum, byte, n) => (Math.imul(sum, 31) + byte + n) | 0, 0)}`;
  }
  if (answer === null || typeof answer !== "object") return answer;
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, brief(value)]));
}

describe("workers", () => {
  it("return the same bits as this thread", async () => {
    for (let seed = 0; seed < 4; seed++) {
      const input = randomInput(seed + 40, { layers: 2 });
      const here = storeFrom(input);
      const remote = storeFrom(input, { worker, workers: 2 });
      expect(await everything(remote)).toEqual(await everything(here));
      here.dispose();
      remote.dispose();
    }
  });

  it("on another thread return the same bits as this one", async (context) => {
    if (!(process.features as { typescript?: unknown }).typescript)
      return context.skip("Node runs TypeScript files from 22.18 on");
    const threads: Worker[] = [];
    const thread = (): Port => {
      const thread = new Worker(new URL("../../../tests/support/cases/store/worker.ts", import.meta.url));
      const { port1, port2 } = new MessageChannel();
      thread.postMessage(port2, [port2 as never]);
      threads.push(thread);
      ends.push(() => port1.close());
      return port1 as unknown as Port;
    };
    const input = randomInput(60, { Nq: 33, Nk: 33 });
    const here = storeFrom(input);
    const remote = storeFrom(input, { worker: thread, workers: 1 });
    expect(await everything(remote)).toEqual(await everything(here));
    here.dispose();
    remote.dispose();
    for (const thread of threads) await thread.terminate();
  });

  it("that cannot be created are replaced by this thread", async () => {
    const input = randomInput(3);
    const here = storeFrom(input);
    const refused = () => {
      throw new Error("a policy forbids it");
    };
    const store = storeFrom(input, { worker: refused });
    expect(await everything(store)).toEqual(await everything(here));
    here.dispose();
    store.dispose();
  });

  it("get a long head after the page has drawn its first row, and a short one at once", async () => {
    for (const [Nk, isSentFirst] of [
      [2 ** 17 + 1, false],
      [64, true],
    ] as const) {
      const posted: string[] = [];
      const port = worker();
      const post = port.postMessage.bind(port);
      port.postMessage = (message, transfer) => {
        posted.push((message as { type: string }).type);
        post(message, transfer);
      };
      const store = storeFrom(randomInput(5, { layers: 1, heads: 2, Nq: 1, Nk }), {
        worker: () => port,
        workers: 1,
      });
      const [ref] = refs(store);
      const measured = store.measures(ref);
      await store.load(ref);
      for (let n = 0; n < 20; n++) await Promise.resolve();
      // What a page draws without a task between.
      expect(store.row(ref, 0, "weights").length).toBe(Nk);
      expect(posted.includes("head")).toBe(isSentFirst);
      await measured;
      expect(posted).toContain("head");
      store.dispose();
    }
  });

  it("that fail have their requests sent to another worker, or to this thread", async () => {
    const input = randomInput(4, { layers: 3 });
    const here = storeFrom(input);
    const listeners: ((event: MessageEvent) => void)[] = [];
    let terminated = 0;
    /** A worker that never answers. */
    const mute = (): Port => ({
      postMessage() {},
      addEventListener(type, listener) {
        if (type === "error") listeners.push(listener);
      },
      terminate: () => void terminated++,
    });
    const ports = [mute(), worker()];
    const store = storeFrom(input, { worker: () => ports.shift()!, workers: 2 });
    const answers = everything(store);
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const fail of listeners) fail(new Event("error") as MessageEvent);
    expect(await answers).toEqual(await everything(here));
    expect(terminated).toBe(1);
    store.dispose();

    // The only worker fails: this thread answers.
    listeners.length = 0;
    const alone = storeFrom(input, { worker: mute, workers: 1 });
    const lateAnswers = everything(alone);
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const fail of listeners) fail(new Event("error") as MessageEvent);
    expect(await lateAnswers).toEqual(await everything(here));
    alone.dispose();
    here.dispose();
  });

  it("drop heads above their capacity, and receive them again when requested", async () => {
    const N = 64;
    // The weights of a head take 32 KiB; the capacity is three heads.
    const layers = Array.from({ length: 12 }, (_, layer) => ({
      weights: { data: new Float64Array(N * N).fill((layer + 1) / 1000), shape: [1, N, N] },
    }));
    const sent: string[] = [];
    const listening = (): Port => {
      const port = worker();
      const post = port.postMessage.bind(port);
      return Object.assign(port, {
        postMessage(message: { type: string }, transfer?: Transferable[]) {
          sent.push(message.type);
          post(message, transfer);
        },
      });
    };
    const store = storeFrom(
      { blocks: [{ layers }] },
      { worker: listening, workers: 1, workerBytes: 3 * 32 * 1024 },
    );
    for (const [n, layer] of [...layers.keys(), 0, 1].entries()) {
      // Another size, so that the answer is not cached.
      const { max } = await store.overview({ block: 0, layer, head: 0 }, n < 12 ? 2 : 3);
      expect(max[0]).toBe(Math.round(255 * Math.sqrt((layer + 1) / 1000)));
    }
    const count = (type: string) => sent.filter((one) => one === type).length;
    // The first two were dropped and sent again.
    expect(count("head")).toBe(14);
    expect(count("drop")).toBe(11);
    store.dispose();
  });
});

describe("requests", () => {
  it("are canceled by their signal, and the next one starts again", async () => {
    for (const options of [{}, { worker, workers: 1 }]) {
      const store = storeFrom(randomInput(5, { Nq: 300, Nk: 300, heads: 2, keyHeads: 2 }), options);
      const stop = new AbortController();
      const ref = { block: 0, layer: 0, head: 1 };
      const first = store.overview(ref, 16, { signal: stop.signal });
      const other = store.tile(
        ref,
        { stage: "weights", transfer: "sqrt", level: 0, i: 0, j: 0 },
        { signal: stop.signal },
      );
      stop.abort(new Error("scrolled away"));
      await expect(first).rejects.toThrow("scrolled away");
      await expect(other).rejects.toThrow("scrolled away");
      expect((await store.overview(ref, 16)).done).toBe(1);
      await expect(store.overview(ref, 17, { signal: stop.signal })).rejects.toThrow("scrolled away");
      store.dispose();
    }
  });

  it("made twice are computed once, even if one caller cancels", async () => {
    let rows = 0;
    const counting = {
      ...plainKernel,
      run: ((head, from, to, visit) => {
        rows += to - from;
        plainKernel.run(head, from, to, visit);
      }) as typeof plainKernel.run,
    };
    const store = storeFrom(randomInput(6, { Nq: 200, Nk: 200, heads: 1, keyHeads: 1 }), {
      kernel: counting,
    });
    const ref = { block: 0, layer: 0, head: 0 };
    const stop = new AbortController();
    const canceled = store.overview(ref, 64, { signal: stop.signal });
    const others = Promise.all([store.measures(ref), store.lse(ref), store.overview(ref, 64)]);
    stop.abort(new Error("canceled"));
    await expect(canceled).rejects.toThrow("canceled");
    await others;
    expect(rows).toBe(200);
    store.dispose();
  });

  it("about heads on screen are answered first", async () => {
    for (const options of [{}, { worker, workers: 1 }]) {
      const store = storeFrom(randomInput(7, { Nq: 150, Nk: 150, heads: 12, keyHeads: 12 }), options);
      const done: number[] = [];
      const heads = refs(store);
      store.prioritize([heads[9], heads[4]]);
      const all = heads.map((ref) => store.overview(ref, 8).then(() => done.push(ref.head)));
      await Promise.all(all);
      // The first request may have started before the others arrived.
      expect(done.slice(0, 3)).toEqual(expect.arrayContaining([9, 4]));
      store.dispose();
    }
  });

  it("report their progress, with an overview of the rows so far", async () => {
    // Steps of 12 ms, so that there is progress to report.
    const slow = {
      ...plainKernel,
      rowsPerStep: () => 10,
      run: ((head, from, to, visit) => {
        const end = performance.now() + 12;
        while (performance.now() < end);
        plainKernel.run(head, from, to, visit);
      }) as typeof plainKernel.run,
    };
    for (const options of [{ kernel: slow }, { worker: () => worker(slow), workers: 1 }]) {
      const store = storeFrom(randomInput(8, { Nq: 400, Nk: 20, heads: 1, keyHeads: 1 }), options);
      const reported: [number, number | undefined][] = [];
      await store.overview({ block: 0, layer: 0, head: 0 }, 16, {
        onProgress: (done, overview) => reported.push([done, overview?.done]),
      });
      expect(reported.length).toBeGreaterThan(1);
      for (const [done, shown] of reported) expect(shown).toBeCloseTo(done, 12);
      expect(reported.map(([done]) => done)).toEqual(reported.map(([done]) => done).sort((a, b) => a - b));
      store.dispose();
    }
  });

  it("in flight when the store is disposed are rejected", async () => {
    for (const options of [{}, { worker, workers: 1 }]) {
      const store = storeFrom(randomInput(9, { Nq: 300, Nk: 300 }), options);
      const overview = store.overview({ block: 0, layer: 0, head: 0 }, 16);
      store.dispose();
      store.dispose();
      await expect(overview).rejects.toThrow(/disposed/);
    }
  });

  it("about a head that was not sent fail with a typed error, and errors keep their kind between threads", async () => {
    const port = worker();
    const answer = new Promise<{ error: Parameters<typeof errorOf>[0] }>((resolve) => {
      port.addEventListener("message", ({ data }) => resolve(data));
      port.start?.();
    });
    port.postMessage({
      type: "request",
      id: 1,
      key: "none",
      request: { what: "range", stage: "weights" },
      urgency: 0,
      progress: false,
    });
    const error = errorOf((await answer).error);
    expect(error).toBeInstanceOf(HeedError);
    expect(error.message).toMatch(/head none was requested before it was sent/);
    expect(errorOf(failureOf(new OptionError("x", "y")))).toBeInstanceOf(OptionError);
    expect(failureOf("text")).toEqual({ name: "Error", message: "text", code: "worker" });
  });
});

describe("packed", () => {
  it("copies a head's own rows, not the array they are a view of", () => {
    const big = new Float32Array(1000);
    const { data, transfer } = packed({
      Nq: 2,
      Nk: 2,
      d: 5,
      dv: 0,
      query: big.subarray(10, 20),
      key: big.subarray(20, 30),
      recipe: { scale: 1, mask: "none", queryOffset: 0 },
    });
    expect(data.query!.buffer.byteLength).toBe(40);
    expect(transfer.length).toBe(2);
    expect(big.buffer.byteLength).toBe(4000);
  });
});

describe("Runner", () => {
  it("runs the most urgent job first, lets the others wait, and passes errors on", async () => {
    const runner = new Runner(0);
    const order: string[] = [];
    const work = (name: string, steps: number) =>
      function* () {
        for (let n = 0; n < steps; n++) {
          order.push(name);
          yield { done: n / steps };
        }
        return name;
      };
    let urgency = 2;
    const late = runner.add({ work: work("late", 3), urgency: () => urgency });
    const soon = runner.add({ work: work("soon", 3), urgency: () => 1 });
    const bad = runner.add({
      work: function* (): Generator<{ done: number }, string> {
        yield { done: 0 };
        throw new Error("broken");
      },
      urgency: () => 0,
    });
    await expect(bad.result).rejects.toThrow("broken");
    expect(await soon.result).toBe("soon");
    urgency = 0;
    expect(await late.result).toBe("late");
    expect(order.slice(0, 3)).toEqual(["soon", "soon", "soon"]);
  });
});
