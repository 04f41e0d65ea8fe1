/** A command of heed in this process, without a terminal. */
import { dispatch } from "../../../src/cli/support/line/dispatch.ts";

/** How a command ended, and what it wrote. */
export interface Written {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `heed` with these arguments. */
export const runCommand = (...args: string[]): Promise<Written> => runUntil(() => false, ...args);

/** The same, with Ctrl-C as soon as `isOver` is true of its output. */
export async function runUntil(isOver: (output: string) => boolean, ...args: string[]): Promise<Written> {
  const written = { out: "", err: "" };
  const stop = new AbortController();
  const write = (stream: "out" | "err") => (text: string) => {
    written[stream] += text;
    if (isOver(written.out + written.err)) stop.abort();
  };
  const code = await dispatch(args, {
    stdout: { write: write("out") },
    stderr: { write: write("err") },
    env: {},
    isTTY: false,
    color: 0,
    progress: false,
    signal: stop.signal,
  });
  return { code, ...written };
}
