/** Responses to texts and ablation requests (token, limits, the model's errors), and the addresses that the server listens on. */
import { EventEmitter } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import { labPages } from "./assets.ts";
import type { FileModel, ServerContent } from "./content.ts";
import { authorities, decide } from "./policy.ts";
import { Connections, type LocalServer, startServer } from "./server.ts";

let server: LocalServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const content = (more: Partial<ServerContent> = {}): ServerContent => ({
  pages: new Map([["/", { type: "text/html", body: new TextEncoder().encode("<p>page</p>") }]]),
  ...more,
});
const ask = async (path: string, init: RequestInit = {}) => {
  const { port } = server!;
  const headers = { "Sec-Fetch-Site": "same-origin", ...(init.headers as Record<string, string>) };
  return fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers });
};
const textPath = (text: string) => `/text?token=${server!.token}&text=${encodeURIComponent(text)}`;

describe("a text that the page sends", () => {
  it("is run by the model, and the resulting file is served under its path", async () => {
    server = await startServer(
      content({ text: async (text) => ({ name: text, source: new Blob([text.toUpperCase()]) }) }),
    );
    const reply = (await (await ask(textPath("the ünd"))).json()) as { name: string; path: string };
    expect(reply.name).toBe("the ünd");
    const file = await ask(`${reply.path}?token=${server.token}`);
    expect(await file.text()).toBe("THE ÜND");
    const head = await ask(textPath("a"), { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("is kept with its model until 64 later ones were sent", async () => {
    const model: FileModel = {
      name: "m",
      predicts: "none",
      ablate: async () => ({ ablated: true }),
      attention: async () => ({ name: "a", source: new Blob(["a"]) }),
    };
    server = await startServer(
      content({ text: async (text) => ({ name: text, source: new Blob([text]), model }) }),
    );
    const open = async (text: string) => (await (await ask(textPath(text))).json()) as Opened;
    type Opened = { readonly path: string; readonly model: { readonly path: string } };
    const first = await open("0");
    const second = await open("1");
    const status = async ({ path, model: { path: ablation } }: Opened) => [
      (await ask(`${path}?token=${server!.token}`)).status,
      (await ask(`${ablation}?token=${server!.token}&heads=0.0`)).status,
    ];
    expect(await status(first)).toEqual([200, 200]);
    for (let n = 2; n <= 64; n++) await open(String(n));
    expect([await status(first), await status(second)]).toEqual([
      [404, 404],
      [200, 200],
    ]);
  });

  it("gives the error's message where the model throws an Error or any other value", async () => {
    server = await startServer(
      content({
        text: async (text) => {
          throw text === "odd" ? "not an Error" : new Error("the text has no tokens");
        },
      }),
    );
    expect(await (await ask(textPath("x"))).json()).toEqual({ error: "the text has no tokens" });
    expect(await (await ask(textPath("odd"))).json()).toEqual({ error: "not an Error" });
  });

  it("is refused if there is no model, if it is too long, if it is not UTF-8, and if it is missing", async () => {
    server = await startServer(content());
    const none = await ask(textPath("x"));
    expect([none.status, await none.text()]).toEqual([404, "404 there is no model here\n"]);
    const long = await ask(textPath("x".repeat(12_001)));
    expect([long.status, await long.text()]).toEqual([413, "413 the text is too long\n"]);
    const broken = await ask(`/text?token=${server.token}&text=%ff`);
    expect([broken.status, await broken.text()]).toEqual([400, "400 the text is not UTF-8\n"]);
    const bare = await ask(`/text?token=${server.token}`);
    expect(bare.status).toBe(403);
  });
});

describe("a run of a file's model with heads ablated", () => {
  const requests: unknown[] = [];
  const model: FileModel = {
    name: "small",
    predicts: "next",
    ablate: async (heads, position) => {
      requests.push([heads, position]);
      if (position === 9) throw new Error("the text has 3 tokens");
      return { tokens: ["sea"] };
    },
    attention: async (heads) => ({ name: `without ${heads.length}`, source: new Blob(["file"]), model }),
  };
  const models = new Map([["a", model]]);
  const data = new Map([["a", new Blob(["file"])]]);
  const path = (query: string, id = "a") => `/ablate/${id}?token=${server!.token}${query}`;

  it("passes layer, head, mean and token to the model, and returns the prediction or the model's error", async () => {
    requests.length = 0;
    server = await startServer(content({ data, models }));
    expect(await (await ask(path("&heads=4.7,4.8m,2.1.5&position=3"))).json()).toEqual({ tokens: ["sea"] });
    expect(await (await ask(path("&heads=0.0"))).json()).toEqual({ tokens: ["sea"] });
    expect(await (await ask(path("&heads=0.0&position=9"))).json()).toEqual({
      error: "the text has 3 tokens",
    });
    const head = (layer: number, n: number, replace: string, position: number | null) => ({
      layer,
      head: n,
      replace,
      position,
    });
    expect(requests.slice(0, 2)).toEqual([
      [[head(4, 7, "zero", null), head(4, 8, "mean", null), head(2, 1, "zero", 5)], 3],
      [[head(0, 0, "zero", null)], null],
    ]);
  });

  it("is not started if its client has disconnected before its turn", async () => {
    const started: number[] = [];
    let finish = () => {};
    const waiting: FileModel = {
      ...model,
      ablate: async ([{ layer }]) => {
        started.push(layer);
        if (layer === 0) await new Promise<void>((resolve) => (finish = resolve));
        return { layer };
      },
    };
    server = await startServer(content({ data, models: new Map([["a", waiting]]) }));
    const first = ask(path("&heads=0.0"));
    await vi.waitFor(() => expect(started).toEqual([0]));
    const leaves = new AbortController();
    const second = fetch(`http://127.0.0.1:${server.port}${path("&heads=1.0")}`, {
      headers: { "Sec-Fetch-Site": "same-origin" },
      signal: leaves.signal,
    }).catch(() => "disconnected");
    // Requests that are answered after it was sent, and after it was aborted: the server has received both.
    await ask("/");
    leaves.abort();
    expect(await second).toBe("disconnected");
    await ask("/");
    const third = ask(path("&heads=2.0"));
    finish();
    expect(await (await first).json()).toEqual({ layer: 0 });
    expect(await (await third).json()).toEqual({ layer: 2 });
    expect(started).toEqual([0, 2]);
  });

  it("returns the attention of that run as a file with the same model", async () => {
    server = await startServer(content({ data, models }));
    const reply = (await (await ask(path("&heads=1.2,1.3&attention=1"))).json()) as {
      name: string;
      path: string;
      model: { name: string; predicts: string; path: string };
    };
    expect(reply.name).toBe("without 2");
    expect(reply.model).toMatchObject({ name: "small", predicts: "next" });
    expect(await (await ask(`${reply.path}?token=${server.token}`)).text()).toBe("file");
    const again = await ask(`${reply.model.path}?token=${server.token}&heads=0.0`);
    expect(await again.json()).toEqual({ tokens: ["sea"] });
  });

  it.each([
    ["", 400],
    ["&heads=", 400],
    ["&heads=1", 400],
    ["&heads=1.2,x", 400],
    ["&heads=1.2x", 400],
    ["&heads=123456.0", 400],
    ["&heads=1.2&attention=2", 400],
    [`&heads=${Array(3000).fill("1.2").join()}`, 400],
  ])("is refused if its heads are not a list: %.30s", async (query, status) => {
    server = await startServer(content({ data, models }));
    const reply = await ask(path(query));
    expect([reply.status, await reply.text()]).toEqual([
      status,
      "400 heads must be a list such as 4.7,4.8m,2.1.5: layer, head, m for the mean, token\n",
    ]);
  });

  it("is refused without the token, and for a file that was not made by a model", async () => {
    server = await startServer(content({ data, models }));
    expect((await ask("/ablate/a?token=x&heads=1.2")).status).toBe(403);
    expect((await ask("/ablate/a?heads=1.2")).status).toBe(403);
    expect(await (await ask(path("&heads=1.2", "b"))).text()).toBe("404 no model made this file\n");
  });
});

describe("a question to a file's model", () => {
  const model: FileModel = {
    name: "small",
    predicts: "next",
    text: "the sea",
    ablate: async () => ({}),
    attention: async () => ({ name: "x", source: new Blob(["file"]) }),
    answer: async (question) => {
      if ("bad" in question) throw new Error("there is no layer 9");
      return { received: question };
    },
  };
  const { answer: _, ...mute } = model;
  const models = new Map([
    ["a", model],
    ["b", mute],
  ]);
  const data = new Map([...models.keys()].map((id) => [id, new Blob(["file"])]));
  const path = (question: string, id = "a") =>
    `/ask/${id}?token=${server!.token}&question=${encodeURIComponent(question)}`;

  it("reaches the model as an object, and its error is a sentence", async () => {
    server = await startServer(content({ data, models }));
    const question = { of: "score", layer: 0, text: "ünd & more" };
    expect(await (await ask(path(JSON.stringify(question)))).json()).toEqual({ received: question });
    expect(await (await ask(path('{"bad":1}'))).json()).toEqual({ error: "there is no layer 9" });
  });

  it("is refused without the token, if it is no object, too long, or not UTF-8, and where no model answers", async () => {
    server = await startServer(content({ data, models }));
    const reply = async (address: string) => {
      const response = await ask(address);
      return [response.status, await response.text()];
    };
    expect((await reply("/ask/a?token=x&question=%7B%7D"))[0]).toBe(403);
    expect((await reply(`/ask/a?token=${server.token}`))[0]).toBe(403);
    expect((await reply(`/ask/a?token=${server.token}&text=%7B%7D`))[0]).toBe(403);
    for (const text of ["[1", "3", "null"])
      expect(await reply(path(text))).toEqual([400, "400 the question is no object of JSON\n"]);
    expect(await reply(`/ask/a?token=${server.token}&question=%ff`)).toEqual([
      400,
      "400 the question is not UTF-8\n",
    ]);
    expect(await reply(path(`{"text":"${"x".repeat(12_000)}"}`))).toEqual([
      413,
      "413 the question is too long\n",
    ]);
    expect(await reply(path("{}", "b"))).toEqual([404, "404 no model made this file\n"]);
    expect(await reply(path("{}", "c"))).toEqual([404, "404 no model made this file\n"]);
  });
});

describe("an address", () => {
  it("that is in use is an error that says so, and so is one of another machine", async () => {
    server = await startServer(content());
    await expect(startServer(content(), { port: server.port })).rejects.toThrow(
      `cannot listen on 127.0.0.1, port ${server.port}: another program uses this port`,
    );
    await expect(startServer(content(), { host: "203.0.113.1" })).rejects.toThrow(
      /^cannot listen on 203\.0\.113\.1, a free port: .*EADDRNOTAVAIL/,
    );
  });

  it("on port 80 is accepted with and without its port, which browsers leave out", () => {
    const names = authorities(80, ["127.0.0.1", "::1"]);
    expect([...names]).toEqual(["127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80"]);
    const request = (host: string) =>
      decide({ method: "GET", target: "/", headers: { host: [host] } }, names, () => false);
    expect(request("127.0.0.1")).toEqual({ kind: "page", path: "/" });
    expect(request("localhost")).toMatchObject({ status: 403 });
  });

  it("of IPv6 is printed in brackets, and answers", async (context) => {
    try {
      server = await startServer(content(), { host: "::1" });
    } catch {
      return context.skip("this machine has no IPv6");
    }
    expect(server.url).toBe(`http://[::1]:${server.port}/?token=${server.token}`);
    expect((await fetch(server.url)).status).toBe(200);
  });

  it("0.0.0.0 is reached through this machine's addresses", async () => {
    server = await startServer(content(), { host: "0.0.0.0" });
    expect((await ask("/")).status).toBe(200);
    expect(server.url).toMatch(/^http:\/\/\d+\.\d+\.\d+\.\d+:/);
  });
});

it("a file that cannot be opened is the server's error, before it listens", async () => {
  await expect(startServer(content({ data: new Map([["a", "/nowhere/x"]]) }))).rejects.toThrow(
    "startServer: cannot open /nowhere/x: no such file or directory",
  );
});

it("the Lab's pages have their media types; only those of the Lab, not of its explorer, may compile WebAssembly", () => {
  let pages: ReturnType<typeof labPages>;
  try {
    pages = labPages();
  } catch (error) {
    // Before the first build.
    expect((error as Error).message).toMatch(/is not built .* npm run build$/);
    return;
  }
  expect(pages.get("/")).toMatchObject({ type: "text/html; charset=utf-8", wasm: true });
  expect(pages.get("/model/config.json")).toMatchObject({ type: "application/json" });
  expect(pages.get("/model/model.safetensors")?.type).toBe("application/octet-stream");
  expect(pages.get("/explorer/index.html")?.wasm).toBeUndefined();
  expect(pages.get("/explorer/index.html")?.body).toEqual(pages.get("/explorer/tired-cat.html")?.body);
});

it("a connection that has closed is not kept when the response to its last request ends", () => {
  const connections = new Connections(2);
  const [socket, response] = [new EventEmitter(), new EventEmitter()];
  const destroy = vi.fn();
  Object.assign(socket, { destroy });
  connections.add(socket as never);
  connections.begin(socket as never, Object.assign(response, { writableFinished: true }) as never);
  socket.emit("close");
  response.emit("close");
  connections.destroy();
  expect(destroy).not.toHaveBeenCalled();
});
