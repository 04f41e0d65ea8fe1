/**
 * Contestants take turns, A B C, A B C … in one process, so that a slow phase of the machine affects all of them. A turn of a
 * short call is an untimed call, which wakes threads and warms caches, and then some milliseconds of calls, whose mean counts;
 * a turn of a long call is one call. Figures are medians over turns; ratios are computed turn by turn.
 */

/** A call that takes turns with others. */
export interface Contestant {
  readonly name: string;
  /** Runs before each turn, to change settings. */
  engage?(): void;
  /** The timed call. */
  run(): unknown;
}

/** Seconds per call, by turn; NaN for a skipped turn. */
export interface Taken {
  readonly name: string;
  readonly seconds: readonly number[];
  /** True if one call takes longer than the available time: its only figure is that of one cold call. */
  readonly once: boolean;
}

/** Length of a turn of short calls, and maximum length of a call that is preceded by an untimed one. */
const TURN = 0.01;
const SHORT = 0.02;
/** The check before a turn that the process is idle: its length, the maximum share of a core, and the maximum number of checks. */
const LOOK_MS = 4;
const QUIET = 0.3;
const LOOKS = 40;
/** Seconds of calls before the first turn. */
const WARM = 0.1;
const MOST_TURNS = 200;

/** A quantile of sorted or unsorted numbers, without NaN. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.filter((x) => x === x).sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
}

/** A figure with its spread over turns. */
export interface Spread {
  readonly median: number;
  readonly p25: number;
  readonly p75: number;
  readonly best: number;
}

/** Median, quartiles and minimum of the measurements. */
export function spreadOf(values: readonly number[]): Spread {
  return {
    median: quantile(values, 0.5),
    p25: quantile(values, 0.25),
    p75: quantile(values, 0.75),
    best: quantile(values, 0),
  };
}

/** Turn by turn: `a` over `b`. A contestant with a single figure is compared by it in every turn. */
export function ratios(a: Taken, b: Taken): number[] {
  const at = ({ seconds, once }: Taken, n: number) => (once ? seconds[0] : seconds[n]);
  const turns = a.once && b.once ? 1 : Math.max(a.seconds.length, b.seconds.length);
  return Array.from({ length: turns }, (_, n) => at(a, n) / at(b, n)).filter((x) => x === x);
}

/**
 * Waits until the process is idle: threads of some packages spin for tens of milliseconds after their call, and V8 compiles
 * and collects garbage in the background, which must not happen in another contestant's turn. A page cannot tell, and has no such packages.
 */
async function quiet(): Promise<void> {
  if (!("process" in globalThis)) return;
  for (let look = 0; look < LOOKS; look++) {
    const before = process.cpuUsage();
    const start = performance.now();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1e3 < QUIET * (performance.now() - start)) return;
  }
}

const now = () => performance.now() / 1e3;

async function calls(run: () => unknown, count: number): Promise<number> {
  const start = now();
  for (let n = 0; n < count; n++) {
    const result = run();
    if (result instanceof Promise) await result;
  }
  return (now() - start) / count;
}

/**
 * Runs all contestants in turns for `seconds`, at least `least` turns each, and calls `between` after each round. A contestant
 * that has used more than its share of the time skips turns. The first contestant, with which all are compared, skips none.
 *
 * @param first seconds of each contestant's checked call
 */
export async function takeTurns(
  contestants: readonly Contestant[],
  first: readonly number[],
  seconds: number,
  least = 5,
  between: () => void = () => {},
): Promise<Taken[]> {
  const times: number[][] = contestants.map(() => []);
  const once = first.map((x, n) => n > 0 && x > seconds);
  const usual: number[] = [];
  for (const [n, one] of contestants.entries()) {
    usual[n] = first[n];
    if (once[n]) continue;
    one.engage?.();
    // Optimized code runs after some calls and some tens of milliseconds.
    for (let spent = 0, i = 0; i === 0 || spent < WARM || (i < 4 && spent < 4 * WARM); i++) {
      usual[n] = await calls(one.run, 1);
      spent += usual[n];
    }
  }
  // Two turns are enough for a slow contestant.
  const wanted = contestants.map((_, n) => (once[n] ? 0 : n > 0 && usual[n] * least > seconds ? 2 : least));
  const share = (1.5 * seconds) / contestants.length;
  const spent = contestants.map(() => 0);
  const done = contestants.map(() => 0);
  const start = now();
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    if (now() - start > seconds && contestants.every((_, n) => done[n] >= wanted[n])) break;
    for (const [n, one] of contestants.entries()) {
      if (once[n]) continue;
      if (done[n] >= wanted[n] && spent[n] > share) {
        times[n].push(Number.NaN);
        continue;
      }
      await quiet();
      one.engage?.();
      const from = now();
      if (usual[n] < SHORT) usual[n] = await calls(one.run, 1);
      const count = Math.max(1, Math.min(2000, Math.ceil(TURN / Math.max(usual[n], 1e-6))));
      usual[n] = await calls(one.run, count);
      times[n].push(usual[n]);
      spent[n] += now() - from;
      done[n]++;
    }
    between();
  }
  return contestants.map(({ name }, n) => ({
    name,
    seconds: once[n] ? [first[n]] : times[n],
    once: once[n],
  }));
}
