/** A progress bar on stderr: drawn only on a terminal, at most ten times a second, and erased at the end. */
import type { Io } from "../line/command.ts";
import { secondsText } from "./terminal.ts";

/** A progress bar. */
export interface ProgressBar {
  /** Draws the bar at `share`, from 0 to 1, with `note` after it. */
  update(share: number, note?: string): void;
  end(): void;
}

/** Starts a bar; without a terminal it does nothing. */
export function startProgress(io: Pick<Io, "stderr" | "progress">, what: string): ProgressBar {
  if (!io.progress) return { update: () => {}, end: () => {} };
  const start = performance.now();
  let drawn = Number.NEGATIVE_INFINITY;
  let shown = false;
  return {
    update(share, note = "") {
      const now = performance.now();
      if (now - drawn < 100) return;
      drawn = now;
      shown = true;
      const full = Math.round(24 * share);
      const left =
        share > 0 && share < 1 ? `${secondsText(((now - start) / 1e3) * (1 / share - 1))} left` : "";
      const bar = `${"█".repeat(full)}${"░".repeat(24 - full)}`;
      io.stderr.write(
        `\r${what} ${bar} ${String(Math.floor(100 * share)).padStart(3)} %  ${note}${left}\x1b[K`,
      );
    },
    end() {
      if (shown) io.stderr.write("\r\x1b[K");
    },
  };
}
