/** The gate: how much runs at once, which goes next, and what an aborted signal leaves out. */
import { expect, test } from "vitest";
import { Gate } from "./gate.ts";
import { Runner } from "./scheduler.ts";
import { SingleFlight } from "./single-flight.ts";

/** Work that runs until it is ended, by name. */
function pieces(gate: Gate) {
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (name: string, urgency: () => number, signal?: AbortSignal) =>
    gate.run(urgency, signal, () => {
      order.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    });
  return { order, add, end: (name: string) => ends.get(name)?.() };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

test("at most so many at once, then the most urgent, and of equals the first", async () => {
  const gate = new Gate(2);
  const { order, add, end } = pieces(gate);
  let last = 9;
  const all = [
    add("a", () => 5),
    add("b", () => 5),
    add("c", () => 5),
    add("d", () => 1),
    add("e", () => 5),
    add("f", () => last),
  ];
  await settle();
  expect(order).toEqual(["a", "b"]);
  end("a");
  await settle();
  expect(order).toEqual(["a", "b", "d"]);
  last = 0;
  gate.reorder();
  end("b");
  await settle();
  expect(order).toEqual(["a", "b", "d", "f"]);
  end("d");
  end("f");
  await settle();
  expect(order).toEqual(["a", "b", "d", "f", "c", "e"]);
  end("c");
  end("e");
  expect(await Promise.all(all)).toEqual(["a", "b", "c", "d", "e", "f"]);
  // All places are free again.
  void add("g", () => 0);
  void add("h", () => 0);
  await settle();
  expect(order.slice(-2)).toEqual(["g", "h"]);
});

test("waiting work that is aborted is not order; work that throws leaves its place", async () => {
  const gate = new Gate(1);
  const { order, add, end } = pieces(gate);
  const first = add("a", () => 0);
  const stop = new AbortController();
  const second = add("b", () => 0, stop.signal);
  const third = gate.run(
    () => 0,
    undefined,
    async () => {
      throw new Error("no head");
    },
  );
  const fourth = add("c", () => 0);
  stop.abort(new Error("another text"));
  await expect(second).rejects.toThrow("another text");
  end("a");
  await first;
  await expect(third).rejects.toThrow("no head");
  await settle();
  expect(order).toEqual(["a", "c"]);
  end("c");
  await fourth;
});

test("the jobs of a thread run by urgency, and of equals the oldest first", async () => {
  const runner = new Runner();
  const ended: string[] = [];
  const job = (name: string, urgency: number) => {
    const work = function* () {
      yield { done: 0 };
      ended.push(name);
      return name;
    };
    return runner.add({ work: work as never, urgency: () => urgency }).result;
  };
  await Promise.all([job("a", 2), job("b", 2), job("c", 1), job("d", 2)]);
  expect(ended).toEqual(["c", "a", "b", "d"]);
});

test("a request that was aborted is not joined: the next one starts anew", async () => {
  const flights = new SingleFlight<number>();
  let starts = 0;
  // As a worker does, the work notices the end of its signal later.
  const begin = ({ signal }: { signal?: AbortSignal }) => {
    const start = ++starts;
    return settle().then(() => {
      signal?.throwIfAborted();
      return start;
    });
  };
  const stop = new AbortController();
  const first = flights.ask("pass", { signal: stop.signal }, begin);
  stop.abort(new Error("left"));
  const second = flights.ask("pass", {}, begin);
  await expect(first).rejects.toThrow("left");
  expect([await second, starts]).toEqual([2, 2]);
});
