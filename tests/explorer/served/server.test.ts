/**
 * The local server against what is known to have opened others: Host and Origin of other sites, paths in every
 * spelling, smuggled and endless requests. Over raw sockets, since clients tidy what they send.
 */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HEADERS, WASM_HEADERS } from "../../../src/server/policy.ts";
import { type LocalServer, startServer } from "../../../src/server/server.ts";
import { get, send } from "../../support/processes/raw-http.ts";

const SECRET = "a file outside the map";
const folder = mkdtempSync(join(tmpdir(), "heed-server-"));
const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => (i * 7) & 127);
const pages = new Map(
  Object.entries({
    "/": { type: "text/html; charset=utf-8", body: Buffer.from("<!doctype html>the page") },
    "/page.js": { type: "text/javascript; charset=utf-8", body: Buffer.from("export {};") },
    "/lesson.html": { type: "text/html; charset=utf-8", body: Buffer.from("a lesson"), wasm: true },
  }),
);
let server: LocalServer;
let port: number;

beforeAll(async () => {
  writeFileSync(join(folder, "secret.txt"), SECRET);
  writeFileSync(join(folder, "run.bin"), bytes);
  server = await startServer({
    pages,
    data: new Map<string, string | Uint8Array>([
      ["file", join(folder, "run.bin")],
      ["sample", Buffer.from("kept in memory")],
    ]),
  });
  port = server.port;
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** A request for data as the page makes it. */
const fetchData = (id: string, ...lines: string[]) =>
  get(port, `/data/${id}?token=${server.token}`, "Sec-Fetch-Site: same-origin", ...lines);

/** Holds an answer's headers against the exact set; `more` are those that belong to the answer alone. */
function expectHeaders(headers: ReadonlyMap<string, string>, more: readonly string[]) {
  for (const [name, value] of Object.entries(HEADERS))
    expect(headers.get(name.toLowerCase()), name).toBe(value);
  const usual = ["content-type", "content-length", "date", "connection", "keep-alive"];
  const names = new Set([...Object.keys(HEADERS).map((name) => name.toLowerCase()), ...usual, ...more]);
  expect([...headers.keys()].filter((name) => !names.has(name))).toEqual([]);
}

describe("what the server gives", () => {
  it("the pages of its map, by GET and HEAD, with the exact headers", async () => {
    const page = await send(port, get(port, "/"));
    expect(page).toMatchObject({ status: 200, body: "<!doctype html>the page" });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expectHeaders(page.headers, []);
    const head = await send(port, get(port, "/page.js", "Connection: close").replace("GET", "HEAD"));
    expect(head.status).toBe(200);
    expect(head.headers.get("content-length")).toBe("10");
  });

  it("a page may compile WebAssembly only where its entry says so", async () => {
    const policy = "content-security-policy";
    expect((await send(port, get(port, "/"))).headers.get(policy)).not.toContain("wasm");
    const lesson = await send(port, get(port, "/lesson.html"));
    expect(lesson.headers.get(policy)).toBe(WASM_HEADERS["Content-Security-Policy"]);
    expect(lesson.headers.get(policy)).toContain("script-src 'self' 'wasm-unsafe-eval';");
  });

  it("a file by its id and token, whole and by range", async () => {
    expect((await send(port, fetchData("sample"))).body).toBe("kept in memory");
    const full = await send(port, fetchData("file"));
    expect(full.status).toBe(200);
    expect(Buffer.from(full.body, "latin1").equals(bytes)).toBe(true);
    expectHeaders(full.headers, ["accept-ranges"]);
    for (const [range, from, to] of [
      ["bytes=0-0", 0, 1],
      ["bytes=1000000-1999999", 1_000_000, 2_000_000],
      ["bytes=2999990-", 2_999_990, 3_000_000],
      ["bytes=-5", 2_999_995, 3_000_000],
      ["bytes=2999999-99999999", 2_999_999, 3_000_000],
    ] as const) {
      const part = await send(port, fetchData("file", `Range: ${range}`));
      expect(part.status, range).toBe(206);
      expect(part.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/3000000`);
      expect(Buffer.from(part.body, "latin1").equals(bytes.subarray(from, to)), range).toBe(true);
      expectHeaders(part.headers, ["accept-ranges", "content-range"]);
    }
    const beyond = await send(port, fetchData("file", "Range: bytes=3000000-"));
    expect(beyond.status).toBe(416);
    expect(beyond.headers.get("content-range")).toBe("bytes */3000000");
    for (const range of ["bytes=5-1", "bytes=0-1,4-5", "lines=0-1", "bytes=-", "bytes=0x0-1"])
      expect((await send(port, fetchData("sample", `Range: ${range}`))).status, range).toBe(200);
  });

  it("the same under localhost and [::1]", async () => {
    for (const name of ["localhost", "LOCALHOST", "[::1]"])
      expect((await send(port, get(port, "/", `Host: ${name}:${port}`))).status, name).toBe(200);
    const six = await send(port, get(port, "/", `Host: [::1]:${port}`), 5000, "::1");
    // A machine without IPv6 has nothing to connect to.
    if (six.all !== "") expect(six.status).toBe(200);
  });

  it("several requests on one connection", async () => {
    const requests = get(port, "/page.js") + get(port, "/page.js", "Connection: close");
    const socket = connect(port, "127.0.0.1");
    let all = "";
    socket.setEncoding("latin1").on("data", (text) => (all += text));
    socket.write(requests);
    await new Promise((resolve) => socket.on("close", resolve));
    expect(all.split("export {};").length).toBe(3);
  });
});

describe("who may ask", () => {
  it("a Host that is not the server's own address gets 403 before anything else", async () => {
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1",
      "127.0.0.1:1",
      `127.0.0.1:${port}.evil.example`,
      `127.0.0.2:${port}`,
      `0.0.0.0:${port}`,
      `localhost.:${port}`,
      `127.1:${port}`,
      `user@127.0.0.1:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      "",
    ])
      for (const target of ["/", "/nothing", `/data/sample?token=${server.token}`, "http://evil.example/"]) {
        const { status, headers, body } = await send(port, get(port, target, `Host: ${host}`));
        expect([host, target, status]).toEqual([host, target, 403]);
        expect(body).toBe("403 this server answers only under its own address\n");
        expectHeaders(headers, []);
      }
    const none = await send(port, "GET / HTTP/1.0\r\n\r\n");
    expect(none.status).toBe(403);
    const twice = await send(port, get(port, "/", `Host: 127.0.0.1:${port}`, "Host: evil.example"));
    expect(twice.status).toBeGreaterThanOrEqual(400);
  });

  it("an Origin that is not the address asked for gets 403 on every route", async () => {
    for (const origin of [
      "http://evil.example",
      "null",
      `https://127.0.0.1:${port}`,
      `http://127.0.0.1:${port + 1}`,
      `http://localhost:${port}`,
      `http://127.0.0.1:${port}.evil.example`,
    ])
      for (const target of ["/", "/page.js", `/data/sample?token=${server.token}`])
        expect((await send(port, get(port, target, `Origin: ${origin}`))).status, `${origin} ${target}`).toBe(
          403,
        );
    expect((await send(port, get(port, "/", `Origin: http://127.0.0.1:${port}`))).status).toBe(200);
  });

  it("an Origin below 2,500 other headers is still seen", async () => {
    const many = Array.from({ length: 2500 }, () => "a:b");
    expect((await send(port, get(port, "/", ...many))).status).toBe(200);
    expect((await send(port, get(port, "/", ...many, "Origin: http://evil.example"))).status).toBe(403);
  });

  it("another site may link to the page, but may not request anything", async () => {
    for (const site of ["cross-site", "same-site", "garbage"])
      for (const target of ["/", "/page.js", `/data/sample?token=${server.token}`]) {
        const { status } = await send(port, get(port, target, `Sec-Fetch-Site: ${site}`));
        expect([site, target, status]).toEqual([site, target, 403]);
      }
    const link = get(port, "/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate");
    expect((await send(port, link)).status).toBe(200);
    const data = get(
      port,
      `/data/sample?token=${server.token}`,
      "Sec-Fetch-Site: cross-site",
      "Sec-Fetch-Mode: navigate",
    );
    expect((await send(port, data)).status).toBe(403);
  });

  it("data needs the token and a sign of the same origin", async () => {
    const { token } = server;
    for (const question of [
      "",
      "?",
      "?token=",
      `?token=${token}x`,
      `?token=${token.slice(1)}`,
      `?TOKEN=${token}`,
    ])
      expect(
        (await send(port, get(port, `/data/sample${question}`, "Sec-Fetch-Site: same-origin"))).status,
      ).toBe(403);
    expect(
      (await send(port, get(port, `/data/sample?token=${token}&x=1`, "Sec-Fetch-Site: same-origin"))).status,
    ).toBe(403);
    expect((await send(port, get(port, `/data/sample?token=${token}`))).status).toBe(403);
    expect((await send(port, get(port, `/data/sample?token=${token}`, "Sec-Fetch-Site: none"))).status).toBe(
      403,
    );
    const older = get(port, `/data/sample?token=${token}`, `Origin: http://127.0.0.1:${port}`);
    expect((await send(port, older)).status).toBe(200);
    expect((await send(port, fetchData("nothing"))).status).toBe(404);
  });
});

describe("what is not answered", () => {
  it("paths in other spellings lead nowhere", async () => {
    const up = "../".repeat(12);
    const file = join(folder, "secret.txt").slice(1);
    const targets = [
      `/${up}${file}`,
      `/${encodeURIComponent(up)}${file}`,
      `/%252e%252e%252f${file}`,
      `/..%5c..%5c${file}`,
      `/..\\..\\${file}`,
      `//${file}`,
      `/@fs/${file}?raw??`,
      `/@fs/${file}?import&raw`,
      `/page.js?raw&url=${file}`,
      `/page.js#/../${file}`,
      `/page.js%00.txt`,
      `/page.js/../../${file}`,
      `/data/../${file}?token=${server.token}`,
      `/data/%66ile?token=${server.token}`,
      `/data/file/?token=${server.token}`,
      `/data/constructor?token=${server.token}`,
      "/__proto__",
      "/constructor",
      "/C:/Windows/win.ini",
      "/page.js::$DATA",
      "/PAGE~1.JS",
      `http://127.0.0.1:${port}/`,
      `http://evil.example/`,
      "*",
      "page.js",
    ];
    for (const target of targets) {
      const { status, all, headers, body } = await send(
        port,
        get(port, target, "Sec-Fetch-Site: same-origin"),
      );
      expect(all, target).not.toContain(SECRET);
      if (target.startsWith("/page.js?")) expect([status, body]).toEqual([200, "export {};"]);
      else expect([400, 404], `${target}: ${status}`).toContain(status);
      expectHeaders(headers, []);
    }
  });

  it("other methods get 405", async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]) {
      const { status, headers } = await send(port, get(port, "/").replace("GET", method));
      expect([method, status, headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
      expectHeaders(headers, ["allow"]);
    }
    expect((await send(port, get(port, "127.0.0.1:80").replace("GET", "CONNECT"))).all).toBe("");
  });

  it("a body is refused, and what follows it is no second request", async () => {
    const second = get(port, "/page.js");
    for (const lines of [
      ["Content-Length: 1073741824"],
      ["Transfer-Encoding: chunked"],
      [`Content-Length: ${second.length}`],
    ]) {
      const { status, all, headers } = await send(port, get(port, "/", ...lines) + second);
      expect([lines, status]).toEqual([lines, 413]);
      expect(headers.get("connection")).toBe("close");
      expect(all.split("HTTP/1.1").length).toBe(2);
    }
    for (const lines of [
      ["Content-Length: 5", "Transfer-Encoding: chunked"],
      ["Content-Length: 5", "Content-Length: 6"],
      ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
      ["Content-Length: +5"],
      ["Content-Length: 0x5"],
      ["Transfer-Encoding : chunked"],
    ]) {
      const { all, status } = await send(port, get(port, "/", ...lines) + second);
      expect(status, lines.join()).toBeGreaterThanOrEqual(400);
      expect(all.split("HTTP/1.1").length).toBe(2);
    }
    for (const expectation of ["100-continue", "the unexpected"])
      expect((await send(port, get(port, "/", `Expect: ${expectation}`))).status).toBe(417);
  });

  it("bytes that are no request get 400, headers of more than 16 KiB 431, both with the exact headers", async () => {
    for (const bytes of ["\x16\x03\x01\x02\0", "GET / HTTP/1.1\nHost: x\0y\n\n", "GET / HTTP/9.9\r\n\r\n"]) {
      const { status, headers } = await send(port, bytes);
      expect(status).toBe(400);
      expectHeaders(headers, []);
    }
    const large = await send(port, get(port, "/", `X: ${"x".repeat(17_000)}`));
    expect(large.status).toBe(431);
    expectHeaders(large.headers, []);
    expect((await send(port, get(port, `/${"x".repeat(17_000)}`))).status).toBe(431);
  });
});

describe("limits", () => {
  it("headers that do not end, and a connection that says nothing, are cut off", async () => {
    const hasty = await startServer({ pages }, { headerTimeout: 300, idleTimeout: 600 });
    try {
      const slow = await send(hasty.port, `GET / HTTP/1.1\r\nHost: 127.0.0.1:${hasty.port}\r\nX: `);
      expect(slow.status).toBe(408);
      expectHeaders(slow.headers, []);
      const socket = connect(hasty.port, "127.0.0.1").resume();
      await new Promise((resolve) => socket.on("close", resolve));
    } finally {
      await hasty.close();
    }
  });

  it("a connection whose requests pile up unanswered is closed", async () => {
    const socket = connect(port, "127.0.0.1");
    let all = "";
    socket.setEncoding("latin1").on("data", (text) => (all += text));
    socket.on("error", () => {});
    socket.write(get(port, "/page.js").repeat(2000));
    await new Promise((resolve) => socket.on("close", resolve));
    expect(all.split("export {};").length).toBeLessThan(2000);
    expect((await send(port, get(port, "/page.js"))).status).toBe(200);
  });

  /** Opens a connection, sends the beginning of a request and stays; `ended` resolves when the server ends it. */
  const hold = (at: number, bytes: string) =>
    new Promise<{ socket: ReturnType<typeof connect>; ended: Promise<void>; open: () => boolean }>(
      (resolve) => {
        const socket = connect(at, "127.0.0.1");
        let open = true;
        const ended = new Promise<void>((end) =>
          socket.on("close", () => {
            open = false;
            end();
          }),
        );
        socket.on("error", () => {});
        socket.on("connect", () => socket.write(bytes, () => resolve({ socket, ended, open: () => open })));
      },
    );

  it("64 slow connections do not lock a user out: the one that has waited longest is closed", async () => {
    const busy = await startServer(
      { pages, data: new Map([["sample", Buffer.from("kept in memory")]]) },
      { headerTimeout: 60_000, idleTimeout: 60_000 },
    );
    try {
      const begun = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${busy.port}\r\nX: `;
      const slow: Awaited<ReturnType<typeof hold>>[] = [];
      for (let n = 0; n < 64; n++) slow.push(await hold(busy.port, begun));
      expect((await send(busy.port, get(busy.port, "/"))).status).toBe(200);
      const path = `/data/sample?token=${busy.token}`;
      const data = await send(busy.port, get(busy.port, path, "Sec-Fetch-Site: same-origin"));
      expect(data.body).toBe("kept in memory");
      await slow[0].ended;
      expect(slow.filter(({ open }) => open()).length).toBeGreaterThanOrEqual(62);
      for (const { socket } of slow) socket.destroy();
    } finally {
      await busy.close();
    }
  });

  it("connections that read an answer slowly do not lock a user out either", async () => {
    const body = Buffer.alloc(40_000_000, 32);
    const large = await startServer(
      { pages: new Map([...pages, ["/large", { type: "text/plain", body }]]) },
      { connections: 8, idleTimeout: 60_000 },
    );
    try {
      const slow: Awaited<ReturnType<typeof hold>>[] = [];
      for (let n = 0; n < 8; n++) {
        slow.push(await hold(large.port, get(large.port, "/large")));
        slow[n].socket.pause();
      }
      expect((await send(large.port, get(large.port, "/"))).status).toBe(200);
      for (const { socket } of slow) socket.destroy();
    } finally {
      await large.close();
    }
  });

  it("a connection that has sent the token is kept; if all have, a new one is closed", async () => {
    const small = await startServer(
      { pages, data: new Map([["sample", Buffer.from("kept in memory")]]) },
      { connections: 3 },
    );
    try {
      const path = `/data/sample?token=${small.token}`;
      const ask = get(small.port, path, "Sec-Fetch-Site: same-origin");
      const downloads: Awaited<ReturnType<typeof hold>>[] = [];
      for (let n = 0; n < 2; n++) {
        downloads.push(await hold(small.port, ask));
        await new Promise((resolve) => downloads[n].socket.once("data", resolve));
      }
      // One place is left for all others: each takes it from the one before.
      for (let n = 0; n < 5; n++) await hold(small.port, "GET / HTTP/1.1\r\nX: ");
      expect((await send(small.port, get(small.port, "/"))).status).toBe(200);
      expect(downloads.map(({ open }) => open())).toEqual([true, true]);
      downloads.push(await hold(small.port, ask));
      await new Promise((resolve) => downloads[2].socket.once("data", resolve));
      expect((await send(small.port, get(small.port, "/"))).all).toBe("");
      downloads[0].socket.destroy();
      await downloads[0].ended;
      // The server hears of the end a moment later.
      await expect
        .poll(async () => (await send(small.port, get(small.port, "/"))).status, { timeout: 10_000 })
        .toBe(200);
      for (const { socket } of downloads) socket.destroy();
    } finally {
      await small.close();
    }
  });

  it("a file that became shorter ends the connection, and the server goes on", async () => {
    const path = join(folder, "shrinking.bin");
    writeFileSync(path, bytes);
    const other = await startServer({ pages, data: new Map([["x", path]]) });
    try {
      truncateSync(path, 1_500_000);
      const request = get(other.port, `/data/x?token=${other.token}`, "Sec-Fetch-Site: same-origin");
      const { body } = await send(other.port, request);
      expect(body.length).toBeLessThan(3_000_000);
      expect((await send(other.port, get(other.port, "/"))).status).toBe(200);
    } finally {
      await other.close();
    }
  });

  it("closing ends connections that are open, and frees the port", async () => {
    const one = await startServer({ pages });
    const socket = connect(one.port, "127.0.0.1").resume();
    await new Promise((resolve) => socket.on("connect", resolve));
    const ended = new Promise((resolve) => socket.on("close", resolve));
    await one.close();
    await ended;
    const second = await startServer({ pages }, { port: one.port });
    expect(second.port).toBe(one.port);
    await expect(startServer({ pages }, { port: one.port })).rejects.toMatchObject({
      name: "OptionError",
      code: "listen",
      fields: { errno: "EADDRINUSE" },
    });
    await second.close();
  });

  it("an address others can reach answers under that address only, and still wants the token", async () => {
    const open = await startServer({ pages, data: new Map([["x", Buffer.from("x")]]) }, { host: "0.0.0.0" });
    try {
      expect((await send(open.port, get(open.port, "/"))).status).toBe(200);
      expect((await send(open.port, get(open.port, "/", `Host: evil.example:${open.port}`))).status).toBe(
        403,
      );
      expect((await send(open.port, get(open.port, "/data/x", "Sec-Fetch-Site: same-origin"))).status).toBe(
        403,
      );
    } finally {
      await open.close();
    }
  });
});
