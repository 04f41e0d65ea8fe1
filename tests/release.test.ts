/** Releases: one command writes version, owner and changelog, and the same files give the same tarball. */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { absoluteLinks, emptyFields, pack, publishCommands, writeRelease } from "../tools/release.mjs";
import { at } from "../tools/setup.mjs";
import { itBuilt } from "./support/built.ts";

/** The part of a publication that the tests read. */
interface Publication {
  readonly name: string;
  readonly access: string;
  readonly "dist-tags": Readonly<Record<string, string>>;
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>;
}

const folder = mkdtempSync(join(tmpdir(), "heed-release-"));
afterAll(() => rmSync(folder, { recursive: true }));
const OWNER = {
  author: "Ada",
  repository: "https://example.org/heed",
  homepage: "https://example.org/heed#readme",
  bugs: "https://example.org/heed/issues",
};
const FILES = [
  "CHANGELOG.md",
  "package.json",
  "package-lock.json",
  "models/package.json",
  "src/core/version.ts",
  "owner.json",
];

/** A folder with the files that a release changes. */
function copied(name: string): string {
  const copy = join(folder, name);
  for (const file of FILES) {
    mkdirSync(join(copy, file, ".."), { recursive: true });
    cpSync(at(file), join(copy, file));
  }
  // As before the first release.
  for (const file of ["README.md", "CHANGELOG.md"])
    writeFileSync(
      join(copy, file),
      readFileSync(at(file), "utf8").replace("heed is not on npm yet", "heed is on npm"),
    );
  return copy;
}

it("a release without an owner is refused, and nothing is written", () => {
  const copy = copied("anonymous");
  writeFileSync(join(copy, "owner.json"), JSON.stringify({ ...OWNER, bugs: "" }));
  expect(() => writeRelease(copy, "1.0.0", "2026-12-01")).toThrow("owner.json: fill in bugs first");
  writeFileSync(join(copy, "owner.json"), JSON.stringify(OWNER));
  expect(() => writeRelease(copy, "v1", "2026-12-01")).toThrow("expected a version such as 1.0.0, got v1");
  const before = copied("unchanged");
  for (const file of FILES.slice(0, -1))
    expect(readFileSync(join(copy, file), "utf8"), file).toBe(readFileSync(join(before, file), "utf8"));
});

it("a release has one version and one owner in every file", () => {
  const copy = copied("owned");
  writeFileSync(join(copy, "owner.json"), JSON.stringify(OWNER));
  writeRelease(copy, "9.8.7", "2026-12-01");
  const [changelog, manifest, lock, models, source] = FILES.map((file) =>
    readFileSync(join(copy, file), "utf8"),
  );
  expect(changelog).toContain("## 9.8.7 (2026-12-01)\n");
  expect(changelog).not.toContain("## Unreleased");
  expect(source).toContain('VERSION = "9.8.7"');
  const [heed, data] = [JSON.parse(manifest), JSON.parse(models)];
  expect([heed.version, data.version, JSON.parse(lock).version]).toEqual(["9.8.7", "9.8.7", "9.8.7"]);
  expect(heed.repository).toEqual({ type: "git", url: "git+https://example.org/heed.git" });
  expect(data.repository).toEqual({ ...heed.repository, directory: "models" });
  expect([heed.author, heed.homepage, heed.bugs.url]).toEqual([OWNER.author, OWNER.homepage, OWNER.bugs]);
  expect(() => writeRelease(copy, "9.8.8", "2026-12-02")).toThrow('no entry under "## Unreleased"');
});

it("a release whose pages say that heed is not on npm yet is refused", () => {
  for (const file of ["README.md", "CHANGELOG.md"]) {
    const copy = copied(`early-${file}`);
    writeFileSync(join(copy, "owner.json"), JSON.stringify(OWNER));
    writeFileSync(join(copy, file), "heed is not on npm yet.\n");
    expect(() => writeRelease(copy, "1.0.0", "2026-12-01")).toThrow(`${file}: remove the sentence`);
  }
});

/** What a registry on this machine receives in publications. */
async function withRegistry<T>(work: (url: string, received: Publication[]) => Promise<T>): Promise<T> {
  const received: Publication[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      if (request.method === "PUT") received.push(JSON.parse(Buffer.concat(pieces).toString()));
      response.writeHead(request.method === "PUT" ? 201 : 404, { "Content-Type": "application/json" });
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await work(`127.0.0.1:${(server.address() as AddressInfo).port}/`, received);
  } finally {
    server.close();
  }
}

it.each([
  ["1.0.0", "latest"],
  ["1.0.0-rc.1", "next"],
])(
  "the printed command publishes the tarball of %s as %s",
  async (version, tag) => {
    const project = join(folder, `published-${version}`);
    mkdirSync(project, { recursive: true });
    const manifest = JSON.parse(readFileSync(at("models/package.json"), "utf8"));
    writeFileSync(join(project, "package.json"), JSON.stringify({ ...manifest, version }));
    const name = pack(project, join(project, "release"));
    const [command] = publishCommands([name], version);
    await withRegistry(async (url, received) => {
      // Provenance comes from the host that builds the release.
      expect(command).toContain(" --provenance");
      const line = `${command.replace(" --provenance", "")} --registry=http://${url} --//${url}:_authToken=none`;
      const child = spawn(line, { cwd: project, shell: true });
      let text = "";
      child.stderr.on("data", (piece) => (text += piece));
      const code = await new Promise((resolve) => child.on("exit", resolve));
      expect(code, text).toBe(0);
      expect(received.map((one) => [one.name, one["dist-tags"], one.access])).toEqual([
        ["heed-models", { [tag]: version }, "public"],
      ]);
      const [{ data }] = Object.values(received[0]._attachments);
      expect(Buffer.from(data, "base64").equals(readFileSync(join(project, "release", name)))).toBe(true);
    });
  },
  60_000,
);

it("owner.json has the four fields of an owner", () => {
  const owner = JSON.parse(readFileSync(at("owner.json"), "utf8"));
  expect(Object.keys(owner)).toEqual(Object.keys(OWNER));
  expect(emptyFields(OWNER)).toEqual([]);
});

it("the README of the package has no relative link and no relative picture", () => {
  const readme = absoluteLinks(readFileSync(at("README.md"), "utf8"), OWNER.repository, "1.0.0");
  const prose = readme.replaceAll(/^```[\s\S]*?^```$/gm, "");
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
  expect(targets.length).toBeGreaterThan(10);
  expect(targets.filter((target) => !/^(?:https?:|#)/.test(target))).toEqual([]);
  expect(readme).toContain(
    "![Lines from queries to keys](https://example.org/heed/raw/v1.0.0/docs/images/flies-lines.svg)",
  );
  expect(readme).toContain("](https://example.org/heed/blob/v1.0.0/docs/call.md)");
});

it("the same files give the same tarball, byte for byte, at any time and place", async () => {
  const hashes: string[] = [];
  for (const name of ["first", "second"]) {
    const source = join(folder, name, "package");
    mkdirSync(join(source, "dist"), { recursive: true });
    for (const file of ["package.json", "README.md", "LICENSE"]) cpSync(at(file), join(source, file));
    writeFileSync(join(source, "dist/index.js"), "export {};\n");
    const destination = join(folder, name, "tarballs");
    const tarball = pack(source, destination, { repository: OWNER.repository, version: "1.0.0" });
    hashes.push(
      createHash("sha256")
        .update(readFileSync(join(destination, tarball)))
        .digest("hex"),
    );
    // The clock of a file's time has a resolution of a second or better.
    await new Promise((resolve) => setTimeout(resolve, 1100));
  }
  expect(hashes[0]).toBe(hashes[1]);
}, 60_000);

itBuilt(
  "npm pack of the built package gives the same tarball twice, byte for byte",
  () => {
    const tarballs = ["once", "twice"].map((name) => {
      const destination = join(folder, name);
      mkdirSync(destination);
      const argv = ["pack", "--ignore-scripts", "--silent", "--pack-destination", destination];
      const { stdout } = spawnSync("npm", argv, { cwd: at("."), encoding: "utf8" });
      return readFileSync(join(destination, stdout.trim()));
    });
    expect(tarballs[0].length).toBeGreaterThan(1e6);
    expect(tarballs[0].equals(tarballs[1])).toBe(true);
  },
  60_000,
);
