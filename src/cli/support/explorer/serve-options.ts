/** Options of whatever serves the explorer: `view`, and `show --view`. */
import type { Values } from "../line/command.ts";
import { integer } from "../line/values.ts";
import type { ServeOptions } from "./explore.ts";

/** Options of whatever serves the explorer. */
export const SERVE_OPTIONS = {
  port: { type: "string" },
  host: { type: "string" },
  "no-open": { type: "boolean" },
} as const;

/** Their help. */
export const SERVE_HELP = {
  port: "N  port (default: a free one)",
  host: "ADDRESS  an address that other machines reach too, such as 0.0.0.0 (default: this machine alone)",
  "no-open": "open no browser",
} as const;

/** What those options say. */
export function serveOptions(values: Values): ServeOptions {
  return {
    port: values.port === undefined ? undefined : integer("port", values.port, 1, 65_535),
    host: values.host as string | undefined,
    open: values["no-open"] === true ? false : undefined,
  };
}
