/**
 * The server of `heed lab` against what is known to have opened others. Its pages need no token and may compile WebAssembly, so each
 * of them is asked for under every wrong name, method and spelling. Over raw sockets, as in server.test.ts.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { labPages } from "../../../src/server/assets.ts";
import { HEADERS, WASM_HEADERS } from "../../../src/server/policy.ts";
import { type LocalServer, startServer } from "../../../src/server/server.ts";
import { describeBuilt } from "../../support/built.ts";
import { get, send } from "../../support/processes/raw-http.ts";

describeBuilt("the Lab's server", () => {
  let pages: ReturnType<typeof labPages>;
  let server: LocalServer;
  let paths: string[];

  beforeAll(async () => {
    pages = labPages();
    server = await startServer({ pages });
    paths = [...pages.keys()];
  });
  afterAll(() => server.close());

  const ask = (path: string, lines: readonly string[] = [], method = "GET") =>
    send(server.port, get(server.port, path, ...lines).replace(/^GET/, method));

  it("gives each page whole, with its policy, and none has the token", async () => {
    expect(paths.length).toBeGreaterThan(40);
    for (const path of paths) {
      const page = pages.get(path);
      const { status, body, headers } = await ask(path, ["Connection: close"]);
      expect([path, status, Buffer.from(body, "latin1").equals(Buffer.from(page?.body ?? []))]).toEqual([
        path,
        200,
        true,
      ]);
      for (const [name, value] of Object.entries(page?.wasm ? WASM_HEADERS : HEADERS))
        expect(headers.get(name.toLowerCase()), `${path}: ${name}`).toBe(value);
      expect(body.includes(server.token), path).toBe(false);
    }
    // Of the Lab only its own pages may compile WebAssembly: those of its explorer read a file that anybody may have made.
    expect(paths.filter((path) => pages.get(path)?.wasm && path.startsWith("/explorer/"))).toEqual([]);
  });

  it.each([
    ["another Host", ["Host: evil.example"], "GET", 403],
    ["a name that ends as this machine's does", ["Host: evil.localhost"], "GET", 403],
    ["another Origin", ["Origin: http://evil.example"], "GET", 403],
    ["a request of another site", ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"], "GET", 403],
    ["a body", ["Content-Length: 4"], "GET", 413],
    ["POST", [], "POST", 405],
    ["PUT", [], "PUT", 405],
    ["OPTIONS of a preflight", ["Access-Control-Request-Method: GET"], "OPTIONS", 405],
  ] as const)("gives no page to %s", async (_, lines, method, code) => {
    for (const path of paths) {
      const { status, body, headers } = await ask(path, lines, method);
      expect([path, status]).toEqual([path, code]);
      expect(body.length).toBeLessThan(200);
      expect(headers.get("access-control-allow-origin")).toBeUndefined();
    }
  });

  it("gives nothing under another spelling of a page's path", async () => {
    const spellings = (path: string) => [
      `${path}/`,
      `${path}.`,
      `${path}%00`,
      `${path}::$DATA`,
      `/${path}`,
      `/.${path}`,
      `/%2e${path}`,
      `/..${path}`,
      `/%2e%2e${path}`,
      `/..%2f..${path}`,
      `/dist/lab${path}`,
      `${path}/../../../package.json`,
      `${path}/..%2f..%2fpackage.json`,
      path.replace(/\w/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
      path.toUpperCase(),
    ];
    for (const path of paths.filter((one) => one !== "/"))
      for (const spelling of spellings(path)) {
        if (pages.has(spelling)) continue;
        const { status, body } = await ask(spelling);
        expect([400, 404], `${spelling}: ${status}`).toContain(status);
        expect(body.length, spelling).toBeLessThan(200);
      }
  });

  it("has no data, no model that answers, and no file of this machine", async () => {
    const same = "Sec-Fetch-Site: same-origin";
    for (const path of [
      "/data/file",
      `/data/file?token=${server.token}`,
      `/data/package.json?token=${server.token}`,
      "/package.json",
      "/model/",
      "/model/../package.json",
      "/etc/passwd",
      "/__proto__",
    ])
      expect([400, 403, 404], path).toContain((await ask(path, [same])).status);
    for (const path of ["/run", "/text", "/question"])
      expect([403, 404, 405, 413], path).toContain(
        (await ask(`${path}?token=${server.token}`, [same, "Content-Length: 0"], "POST")).status,
      );
  });
});
