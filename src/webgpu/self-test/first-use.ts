/**
 * The self-test of a kernel: at its first use on an adapter a small problem (cases.ts) is enqueued too, and compared with the formula in
 * float64. Calls return at once as always: `read` of what an untested kernel wrote, or of what reads that, waits for the verdict.
 */
import { outsideScopes } from "../../core/arena.ts";
import { HeedError, messageOf, UnsupportedError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { SelfTests } from "../device.ts";
import { type ForwardShape, LEVELS, type LevelName, lanesOf, levelReason } from "../levels.ts";
import type { KernelVerdict } from "../queue.ts";
import type { GpuSession } from "../session.ts";
import {
  casesOf,
  forwardCase,
  isRight,
  type TestCase,
  type TestedOperation,
  type TestResults,
} from "./cases.ts";
import { onCpu, onGpu } from "./makers.ts";

/** What is known of the kernels of each adapter, by its name: a fault, or undefined where a kernel passed. */
const adapters = new Map<string, Map<string, UnsupportedError | undefined>>();

/** What is known of an adapter. */
export function faultsOf(session: GpuSession): Map<string, UnsupportedError | undefined> {
  const { name } = session;
  let faults = adapters.get(name);
  if (!faults) {
    faults = new Map();
    adapters.set(name, faults);
  }
  return faults;
}

/** The first number of the results that differs from the CPU's. */
async function firstFault(got: TestResults, want: TestResults): Promise<string | undefined> {
  for (const [name, expected] of Object.entries(want)) {
    const result = got[name];
    if (!expected || !result) throw new Error(`the self-test has no result ${name}`);
    const values = new Float64Array((await result.to("cpu")).toFloat64());
    const right = expected.toFloat64();
    const at = right.findIndex((x, n) => !isRight(values[n], x));
    if (at >= 0)
      return `element ${at} of ${name} is ${values[at]}, the formula in float64 gives ${right[at]}`;
  }
  return undefined;
}

/** Enqueues a self-test, and computes what it should give. Only calls are counted as dispatches, and a scope of the caller disposes nothing. */
function record(session: GpuSession, run: TestCase["run"], tensors: Tensor[]) {
  const { queue } = session;
  // What was recorded before does not share the errors of this batch.
  queue.flush();
  const { dispatches, verdicts } = queue;
  queue.verdicts = [];
  try {
    return outsideScopes(() => ({ got: run(onGpu(session, tensors)), want: run(onCpu) }));
  } finally {
    Object.assign(queue, { dispatches, verdicts });
  }
}

/** Runs a self-test, and returns what the kernel computes wrongly. A loss and a lack of memory are thrown. */
async function faultOf(session: GpuSession, { run }: TestCase): Promise<string | undefined> {
  const tensors: Tensor[] = [];
  try {
    const { got, want } = record(session, run, tensors);
    for (const t of Object.values(got)) if (t) tensors.push(t);
    return await firstFault(got, want);
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

/** Begins a self-test whose result is not awaited. */
function beginTest(session: GpuSession, test: TestCase): KernelVerdict {
  const faults = faultsOf(session);
  const verdict: KernelVerdict = { isOpen: true, fault: undefined, done: Promise.resolve() };
  session.verdicts.set(test.kernel, verdict);
  const end = (fault: Error | undefined): void => {
    verdict.fault = fault;
    verdict.isOpen = false;
  };
  verdict.done = faultOf(session, test).then(
    (text) => {
      const fault = text === undefined ? undefined : refusal(session, test.kernel, text);
      end(fault);
      faults.set(test.kernel, fault);
    },
    // Lost, or without memory: not known, so that the next use tests again; `read` of a result says why it fails itself.
    (error: unknown) => {
      session.verdicts.delete(test.kernel);
      end(error instanceof Error ? error : new Error(messageOf(error)));
    },
  );
  return verdict;
}

/** Runs the work of an operation once its kernels are known to be right, or while they are tested; throws where one is known to be wrong. */
export function checked<T>(session: GpuSession, operation: TestedOperation, work: () => T): T {
  const faults = faultsOf(session);
  const open: KernelVerdict[] = [];
  for (const test of casesOf(session, operation)) {
    const fault = faults.get(test.kernel);
    if (fault) throw fault;
    if (faults.has(test.kernel)) continue;
    const verdict = session.verdicts.get(test.kernel) ?? beginTest(session, test);
    if (verdict.isOpen) open.push(verdict);
  }
  if (open.length === 0) return work();
  const { queue } = session;
  const { verdicts } = queue;
  queue.verdicts = [...verdicts, ...open];
  try {
    return work();
  } finally {
    queue.verdicts = verdicts;
  }
}

/** What is wrong with a printed forward kernel; its test runs once a process. */
export async function forwardFault(
  session: GpuSession,
  shape: ForwardShape,
): Promise<UnsupportedError | undefined> {
  const faults = faultsOf(session);
  const test = forwardCase(shape);
  if (!faults.has(test.kernel)) {
    const fault = await faultOf(session, test);
    faults.set(test.kernel, fault === undefined ? undefined : refusal(session, test.kernel, fault));
  }
  return faults.get(test.kernel);
}

/** Takes the best level that the adapter has and whose kernel passes its test, or the one that is requested. */
async function begin(session: GpuSession, requested: LevelName | undefined): Promise<void> {
  const { capabilities, refusals, name } = session;
  const levels =
    requested === undefined ? [...LEVELS].reverse() : LEVELS.filter((one) => one.name === requested);
  let fault: UnsupportedError | undefined;
  for (const level of levels) {
    const reason = levelReason(level, capabilities);
    if (reason !== undefined) {
      refusals.set(level.name, reason);
      continue;
    }
    fault = await forwardFault(session, { tile: level.tile, lanes: lanesOf(level, capabilities) });
    if (fault) {
      refusals.set(level.name, fault.message);
      continue;
    }
    session.level = level;
    return;
  }
  throw (
    fault ??
    new UnsupportedError(
      "level",
      `webgpu: the level "${requested}" does not run on the adapter ${name}: ${refusals.get(requested as LevelName)}; without the option level the best one that runs is taken`,
      { level: requested, adapter: name },
    )
  );
}

/** The self-tests. */
export const selfTests: SelfTests = {
  begin,
  copy: (session, bytes, work) => checked(session, { kind: "copy", bytes }, work),
};
