/** A command of heed in this process, without a terminal. */
import { dispatch } from "../../../src/cli/support/line/dispatch.ts";

/** How a command ended, and what it wrote. */
export interface Written {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `heed` with these arguments. */
export async function runCommand(...args: string[]): Promise<Written> {
  const written = { out: "", err: "" };
  const code = await dispatch(args, {
    stdout: { write: (text: string) => (written.out += text) },
    stderr: { write: (text: string) => (written.err += text) },
    env: {},
    isTTY: false,
    color: 0,
    progress: false,
    signal: new AbortController().signal,
  });
  return { code, ...written };
}
