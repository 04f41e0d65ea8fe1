/**
 * `heed figure`, `heed html` and `heed view`: what they write, print, refuse, and how they end. The first two run in this
 * process; `view`, which serves until Ctrl-C, in one of its own.
 */
import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { decode } from "../../explorer/state/url.ts";
import { pageModel } from "../../src/cli/commands/view.ts";
import { writeNpz } from "../../src/io/index.ts";
import { ablateHeads, locateShipped, readModel } from "../../src/models/index.ts";
import { writeBundle } from "../../src/store/formats/bundle.ts";
import { openStore } from "../../src/store/formats/open.ts";
import { renderFigure } from "../../src/view/figure/index.ts";
import { heed, unix, work } from "../platforms/cli.ts";
import { describeBuilt, isBuilt } from "../support/built.ts";
import { runCommand } from "../support/processes/command.ts";
import { get, send } from "../support/processes/raw-http.ts";
import { madeInput } from "./support/stores.ts";

/** Commands that read a file and write a picture of it; `html` needs the build. */
const FILE_COMMANDS = isBuilt ? ["figure", "html"] : ["figure"];

/** Runs a command here, over files of the working folder; names in angle brackets are such files. */
async function run(...args: string[]) {
  const { code, out, err } = await runCommand(
    ...args.map((arg) => arg.replace(/^<(.*\..*)>$/, (_, name) => join(work, name))),
  );
  const plain = (text: string) => text.replaceAll(`${work}/`, "");
  return { code, out: plain(out), err: plain(err) };
}

const tokens = ["[CLS]", "the", "cat", "sat", "</script>", "[SEP]"];

/** A bundle in the working folder. */
async function bundle(name = "run.safetensors") {
  writeFileSync(join(work, name), await writeBundle(madeInput({ Nq: 6, tokens, layers: 3, heads: 2 })));
}

it("the page calls a model by its name, not by its path", () => {
  const nameOf = (name?: string) => pageModel(name, async () => Promise.reject())?.name;
  expect(nameOf(locateShipped("encoder"))).toBe("encoder");
  expect(nameOf()).toBe("the small model that comes with heed");
});

describe("a model in place of a file of attention", () => {
  it.each([...FILE_COMMANDS, "view"])("heed %s names the options that run the model", async (command) => {
    const folder = locateShipped("encoder");
    const output = { figure: ["-o", "<a.svg>"], html: ["-o", "<a.html>"] }[command] ?? ["--no-open"];
    const advice = `not attention; for its attention on a text: --text TEXT --model ${folder} (see`;
    for (const [path, what] of [
      [folder, `${folder} is a model's folder`],
      [join(folder, "model.safetensors"), "model.safetensors holds a model's weights"],
    ]) {
      const { code, err } = await run(command, path, ...output);
      expect([code, err]).toEqual([2, expect.stringContaining(`heed ${command}: ${what}, ${advice}`)]);
    }
  });
});

describe("a file of 64 MiB or more", () => {
  // Sparse: the file takes no space. Reading its header fails, after the message.
  const sparse = (name: string, start: string) => {
    writeFileSync(join(work, name), start, "latin1");
    truncateSync(join(work, name), 70 * 2 ** 20);
  };

  it.each(FILE_COMMANDS)("heed %s says that it reads all of an npz or npy file", async (command) => {
    sparse("large.npy", "\x93NUMPY\x09\x00");
    const { code, err } = await run(
      command,
      "<large.npy>",
      "-o",
      command === "html" ? "<a.html>" : "<a.svg>",
    );
    expect(code).toBe(1);
    const [first, second] = err.split("\n");
    expect(first).toBe(
      "reading all 70.0 MiB of large.npy; of a safetensors bundle, parts are read on demand",
    );
    expect(second).toMatch(/^heed \w+: /);
  });

  it("a bundle, of which parts are read, needs no message", async () => {
    sparse("large.safetensors", "\x02\0\0\0\0\0\0\0{}");
    const { code, err } = await run("figure", "<large.safetensors>", "-o", "<a.svg>");
    expect(code).toBe(1);
    expect(err).not.toContain("reading all");
  });
});

describe("heed figure", () => {
  it("writes the figure the library draws, and says what it shows", async () => {
    await bundle();
    const args = ["--layer", "1", "--head", "1", "--query", "3", "--key", "2", "--values", "--width", "170"];
    const { code, out, err } = await run("figure", "<run.safetensors>", ...args, "-o", "<fig.svg>");
    expect([code, err]).toEqual([0, expect.stringMatching(/^wrote fig\.svg \(.* KiB\)\n$/)]);
    const store = await openStore(join(work, "run.safetensors"));
    const figure = await renderFigure(store, {
      layer: 1,
      head: 1,
      query: 3,
      key: 2,
      values: true,
      width: 170,
    });
    expect(readFileSync(join(work, "fig.svg"), "utf8")).toBe(figure.svg);
    expect(out).toBe(`${figure.alt}\n\n${figure.latex("fig.svg")}`);
    store.dispose();
  });

  it("draws a model's attention on a text: the head with the most telling link", async () => {
    const { code, out } = await run(
      "figure",
      "--text",
      "time flies like an arrow",
      "-o",
      "<text.svg>",
      "--json",
    );
    expect(code).toBe(0);
    expect(JSON.parse(out).caption).toMatch(/^Layer \d, head \d · attention weights/);
    expect(readFileSync(join(work, "text.svg"), "utf8")).toContain(">time<");
    const both = await run("figure", "<run.safetensors>", "--text", "x", "-o", "<text.svg>");
    expect([both.code, both.err]).toEqual([2, expect.stringContaining("give a file or --text, not both")]);
  });

  it("takes every view, hidden keys, PNG, CSV and JSON", async () => {
    await bundle();
    for (const args of [
      ["--view", "lines", "--mass", "0.9", "-o", "<a.svg>"],
      ["--view", "text", "--query", "3", "--hide", "1,2", "-o", "<b.svg>"],
      ["--view", "atlas", "--theme", "dark", "--transparent", "-o", "<c.svg>"],
      ["--view", "row", "--query", "3", "--key", "2", "--no-caption", "-o", "<d.svg>"],
      ["--scale", "2", "-o", "<e.png>"],
      ["--stage", "masked", "-o", "<f.csv>"],
      ["--view", "atlas", "-o", "<g.json>"],
    ]) {
      const ended = await run("figure", "<run.safetensors>", ...args);
      expect([args, ended.code, ended.err]).toEqual([args, 0, expect.stringMatching(/^wrote /)]);
    }
    expect(readFileSync(join(work, "e.png")).subarray(1, 4).toString()).toBe("PNG");
    expect(readFileSync(join(work, "f.csv"), "utf8").split("\r\n")[1]).toMatch(
      /^\[CLS\],-?\d.*,masked,masked/,
    );
    expect(JSON.parse(readFileSync(join(work, "g.json"), "utf8")).rows.length).toBe(6);
    const facts = await run("figure", "<run.safetensors>", "-o", "<h.svg>", "--json");
    expect(JSON.parse(facts.out)).toMatchObject({
      output: "h.svg",
      caption: expect.stringMatching(/^Layer \d, head \d/),
    });
  });

  it("refuses what it cannot draw before it writes", async () => {
    await bundle();
    for (const [args, code, err] of [
      [["-o", "<fig.tiff>"], 2, /must end in \.pdf, \.svg, \.png, \.csv, \.json/],
      [[], 2, /say where the figure goes/],
      [["--view", "pie", "-o", "<x.svg>"], 2, /--view must be/],
      [["--layer", "9", "-o", "<x.svg>"], 1, /layer must be one of block self's layers, 0 to 2, got 9/],
      [["--view", "lines", "-o", "<x.png>"], 1, /has text: write SVG/],
      [["-o", "<no/such/x.svg>"], 1, /does not exist/],
    ] as const) {
      const ended = await run("figure", "<run.safetensors>", ...args);
      expect([args, ended.code]).toEqual([args, code]);
      expect(ended.err).toMatch(err);
      expect(existsSync(join(work, "x.svg"))).toBe(false);
    }
    expect((await run("figure", "<bad.npy>", "-o", "<x.svg>")).code).toBe(1);
    // What to do about a pickle is said in full.
    writeFileSync(join(work, "attn.pt"), Uint8Array.of(0x80, 2, 0x7d, 0x71, 0, 0x2e));
    expect((await run("figure", "<attn.pt>", "-o", "<x.svg>")).err).toMatch(
      /with these two lines:\nimport torch; .*\nsave_file\(.*attn\.safetensors"\)\n$/,
    );
    expect((await run("figure", "<nothing.npz>", "-o", "<x.svg>")).err).toMatch(/nothing\.npz/);
  });
});

describe("files as people have them", () => {
  const weights = [
    [
      [0.75, 0.25],
      [0.5, 0.5],
    ],
  ];

  it("JSON gets its tokens from a file beside it", async () => {
    writeFileSync(join(work, "attn.json"), JSON.stringify([weights]));
    writeFileSync(join(work, "two.json"), JSON.stringify(["old", "ship"]));
    const { code } = await run("figure", "<attn.json>", "--tokens", "<two.json>", "-o", "<attn.csv>");
    expect(code).toBe(0);
    expect(readFileSync(join(work, "attn.csv"), "utf8")).toBe(
      "query,old,ship\r\nold,0.75,0.25\r\nship,0.5,0.5\r\n",
    );
  });

  it("tokens that are formulas are texts in CSV, and have no control characters", async () => {
    const [{ layers }] = madeInput({ Nq: 3, layers: 1 }).blocks;
    const formulas = ["=cmd|calc!A0", "+1", "a\u0007\u001b"];
    writeFileSync(
      join(work, "formulas.safetensors"),
      await writeBundle({ blocks: [{ tokens: formulas, layers }] }),
    );
    expect((await run("figure", "<formulas.safetensors>", "-o", "<formulas.csv>")).code).toBe(0);
    const [first, ...rows] = readFileSync(join(work, "formulas.csv"), "utf8").split("\r\n");
    for (const text of [first.slice("query,".length), ...rows]) expect(text).toMatch(/^(?:$|'=cmd|'\+1|a)/);
    expect([first, ...rows].join("")).not.toMatch(/\p{Cc}/u);
  });

  it("a file that is cut off, a model that is not there: the message says so", async () => {
    writeFileSync(join(work, "cut.json"), JSON.stringify([weights]).slice(0, 12));
    expect((await run("figure", "<cut.json>", "-o", "<x.svg>")).err).toMatch(
      /cut\.json: the file ends in the middle of a value: it is cut off \(byte 12\)\n$/,
    );
    const { code, err } = await run("show", "--model", "nosuch", "the old ship");
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/there is no folder nosuch.*encoder, decoder, translator\n$/),
    ]);
  });

  it("a warning about a file is printed once", async () => {
    writeFileSync(
      join(work, "seven.json"),
      JSON.stringify([[weights[0].map((row) => row.map((x) => 7 * x))]]),
    );
    for (const args of [
      ["figure", "<seven.json>", "-o", "<x.svg>"],
      ["figure", "<seven.json>", "-o", "<x.csv>", "--json"],
      ...(isBuilt ? [["html", "<seven.json>", "-o", "<x.html>"]] : []),
    ]) {
      const { code, out, err } = await run(...args);
      expect([args, code, err.split("should sum to 1").length]).toEqual([args, 0, 2]);
      expect(out).not.toContain("should sum to 1");
    }
  });
});

describeBuilt("heed html", () => {
  it("writes one file with the module and the data in it, and prints its size", async () => {
    await bundle();
    const args = ["--dtype", "float16", "--title", "<b>"];
    const { code, out } = await run("html", "<run.safetensors>", "-o", "<run.html>", ...args);
    expect(code).toBe(0);
    const text = readFileSync(join(work, "run.html"), "utf8");
    expect(out).toMatch(/^run\.html: [\d.]+ KiB, of which [\d.]+ KiB of data\n$/);
    expect(text).toContain("<title>&lt;b&gt;</title>");
    expect(text).toMatch(
      /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/,
    );
    expect(text.slice(0, text.indexOf("<body>"))).not.toContain("wasm-unsafe-eval");
    expect(text).not.toMatch(/(?:src|href)="(?!data:)/);
    // Two scripts, each ended by its own end: nothing inside one ends it early.
    expect(text.match(/<script/g)?.length).toBe(2);
    expect(text.match(/<\/script>/g)?.length).toBe(2);
    const data = Buffer.from(/<template [^>]*>([^<]*)<\/template>/.exec(text)![1], "base64");
    const store = await openStore(data);
    expect(store.blocks[0].queryTokens).toEqual(tokens);
    expect(decode(/data-hash="([^"]*)"/.exec(text)![1].replaceAll("&amp;", "&"))).toMatchObject({
      view: "head",
      pinned: null,
    });
    const beyond = await run("html", "<run.safetensors>", "-o", "<run.html>", "--layers", "0-20");
    expect([beyond.code, beyond.err]).toEqual([2, expect.stringContaining("--layers: there is no layer 3")]);
  });
});

describe.skipIf(!isBuilt || !unix)("heed view", () => {
  /** Starts `heed view`, hands the address over, and ends it with Ctrl-C. */
  async function view(args: string[], during: (url: URL) => Promise<void>) {
    return heed(["view", "--no-open", ...args], {}, (child) => {
      let reported = "";
      child.stdout!.on("data", async (text) => {
        if (/http:\/\/\S+/.test(reported)) return;
        reported += String(text);
        const url = /http:\/\/[^\s"]+/.exec(reported);
        if (url) await during(new URL(url[0])).finally(() => child.kill("SIGINT"));
      });
    });
  }

  it("serves a file to who has its address, and ends with 0 on Ctrl-C", async () => {
    await bundle();
    const { code, err } = await view(["run.safetensors"], async (url) => {
      const port = Number(url.port);
      expect((await send(port, get(port, "/"))).body).toContain("<attention-view");
      // Everything the page asks for is there, with the Lab beside it or not.
      // Every script of the element but the wrapper for React, also those that it loads later.
      const element = readdirSync("dist/attention-view", { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".js") && name !== "react.js")
        .map((name) => `/attention-view/${name.replaceAll("\\", "/")}`);
      expect(element).toContain("/attention-view/gpu.js");
      for (const path of ["/page.js", "/page.css", "/attention-view.js", ...element])
        expect([path, (await send(port, get(port, path))).status]).toEqual([path, 200]);
      const same = "Sec-Fetch-Site: same-origin";
      const session = await send(port, get(port, `/data/session${url.search}`, same));
      const { files } = JSON.parse(session.body);
      expect(files).toEqual([
        { name: "run.safetensors", path: expect.stringMatching(/^\/data\/[\w-]{12}\/run\.safetensors$/) },
      ]);
      const file = await send(port, get(port, files[0].path + url.search, same));
      expect(Buffer.from(file.body, "latin1").equals(readFileSync(join(work, "run.safetensors")))).toBe(true);
      expect((await send(port, get(port, `/data/session`, same))).status).toBe(403);
      // The page opens with the cursor on a cell, not pinned, so that hovering changes it.
      expect(decode(url.hash)).toMatchObject({ view: "head", block: "self", pinned: null });
    });
    expect(code).toBe(0);
    expect(err).toContain("3 layers × 2 heads");
    expect(err).toContain("Ctrl-C ends");
  });

  it("puts tokens that come beside an array into a bundle with it", async () => {
    const { query, key } = madeInput({ Nq: 4, layers: 1 }).blocks[0].layers[0];
    writeFileSync(join(work, "qk.npz"), await writeNpz({ q: query as never, k: key as never }));
    writeFileSync(join(work, "tokens.json"), JSON.stringify(["a", "b", "c", "d"]));
    const { code } = await view(["qk.npz", "--tokens", "tokens.json", "--json"], async (url) => {
      const port = Number(url.port);
      const same = "Sec-Fetch-Site: same-origin";
      const { files } = JSON.parse((await send(port, get(port, `/data/session${url.search}`, same))).body);
      const file = await send(port, get(port, files[0].path + url.search, same));
      const store = await openStore(Buffer.from(file.body, "latin1"));
      expect(store.blocks[0].keyTokens).toEqual(["a", "b", "c", "d"]);
    });
    expect(code).toBe(0);
  });

  it("opens an encoder and decoder at the cross-attention, and prints each warning once", async () => {
    const [{ layers }] = madeInput({ Nq: 6, layers: 1 }).blocks;
    const kinds = { cross: "cross", dec: "self", enc: "self" } as const;
    const blocks = Object.entries(kinds).map(([name, kind]) => ({ name, kind, tokens, layers }));
    writeFileSync(join(work, "parts.safetensors"), await writeBundle({ blocks }));
    const weights = { data: Float32Array.of(7, 0, 3, 4), shape: [1, 2, 2] };
    writeFileSync(
      join(work, "seven.safetensors"),
      await writeBundle({ blocks: [{ tokens: ["a", "b"], layers: [{ weights }] }] }),
    );
    const { code, err } = await view(["parts.safetensors", "seven.safetensors"], async (url) => {
      expect(decode(url.hash)).toMatchObject({ view: "head", block: "cross" });
    });
    expect([code, err.split("should sum to 1").length]).toEqual([0, 2]);
  });

  it("runs a model on texts: a file for each, opened at a strong link", async () => {
    const { code } = await view(
      ["--text", "time flies like an arrow", "--text", "fruit flies"],
      async (url) => {
        const port = Number(url.port);
        const session = get(port, `/data/session${url.search}`, "Sec-Fetch-Site: same-origin");
        const { files } = JSON.parse((await send(port, session)).body);
        expect(files.map(({ name }: { name: string }) => name)).toEqual([
          "time flies like an arrow",
          "fruit flies",
        ]);
      },
    );
    expect(code).toBe(0);
  });

  it("runs the model of a text again without heads, only for its own page", async () => {
    const { code } = await view(
      ["--model", "decoder", "--text", "the president of the united"],
      async (url) => {
        const port = Number(url.port);
        const same = "Sec-Fetch-Site: same-origin";
        const ask = (path: string, ...lines: string[]) => send(port, get(port, path, ...lines), 60_000);
        const { files } = JSON.parse((await ask(`/data/session${url.search}`, same)).body);
        const { model } = files[0];
        expect(model).toMatchObject({ name: "decoder", predicts: "next" });
        const path = `${model.path}${url.search}`;
        const decoder = await readModel(locateShipped("decoder"));
        const heads = [
          { layer: 0, head: 1, replace: "mean" as const, position: null },
          { layer: 1, head: 0, replace: "zero" as const, position: 2 },
        ];
        const wanted = ablateHeads(decoder, "the president of the united", heads, { position: 3 });
        const run = await ask(`${path}&heads=0.1m,1.0.2&position=3`, same);
        expect(JSON.parse(run.body)).toEqual(JSON.parse(JSON.stringify(wanted)));
        // An error of the model is in the response; malformed requests are rejected.
        expect(JSON.parse((await ask(`${path}&heads=99.0`, same)).body).error).toMatch(/layer must be 0 to/);
        for (const heads of ["", "1", "1.2.3.4", "1.2,", "-1.2", "1.2;3.4", `${"1.1,".repeat(1024)}1.1`])
          expect([heads, (await ask(`${path}&heads=${heads}`, same)).status]).toEqual([heads, 400]);
        expect((await ask(`/ablate/none${url.search}&heads=1.1`, same)).status).toBe(404);
        expect((await ask(`${model.path}?token=guess&heads=1.1`, same)).status).toBe(403);
        expect((await ask(`${model.path}?heads=1.1`, same)).status).toBe(403);
        expect((await ask(`${path}&heads=1.1`, "Sec-Fetch-Site: cross-site")).status).toBe(403);
        expect((await ask(`${path}&heads=1.1`)).status).toBe(403);
        // The attention of that run differs only in the layers after the ablated head.
        const ablatedFile = JSON.parse((await ask(`${path}&heads=0.1&attention=1`, same)).body);
        expect(ablatedFile.name).toBe("the president of the united, without L0 H1");
        const stores = await Promise.all(
          [ablatedFile, files[0]].map(async (file) =>
            openStore(Buffer.from((await ask(file.path + url.search, same)).body, "latin1")),
          ),
        );
        const cells = async (layer: number) =>
          Promise.all(
            stores.map(async (store) => {
              await store.load({ block: 0, layer, head: 0 });
              return Array.from(store.row({ block: 0, layer, head: 0 }, 3, "weights"));
            }),
          );
        const [[a, b], [c, d]] = [await cells(0), await cells(1)];
        expect(a).toEqual(b);
        expect(c).not.toEqual(d);
      },
    );
    expect(code).toBe(0);
  });

  it("shows captured sentences if no file is given, and reads a text that the page sends", async () => {
    const { code, out } = await view([], async (url) => {
      const port = Number(url.port);
      const same = "Sec-Fetch-Site: same-origin";
      const ask = async (path: string) => JSON.parse((await send(port, get(port, path, same))).body);
      const session = await ask(`/data/session${url.search}`);
      expect(session.welcome).toBe(true);
      expect(session.files.map(({ name }: { name: string }) => name)).toEqual([
        "time flies like an arrow",
        "fruit flies like a banana",
        "they walked along the bank of the river",
        "they walked along the river bank",
        "they walked to the savings bank",
        "they sat by the bank of the table",
        "The cat sat on the mat because it was tired",
        "The cat sat on the mat because it was soft",
      ]);
      expect(url.hash).toBe("#v1/head?b=self&l=0&h=4&i=2&j=1");
      const first = await send(port, get(port, session.files[0].path + url.search, same));
      const store = await openStore(Buffer.from(first.body, "latin1"));
      await store.load({ block: 0, layer: 0, head: 4 });
      expect(store.cell({ block: 0, layer: 0, head: 4 }, 2, 1, "weights")).toBeCloseTo(0.8, 2);
      const answer = await ask(`/text${url.search}&text=${encodeURIComponent("the old ship & the sea")}`);
      expect(answer.name).toBe("the old ship & the sea");
      const file = await send(port, get(port, answer.path + url.search, same));
      const textStore = await openStore(Buffer.from(file.body, "latin1"));
      expect(textStore.blocks[0].queryTokens).toContain("ship");
      // Without its token, or from another site, nothing is computed.
      expect((await send(port, get(port, "/text?token=guess&text=a", same))).status).toBe(403);
      expect(
        (await send(port, get(port, `/text${url.search}&text=a`, "Sec-Fetch-Site: cross-site"))).status,
      ).toBe(403);
    });
    expect(code).toBe(0);
    expect(out).toMatch(/time flies like an arrow/i);
    // One head, with the way to the others.
    expect(out.match(/^layer \d+, head \d+/gm)).toEqual(["layer 0, head 4"]);
    expect(out).toMatch(/strongest links.*--all prints all 72 heads.*In the explorer: http:/s);
  });

  it("prints every head with --all, of the captured sentence and of a text, and the address after them", async () => {
    const serves = async (url: URL) => {
      expect((await send(Number(url.port), get(Number(url.port), "/"))).status).toBe(200);
    };
    for (const [args, heads] of [
      [["--all"], 72],
      [["--text", "the old ship", "--all"], 16],
    ] as const) {
      const { code, out } = await view([...args], serves);
      expect([code, new Set(out.match(/\bL\d+ H\d+\b/g)).size]).toEqual([0, heads]);
      expect(out.split("\n").at(-2)).toMatch(/^In the explorer: http:/);
    }
  });

  it("prints a text's head and its strongest links before the address", async () => {
    const { code, out } = await view(["--text", "the old ship"], async () => {});
    expect(code).toBe(0);
    expect(out).toMatch(/“the old ship”.*strongest links.*In the explorer: http:/s);
  });

  it("says what is wrong with a file, and with how it was asked, and serves nothing", async () => {
    for (const [args, code, err] of [
      [["--tokens", "t.json"], 2, /--tokens goes with a file/],
      [["<run.safetensors>", "--pair", "x"], 2, /--pair goes with --text/],
      [["<run.safetensors>", "--text", "x"], 2, /not both/],
      [["<run.safetensors>", "--all"], 2, /--all goes with --text or the captured sentences/],
      [["--all", "--json"], 2, /--all prints text, --json prints JSON/],
      [["<bad.npy>"], 1, /bad\.npy|truncated|bytes/],
      [["<run.safetensors>", "--port", "99999"], 2, /--port must be/],
      [["--text", "a", "--text", "b", "--pair", "c"], 2, /second text to one --text/],
    ] as const) {
      await bundle();
      const ended = await run("view", "--no-open", ...args);
      expect([args, ended.code, ended.out]).toEqual([args, code, ""]);
      expect(ended.err).toMatch(err);
    }
  });
});
