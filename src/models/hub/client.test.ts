import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { FormatError } from "../../core/errors.ts";
import { pullModel } from "./pull.ts";

const folder = mkdtempSync(join(tmpdir(), "heed-client-"));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.unstubAllGlobals());

test.each(["HEAD", "GET"])(
  "a redirect of %s from https to http is refused and not followed",
  async (from) => {
    const list = {
      sha: "0".repeat(40),
      siblings: ["config.json", "model.safetensors"].map((rfilename) => ({ rfilename })),
    };
    const requests: string[] = [];
    vi.stubGlobal("fetch", async (url: URL, { method }: { method: string }) => {
      requests.push(`${method} ${url.protocol}`);
      const isList = url.pathname.startsWith("/api/");
      if (isList && from === "HEAD") return new Response(JSON.stringify(list));
      return new Response(null, { status: 307, headers: { location: `http://hub.test${url.pathname}` } });
    });
    const env = { HF_ENDPOINT: "https://hub.test", HF_HUB_CACHE: folder, HOME: folder };
    const pull = pullModel("org/model", { env });
    await expect(pull).rejects.toThrow(FormatError);
    await expect(pull).rejects.toThrow(/redirects to "http:\/\/hub\.test\//);
    expect(new Set(requests)).toEqual(
      new Set(from === "HEAD" ? ["GET https:", "HEAD https:"] : ["GET https:"]),
    );
  },
);
