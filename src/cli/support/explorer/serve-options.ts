/** Options of the commands that serve pages: `view`, `show --view` and `lab`. */
import type { Values } from "../line/command.ts";
import { integer, optional } from "../line/values.ts";
import type { ServeOptions } from "./explore.ts";

/** Their help. */
export const SERVE_HELP = {
  port: "N  port (default: a free one)",
  host: "ADDRESS  an address that other machines can reach, such as 0.0.0.0 (default: this machine only)",
  "no-open": "do not open a browser",
} as const;

/** Reads those options. */
export function serveOptions(values: Values): ServeOptions {
  return {
    port: optional(values, "port", integer, 1, 65_535),
    host: values.host as string | undefined,
    open: values["no-open"] === true ? false : undefined,
  };
}
