/**
 * Opens an address in the user's browser, where there is one and somebody to see it: not in CI, not over ssh, not
 * without a terminal, on Linux not without a display. The one place where heed starts another program.
 */
import { spawn } from "node:child_process";
import type { Io } from "../line/command.ts";

/** Whether a browser is to be opened without being asked. */
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
      // A permission model that allows no other program.
      resolve(false);
    }
  });
}
