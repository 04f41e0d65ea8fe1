/** A bar on stderr for long work: drawn only on a terminal, at most ten times a second, wiped when done. */
import type { Io } from "../line/command.ts";
import { secondsText } from "./terminal.ts";

/** A bar that shows the share done. */
export interface Progress {
  /** `note` is printed after the bar. */
  update(share: number, note?: string): void;
  end(): void;
}

/** Starts a bar; silent where stderr is no terminal. */
export function startProgress(io: Pick<Io, "stderr" | "progress">, what: string): Progress {
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
