/**
 * The self-test of a kernel: at its first use on an adapter a small problem (cases.ts) is enqueued too, and compared with the formula in
 * float64. Calls return at once as always: `read` of what an untested kernel wrote, or of what reads that, waits for the verdict.
 */
import { outsideScopes } from "../../core/arena.ts";
import { HeedError, messageOf, UnsupportedError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { SelfTests } from "../device.ts";
import {
  BASES,
  type ForwardShape,
  type Level,
  type LevelName,
  levelReason,
  NARROW,
  shapeOf,
} from "../levels.ts";
import type { Compiled, KernelVerdict } from "../queue.ts";
import type { GpuSession } from "../session.ts";
import {
  caseOf,
  forwardCase,
  isRight,
  type TestCase,
  type TestedOperation,
  type TestResults,
} from "./cases.ts";
import { onCpu, onGpu } from "./makers.ts";

/** The first number of the results that differs from the CPU's. */
async function firstFault(got: TestResults, run: TestCase["run"]): Promise<string | undefined> {
  const computed = (shift: number) => outsideScopes(() => run(onCpu(shift)));
  const want = computed(0);
  let near: readonly TestResults[] | undefined;
  for (const [name, result] of Object.entries(got)) {
    if (!result) continue;
    const values = new Float64Array((await result.to("cpu")).toFloat64());
    const numbersIn = (results: TestResults) => (results[name] as Tensor).toFloat64();
    const [right, isWide] = [numbersIn(want), want[name]?.dtype === "float64"];
    // Where the formula gives NaN, as score mods may, a GPU may give anything.
    const isWrong = (x: number, n: number) =>
      !Number.isNaN(x) && !isRight(values[n], x, isWide ? result.dtype : undefined);
    if (!right.some(isWrong)) continue;
    // Results that such small changes of the scores change, float32 cannot tell.
    near ??= [4e-6, -4e-6].map(computed);
    const others = near.map(numbersIn);
    const at = right.findIndex(
      (x, n) =>
        isWrong(x, n) && others.every((other) => 8 * Math.abs(other[n] - x) < Math.abs(values[n] - x) || Number.isNaN(values[n])),
    ); // biome-ignore format: a condition
    if (at >= 0)
      return `element ${at} of ${name} is ${values[at]}, the formula in float64 gives ${right[at]}`;
  }
  return undefined;
}

/** Runs a self-test, and returns what the kernel computes wrongly. A loss and a lack of memory are thrown. */
async function faultOf(
  session: GpuSession,
  { run }: TestCase,
  tested = new Set<Compiled>(),
): Promise<string | undefined> {
  const tensors: Tensor[] = [];
  const { queue } = session;
  // What was recorded before does not share the errors of this batch.
  queue.flush();
  const { dispatches, fresh } = queue;
  Object.assign(queue, { fresh: undefined, tested });
  try {
    let got: TestResults;
    try {
      // A scope of the caller disposes nothing, and only calls are counted as dispatches.
      got = outsideScopes(() => run(onGpu(session, tensors)));
    } finally {
      Object.assign(queue, { dispatches, fresh, tested: undefined });
    }
    for (const t of Object.values(got)) if (t) tensors.push(t);
    return await firstFault(got, run);
  } catch (error) {
    if (error instanceof HeedError && error.code === "device") return error.message;
    throw error;
  } finally {
    for (const t of new Set(tensors)) t.dispose();
  }
}

/** The error of a kernel that is not used. */
const refusal = (session: GpuSession, kernel: string, fault: string): UnsupportedError => {
  const { name: adapter } = session;
  return new UnsupportedError(
    "self-test",
    `webgpu: the adapter ${adapter} computes wrong numbers with the kernel "${kernel}", which is not used: in its self-test ${fault}; update its driver, or compute on the CPU`,
    { adapter, kernel, fault },
  );
};

/** Begins the self-test of the kernels that an operation used first; its result is not awaited. */
function beginTest(session: GpuSession, operation: TestedOperation, fresh: readonly Compiled[]): void {
  const { findings, verdicts } = session;
  const verdict = fresh[0].verdict as KernelVerdict;
  const test = caseOf(session, operation);
  const { kernel } = test;
  const end = (fault: Error | undefined): void => {
    verdict.fault = fault;
    verdict.isOpen = false;
    for (const { text } of fresh) findings.verdicts.set(text, verdict);
  };
  // Views and axes print other texts of an operation, which share the verdict of its name.
  const same = test.isOfCall ? undefined : verdicts.get(kernel);
  if (same || (!test.isOfCall && findings.faults.has(kernel))) {
    verdict.done = Promise.resolve(same?.done).then(() =>
      end(same ? same.fault : findings.faults.get(kernel)),
    );
    return;
  }
  verdicts.set(kernel, verdict);
  const tested = new Set<Compiled>();
  verdict.done = faultOf(session, test, tested).then(
    (text) => {
      const fault = text === undefined ? undefined : refusal(session, kernel, text);
      if (!findings.faults.get(kernel)) findings.faults.set(kernel, fault);
      for (const one of fresh) if (test.isOfCall && !tested.has(one)) findings.untried.add(one.text);
      end(fault);
    },
    // Lost, or without memory: not known, so that the next use tests again; `read` of a result says why it fails itself.
    (error: unknown) => {
      verdicts.delete(kernel);
      verdict.fault = error instanceof Error ? error : new Error(messageOf(error));
      verdict.isOpen = false;
      for (const one of fresh) one.verdict = undefined;
    },
  );
}

/** Runs the work of an operation. Kernels that it uses first are tested then; one that is known to be wrong throws. */
export function checked<T>(session: GpuSession, operation: TestedOperation, work: () => T): T {
  const { queue } = session;
  const outer = queue.fresh;
  const fresh: Compiled[] = [];
  queue.fresh = fresh;
  try {
    return work();
  } finally {
    queue.fresh = outer;
    if (fresh.length > 0) beginTest(session, operation, fresh);
  }
}

/** What is wrong with a printed forward kernel; its test runs once a process. */
export async function forwardFault(session: GpuSession, shape: ForwardShape): Promise<Error | undefined> {
  const { faults } = session.findings;
  const test = forwardCase(shape);
  if (!faults.has(test.kernel)) {
    const fault = await faultOf(session, test);
    faults.set(test.kernel, fault === undefined ? undefined : refusal(session, test.kernel, fault));
  }
  return faults.get(test.kernel);
}

/** Why a level above a base is not used on an adapter, by what it lacks or by its self-test; undefined where it is. */
async function refusedReason(
  session: GpuSession,
  level: Level,
  base: Level,
): Promise<Error | string | undefined> {
  const { capabilities, refusals } = session;
  const refused =
    levelReason(level, capabilities) ?? (await forwardFault(session, shapeOf(level, base, capabilities)));
  if (refused !== undefined) refusals.set(level.name, messageOf(refused));
  return refused;
}

/** Takes the best levels that the adapter has and whose kernels pass their tests, or the one that is requested with those below it. */
async function begin(session: GpuSession, requested: LevelName | undefined): Promise<void> {
  const refuse = (refused: Error | string | undefined): never => {
    if (refused instanceof Error) throw refused;
    const { name: adapter } = session;
    throw new UnsupportedError(
      "level",
      `webgpu: the level "${requested}" does not run on the adapter ${adapter}: ${refused}; without the option level the best one that runs is taken`,
      { level: requested, adapter },
    );
  };
  const one = BASES.find(({ name }) => name === requested);
  let base: Level | undefined;
  let refused: Error | string | undefined;
  for (const level of one ? [one] : [...BASES].reverse()) {
    refused = await refusedReason(session, level, level);
    if (refused === undefined) base = level;
    if (base) break;
  }
  if (!base) return refuse(refused);
  const levels = [base];
  for (const level of one ? [] : NARROW) {
    const isRequested = level.name === requested;
    // An experimental feature is not used where nobody asked for it; the level below `matrices` may be missing.
    if (level.name === "matrices" && !isRequested) continue;
    if (isRequested && level.name === "matrices")
      ({ matrixText: session.matrixText } = await import("../attention/matrices.ts"));
    refused = await refusedReason(session, level, base);
    if (refused === undefined) levels.push(level);
    else if (isRequested) refuse(refused);
    if (isRequested) break;
  }
  session.levels = levels;
}

/** The self-tests. */
export const selfTests: SelfTests = {
  begin,
  copy: (session, bytes, work) => checked(session, { kind: "copy", bytes }, work),
};
