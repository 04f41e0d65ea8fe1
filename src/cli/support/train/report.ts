/** What `heed train` prints: progress while it runs, and the loss curve at the end. */
import { renderLoss, type StepReport, type TrainResult } from "../../../train/index.ts";
import type { Io } from "../line/command.ts";
import { type ProgressBar, startProgress } from "../output/progress.ts";
import type { TrainSettings } from "./settings.ts";

/** Reports the progress of a run: a bar on a terminal, a line for each held-out loss. */
export class Report {
  /** Tokens a second since the first step of this process. */
  tokensPerSecond = 0;
  readonly #print: (line: string) => void;
  readonly #settings: TrainSettings;
  readonly #bar: ProgressBar;
  readonly #first: number;
  readonly #start = performance.now();
  #smooth = 0;

  constructor(io: Io, print: (line: string) => void, settings: TrainSettings, first: number) {
    this.#print = print;
    this.#settings = settings;
    this.#first = first;
    this.#bar = startProgress(io, "training");
  }

  step({ step, loss, heldOut }: StepReport): void {
    const { steps, batch, context } = this.#settings;
    const seconds = (performance.now() - this.#start) / 1e3;
    this.tokensPerSecond = ((step - this.#first) * batch * context) / seconds;
    this.#smooth = this.#smooth === 0 ? loss : 0.95 * this.#smooth + 0.05 * loss;
    const rate = `${Math.round(this.tokensPerSecond)} tokens/s`;
    if (heldOut !== undefined) {
      this.#bar.end();
      this.#print(
        `step ${step} of ${steps}: loss ${this.#smooth.toFixed(4)}, held-out ${heldOut.toFixed(4)}, ${rate}`,
      );
    }
    // The share of the steps of this process, from which the remaining time is estimated.
    this.#bar.update(
      (step - this.#first) / (steps - this.#first),
      `loss ${this.#smooth.toFixed(3)}  ${rate}  `,
    );
  }

  end(): void {
    this.#bar.end();
  }
}

/** The loss curve, and the last held-out loss beside the baselines. */
export function lossText(
  io: Io,
  { losses, heldOut }: TrainResult,
  baselines: readonly (readonly [string, number])[],
): string {
  const columns = Math.min(io.columns || 80, 100);
  const curve = renderLoss({ losses, heldOut, lines: baselines }, { columns, ascii: io.env.TERM === "dumb" });
  const last = heldOut.at(-1);
  const others = baselines.map(([name, loss]) => `${name} ${loss.toFixed(4)}`).join(", ");
  return [...curve, ...(last ? [`held-out loss ${last[1].toFixed(4)}, ${others}`] : []), ""].join("\n");
}
