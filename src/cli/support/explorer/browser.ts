/**
 * Opens an address in the user's browser, except in CI, over ssh, without a terminal, and on Linux without a display. This is the
 * only code in heed that starts another program.
 */
import { spawn } from "node:child_process";
import type { Io } from "../line/command.ts";

/** Whether to open a browser by default. */
export function hasBrowser(
  { env, isTTY }: Pick<Io, "env" | "isTTY">,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (!isTTY || env.CI || env.SSH_CONNECTION || env.SSH_TTY) return false;
  return platform === "darwin" || platform === "win32" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}

/** The program that opens addresses, and its arguments before the address. */
function opener(platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}

/** Opens an http address; resolves to whether a program for it started. No shell sees the address. */
export function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<boolean> {
  const [program, ...args] = opener(platform);
  return new Promise((resolve) => {
    try {
      const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
      child.on("error", () => resolve(false));
      child.on("spawn", () => {
        child.unref();
        resolve(true);
      });
    } catch {
      // Node's permission model may forbid child processes.
      resolve(false);
    }
  });
}
