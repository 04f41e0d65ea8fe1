/**
 * The device that a worker computes passes with: the CPU, or a GPU where the page asks for it. What a GPU needs is loaded when it is
 * first used (`device-pass.ts`). Where it fails, the CPU computes that head and those after it, and the page gets the reason.
 */
import { messageOf } from "../../core/errors.ts";
import type { Overview } from "../measures/pool.ts";
import type { DeviceState, DeviceUse } from "./messages.ts";
import type { HeadRequest, PassAnswer } from "./request.ts";
import type { Subject } from "./subject.ts";
import type { WorkProgress } from "./work.ts";

/** The request of a pass. */
export type PassRequest = Extract<HeadRequest, { what: "pass" }>;

/** A device that computes passes over heads; of a long head the overview alone, and the map of the subject. */
export interface PassDevice {
  pass(
    subject: Subject,
    request: PassRequest,
    report: ((progress: WorkProgress) => void) | undefined,
    isWanted: () => boolean,
  ): Promise<PassAnswer | Overview>;
}

/** What was started: in words, with the device unless the CPU is to compute. */
export interface StartResult {
  readonly text: string;
  readonly device?: PassDevice;
}

/** Starts a device. For `auto` it decides whether that is faster. */
export type StartDevice = (use: Exclude<DeviceUse, "cpu">) => Promise<StartResult>;

/** The devices of a worker. */
export class WorkerDevice {
  readonly #start: StartDevice;
  readonly #tell: (state: DeviceState) => void;
  #use: DeviceUse = "cpu";
  #started: Promise<StartResult> | undefined;
  /** Passes wait for each other: together they would take the memory of all. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(start: StartDevice, tell: (state: DeviceState) => void) {
    this.#start = start;
    this.#tell = tell;
  }

  /** Chooses a device for the passes from now on. */
  choose(use: DeviceUse): void {
    if (use === this.#use) return;
    this.#use = use;
    this.#started = undefined;
    if (use === "gpu") void this.#device();
  }

  /** A pass on the device; undefined where the CPU computes it, or where it is not wanted any more. */
  async pass(
    ...[subject, request, report, isWanted]: Parameters<PassDevice["pass"]>
  ): Promise<PassAnswer | Overview | undefined> {
    const reason = reasonAgainst(subject);
    if (reason !== undefined) this.#tell({ text: `CPU: ${reason}`, failed: false });
    const device = reason === undefined ? await this.#device() : undefined;
    if (!device) return undefined;
    const work = this.#line.then(() =>
      isWanted() ? device.pass(subject, request, report, isWanted) : undefined,
    );
    this.#line = work.catch(() => {});
    try {
      return await work;
    } catch (error) {
      const text = `CPU: the GPU failed: ${messageOf(error)}`;
      this.#started = Promise.resolve({ text });
      this.#tell({ text, failed: true });
      return undefined;
    }
  }

  /** The device, started where it is not; undefined where the CPU computes. */
  async #device(): Promise<PassDevice | undefined> {
    const use = this.#use;
    if (use === "cpu") return undefined;
    const isFirst = this.#started === undefined;
    this.#started ??= this.#start(use);
    const { text, device } = await this.#started;
    if (isFirst && use === this.#use) this.#tell({ text, failed: false });
    return device;
  }
}

/** Why no device computes a head; undefined where one can. */
function reasonAgainst({ head: { data } }: Subject): string | undefined {
  if (data.weights || !data.query) return "the weights of a file are read, not computed";
  const arrays = [data.query, data.key, data.bias];
  return arrays.some((x) => x instanceof Float64Array) ? "float64 is computed in float64" : undefined;
}
