import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { breakAfter, type Fault, Hub } from "../../../tests/support/processes/hub.ts";
import { dispatch } from "../../cli/support/line/dispatch.ts";
import { FormatError, HeedError, OptionError, UnsupportedError } from "../../core/errors.ts";
import { lockFolder } from "../../io/filesystem/lock.ts";
import { findModel, locateShipped, modelToFiles, readModel } from "../index.ts";
import { type PullOptions, pullModel } from "./pull.ts";

const root = mkdtempSync(join(tmpdir(), "heed-pull-"));
afterAll(() => rmSync(root, { recursive: true }));

const shipped = await readModel(locateShipped("decoder"));
const files = new Map<string, Uint8Array>([
  ...modelToFiles(shipped.model, shipped.tokenizer),
  ["README.md", Buffer.from("not needed")],
  ["1_Pooling/config.json", Buffer.from(JSON.stringify({ pooling_mode: "mean" }))],
  ["onnx/model.onnx", Buffer.from("not needed either")],
]);
const weights = files.get("model.safetensors") as Uint8Array;

let hub: Hub;
let cache: string;
let cacheCount = 0;
beforeEach(async () => {
  hub = await new Hub(files).start();
  cache = join(root, `cache${cacheCount++}`);
});
afterEach(() => hub.stop());

const env = (more = {}) => ({ HF_ENDPOINT: hub.address, HF_HUB_CACHE: cache, HOME: root, ...more });
const quick = { retrySeconds: 0.001, stallSeconds: 60 };
const pull = (options: PullOptions = {}, name = "org/model") =>
  pullModel(name, { env: env(), ...quick, ...options });
const modelCache = () => join(cache, "models--org--model");
const blobs = () => readdirSync(join(modelCache(), "blobs")).sort();
/** Bytes of the weights that a pull has stored. */
const stored = () =>
  statSync(join(modelCache(), "blobs", `${hub.etag("model.safetensors")}.incomplete`), {
    throwIfNoEntry: false,
  })?.size ?? 0;
/** What an error of a pull says. */
const failure = (options: PullOptions = {}, name?: string): Promise<HeedError> =>
  pull(options, name).then(
    () => expect.unreachable("nothing was refused"),
    (error) => error,
  );

describe("pullModel", () => {
  test("writes the layout of Python's cache: blobs by ETag, links to them, a reference; and heed reads it", async () => {
    const pulled = await pull();
    expect(pulled.commit).toBe(hub.commit);
    expect(pulled.files.map(({ name }) => name)).toEqual([
      "config.json",
      "tokenizer.json",
      "tokenizer_config.json",
      "1_Pooling/config.json",
      "model.safetensors",
    ]);
    expect(blobs()).toEqual(pulled.files.map(({ name }) => hub.etag(name)).sort());
    for (const { name, size, downloaded } of pulled.files) {
      const path = join(pulled.directory, name);
      expect(lstatSync(path).isSymbolicLink()).toBe(true);
      expect(readFileSync(path).equals(files.get(name) as Uint8Array)).toBe(true);
      expect(size).toBe(downloaded);
    }
    expect(readFileSync(join(modelCache(), "refs", "main"), "utf8")).toBe(hub.commit);
    const folder = findModel("org/model", env());
    expect(folder.directory).toBe(pulled.directory);
    const model = await readModel(folder.directory, folder);
    expect(model.tokenize("the whale").ids).toEqual(shipped.tokenize("the whale").ids);
  });

  test("downloads nothing twice, and again only wrong or missing files", async () => {
    const { directory } = await pull();
    hub.requests.length = 0;
    expect((await pull()).files.every(({ downloaded }) => downloaded === 0)).toBe(true);
    expect(hub.requests.some(({ method, path }) => method === "GET" && !path.startsWith("/api/"))).toBe(
      false,
    );
    const damaged = Uint8Array.from(weights);
    damaged[1000] ^= 1;
    writeFileSync(join(modelCache(), "blobs", hub.etag("model.safetensors")), damaged);
    rmSync(join(directory, "config.json"));
    const again = await pull();
    expect(again.files.filter(({ downloaded }) => downloaded > 0).map(({ name }) => name)).toEqual([
      "model.safetensors",
    ]);
    expect(readFileSync(join(directory, "model.safetensors")).equals(weights)).toBe(true);
    expect(existsSync(join(directory, "config.json"))).toBe(true);
  });

  test("the token is sent to the hub only", async () => {
    await pull({ env: env({ HF_TOKEN: "hf_secret" }) });
    const tokens = (server: string) =>
      new Set(hub.requests.filter((one) => one.server === server).map(({ authorization }) => authorization));
    expect(tokens("hub")).toEqual(new Set(["Bearer hf_secret"]));
    expect(tokens("storage")).toEqual(new Set([undefined]));
    hub.requests.length = 0;
    mkdirSync(join(root, "home"), { recursive: true });
    writeFileSync(join(root, "home", "token"), "hf_file\n");
    await pull({ env: env({ HF_HOME: join(root, "home") }) });
    expect(tokens("hub")).toEqual(new Set(["Bearer hf_file"]));
  });

  test("a branch, and a model in shards", async () => {
    const index = {
      weight_map: {
        a: "model-1-of-2.safetensors",
        b: "model-2-of-2.safetensors",
        c: "model-1-of-2.safetensors",
      },
    };
    hub.files.delete("model.safetensors");
    hub.files.set("model.safetensors.index.json", Buffer.from(JSON.stringify(index)));
    hub.files.set("model-1-of-2.safetensors", Buffer.from("one"));
    hub.files.set("model-2-of-2.safetensors", Buffer.from("two"));
    const pulled = await pull({}, "org/model@pr/7");
    expect(pulled.files.slice(-2).map(({ name }) => name)).toEqual([
      "model-1-of-2.safetensors",
      "model-2-of-2.safetensors",
    ]);
    expect(readFileSync(join(modelCache(), "refs", "pr", "7"), "utf8")).toBe(hub.commit);
    expect(hub.requests[0].path).toBe("/api/models/org/model/revision/pr%2F7");
  });

  test("progress ends at the total", async () => {
    const heard: number[][] = [];
    const pulled = await pull({ onProgress: ({ done, total }) => heard.push([done, total]) });
    const size = pulled.files.reduce((sum, file) => sum + file.size, 0);
    expect(heard.at(-1)).toEqual([size, size]);
    for (let i = 1; i < heard.length; i++) expect(heard[i][0]).toBeGreaterThanOrEqual(heard[i - 1][0]);
  });
});

describe("connections that break", () => {
  /** A fault in the first `times` requests that match. */
  const first = (times: number, match: (request: Parameters<Fault>[0]) => boolean, act: Fault): Fault => {
    let left = times;
    return (request, response, n) => match(request) && left-- > 0 && act(request, response, n);
  };
  const wholeAfter = async (fault: Fault, options: PullOptions = {}) => {
    hub.fault = fault;
    const reported: string[] = [];
    const { directory, files } = await pull({ onRetry: (message) => reported.push(message), ...options });
    expect(readFileSync(join(directory, "model.safetensors")).equals(weights)).toBe(true);
    expect(blobs().some((name) => name.endsWith(".incomplete"))).toBe(false);
    return { reported, downloaded: files.find(({ name }) => name === "model.safetensors")?.downloaded };
  };
  const destroy: Fault = (_, response) => {
    response.destroy();
    return true;
  };

  test.each([0, 1, 1000, weights.length - 1])(
    "after %i bytes of a file: the download resumes there",
    async (count) => {
      const fault = first(
        1,
        ({ server }) => server === "storage",
        (_, response) => {
          breakAfter(response, weights, 0, count, stored);
          return true;
        },
      );
      const { reported, downloaded } = await wholeAfter(fault);
      expect(reported.length).toBe(1);
      const ranges = hub.requests.filter(({ server }) => server === "storage").map(({ range }) => range);
      expect(ranges).toEqual([undefined, count === 0 ? undefined : `bytes=${count}-`]);
      expect(downloaded).toBe(count === 0 ? weights.length : weights.length - count);
    },
  );

  test("repeatedly, as long as each connection sends some bytes", async () => {
    const step = Math.ceil(weights.length / 12);
    const fault = first(
      11,
      ({ server }) => server === "storage",
      ({ range }, response) => {
        breakAfter(response, weights, Number(/\d+/.exec(range ?? "")?.[0] ?? 0), step, stored);
        return true;
      },
    );
    expect((await wholeAfter(fault)).reported.length).toBe(11);
  });

  test.each([
    ["before the list of files", ({ path }: { path: string }) => path.startsWith("/api/"), destroy],
    [
      "inside the list of files",
      ({ path }: { path: string }) => path.startsWith("/api/"),
      ((_, response) => {
        response.writeHead(200).end('{"sha": "89ab');
        return true;
      }) as Fault,
    ],
    ["before the answer about a file", ({ method }: { method: string }) => method === "HEAD", destroy],
    ["before a file's bytes", ({ server }: { server: string }) => server === "storage", destroy],
    [
      "by a busy server",
      ({ server }: { server: string }) => server === "storage",
      ((_, response) => {
        response.writeHead(503).end("busy");
        return true;
      }) as Fault,
    ],
  ])("%s: the request is retried", async (_, match, act) => {
    expect((await wholeAfter(first(2, match, act))).reported.length).toBe(2);
  });

  test("a server without range requests: from the beginning", async () => {
    hub.ranges = false;
    const fault = first(
      1,
      ({ server }) => server === "storage",
      (_, response) => {
        breakAfter(response, weights, 0, 5000, stored);
        return true;
      },
    );
    await wholeAfter(fault);
  });

  test("a connection that goes silent counts as broken", async () => {
    // Until the pull reports it: on a busy machine another request may be late too.
    const isReported = () => reported.some((message) => /no data for 0\.5 s/.test(message));
    const fault: Fault = ({ server }, response) => {
      if (server !== "storage" || isReported()) return false;
      response.writeHead(200, { "content-length": weights.length });
      response.write(weights.subarray(0, 100));
      return true;
    };
    const reported: string[] = [];
    const onRetry = (message: string) => reported.push(message);
    await wholeAfter(fault, { stallSeconds: 0.5, attempts: 20, onRetry });
    expect(isReported()).toBe(true);
  });

  test("given up after five times without a byte; the bytes received are kept for the next pull", async () => {
    hub.fault = ({ server, range }, response) => {
      if (server !== "storage") return false;
      if (range === undefined) breakAfter(response, weights, 0, 4096, stored);
      else response.destroy();
      return true;
    };
    const error = await failure();
    expect(error).toBeInstanceOf(HeedError);
    expect(error.code).toBe("network");
    expect(error.message).toMatch(/cannot get model\.safetensors: .*; 4096 bytes are kept/);
    expect(existsSync(join(modelCache(), "refs", "main"))).toBe(false);
    hub.fault = () => false;
    hub.requests.length = 0;
    await pull();
    expect(hub.requests.filter(({ server }) => server === "storage").map(({ range }) => range)).toEqual([
      "bytes=4096-",
    ]);
  });

  test("an abort ends the download immediately and keeps the bytes received", async () => {
    const stop = new AbortController();
    const error = await failure({
      signal: stop.signal,
      onProgress: ({ file }) => file === "model.safetensors" && stop.abort(),
    });
    expect((error as Error).name).toBe("AbortError");
    expect(existsSync(join(modelCache(), ".heed-lock"))).toBe(false);
    await pull();
  });
});

describe("a faulty server", () => {
  test("bytes with another hash are refused and deleted; a wrong partial download is restarted", async () => {
    const wrong = Uint8Array.from(weights);
    wrong[5] ^= 1;
    hub.sent.set("model.safetensors", wrong);
    const error = await failure();
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/model\.safetensors do not have the hash that the hub names/);
    expect(blobs().some((name) => name.startsWith(hub.etag("model.safetensors")))).toBe(false);
    hub.sent.clear();
    writeFileSync(
      join(modelCache(), "blobs", `${hub.etag("model.safetensors")}.incomplete`),
      wrong.subarray(0, 2000),
    );
    const { directory } = await pull();
    expect(readFileSync(join(directory, "model.safetensors")).equals(weights)).toBe(true);
  });

  test.each([
    [401, {}, UnsupportedError, /knows no model org\/model, or it is private.*set HF_TOKEN/],
    [403, {}, UnsupportedError, /is gated \(HTTP 403\).*accept its terms/],
    [401, { "x-error-code": "GatedRepo" }, UnsupportedError, /is gated \(HTTP 401\)/],
    [404, { "x-error-code": "RepoNotFound" }, UnsupportedError, /has no model org\/model/],
    [404, { "x-error-code": "RevisionNotFound" }, UnsupportedError, /org\/model has no revision main/],
    [418, {}, HeedError, /answered 418/],
  ])("HTTP %i %j gets its own message, and is not retried", async (status, headers, kind, message) => {
    hub.fault = (_, response) => {
      response.writeHead(status, headers).end();
      return true;
    };
    const error = await failure();
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toMatch(message);
    expect(hub.requests.length).toBe(1);
    expect(existsSync(cache)).toBe(false);
  });

  test.each([
    ["<html>busy</html>", /^pullModel: the answer of .* is not JSON: /],
    ["null", /answered without a commit and a list of files/],
    [`{"sha":"${"0".repeat(40)}","siblings":[null]}`, /a list of files whose entry 0 is null, not a file$/],
  ])("the list %s is a typed error, and is not asked for again", async (list, message) => {
    hub.fault = (_, response) => {
      response.writeHead(200).end(list);
      return true;
    };
    const error = await failure();
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(message);
    expect(hub.requests.length).toBe(1);
  });

  test("a redirect to a renamed model is followed; a loop, and an address that is not HTTP, are not", async () => {
    const to =
      (location: string): Fault =>
      ({ server, method, path }, response) => {
        if (server !== "hub" || method !== "HEAD" || path.startsWith("/new/")) return false;
        response.writeHead(307, { location: location.replace("PATH", path) }).end();
        return true;
      };
    hub.fault = to("PATH");
    expect((await failure()).message).toMatch(/redirects more than 8 times/);
    hub.fault = to("file:///etc/passwd");
    expect((await failure()).message).toMatch(/redirects to "file:\/\/\/etc\/passwd"/);
    hub.id = "new/model";
    hub.fault = ({ server, path }, response) => {
      if (server !== "hub" || !path.includes("org/model")) return false;
      response.writeHead(307, { location: path.replace("org/model", "new/model") }).end();
      return true;
    };
    expect(readFileSync(join((await pull()).directory, "model.safetensors")).equals(weights)).toBe(true);
  });

  test("names that lead out of the folder are ignored", async () => {
    hub.files.set("../../evil.json", Buffer.from("{}"));
    await pull();
    expect(existsSync(join(cache, "evil.json"))).toBe(false);
    hub.files.delete("model.safetensors");
    hub.files.set(
      "model.safetensors.index.json",
      Buffer.from(JSON.stringify({ weight_map: { a: "../../evil.safetensors" } })),
    );
    const error = await failure();
    expect(error).toBeInstanceOf(FormatError);
    expect(error.message).toMatch(/names a shard/);
    hub.commit = "../../../evil";
    expect((await failure()).message).toMatch(/without a commit/);
  });

  test("more bytes than it says are refused", async () => {
    hub.sent.set("config.json", Buffer.concat([files.get("config.json") as Uint8Array, Buffer.alloc(10)]));
    hub.fault = ({ method, path }, response) => {
      if (method !== "HEAD" || !path.endsWith("/config.json")) return false;
      const size = (files.get("config.json") as Uint8Array).length;
      response.writeHead(200, { etag: `"${hub.etag("config.json")}"`, "content-length": size }).end();
      return true;
    };
    expect((await failure()).message).toMatch(/sends more than the \d+ bytes/);
  });

  test("a model without safetensors, or without config.json", async () => {
    hub.files.delete("model.safetensors");
    hub.files.set("model-q8.gguf", Buffer.from("GGUF"));
    expect((await failure()).message).toMatch(
      /has no model\.safetensors and no pytorch_model\.bin; download one of its GGUF/,
    );
    hub.files.set("pytorch_model.bin", Buffer.from("pickle"));
    // The tokenizer of a Marian: https://huggingface.co/Helsinki-NLP/opus-mt-en-de
    hub.files.set("source.spm", Buffer.from("pieces"));
    const names = (await pull()).files.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["pytorch_model.bin", "source.spm"]));
    hub.files.set("model.safetensors", weights);
    hub.files.delete("config.json");
    expect((await failure()).message).toMatch(/has no config\.json/);
  });
});

describe("refused before any connection", () => {
  test.each(["", "a/b/c", "../x", "a b"])("the name %j", async (name) => {
    expect(await failure({}, name)).toBeInstanceOf(OptionError);
  });
  test("HF_HUB_OFFLINE, and an endpoint that is none", async () => {
    expect((await failure({ env: env({ HF_HUB_OFFLINE: "1" }) })).message).toMatch(/HF_HUB_OFFLINE/);
    expect((await failure({ env: env({ HF_ENDPOINT: "ftp://x" }) })).message).toMatch(/HF_ENDPOINT/);
    expect(hub.requests).toEqual([]);
  });
  test("an unreachable server is named", async () => {
    const error = await failure({ env: env({ HF_ENDPOINT: "http://127.0.0.1:1" }), attempts: 2 });
    expect(error.message).toMatch(/cannot reach http:\/\/127\.0\.0\.1:1: /);
  });
});

test("two pulls of one model: the second gets an error that names the first", async () => {
  mkdirSync(modelCache(), { recursive: true });
  const unlock = await lockFolder(modelCache(), "heed pull");
  expect((await failure()).message).toMatch(/is in use by process/);
  await unlock();
});

test("heed pull, and then --model by name", async () => {
  let [out, err] = ["", ""];
  const run = (...args: string[]) =>
    dispatch(args, {
      stdout: { write: (text: string) => (out += text) },
      stderr: { write: (text: string) => (err += text) },
      env: env(),
      isTTY: false,
      color: 0,
      progress: false,
      signal: new AbortController().signal,
    });
  expect(await run("pull")).toBe(2);
  expect(await run("pull", "org/model")).toBe(0);
  expect(out).toMatch(/^org\/model at 89abcdef0123: 5 files, .* downloaded\n/);
  out = "";
  expect(await run("pull", "org/model", "--json")).toBe(0);
  expect(JSON.parse(out).commit).toBe(hub.commit);
  expect(err).toContain("name one model");
});
