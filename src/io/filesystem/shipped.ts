/**
 * The location of the shipped models and captures (Node): `models/` in a clone, the package heed-models where heed is installed.
 * They are a separate package so that installing heed does not download three language models.
 */
import { UnsupportedError } from "../../core/errors.ts";

/** The shipped data: three language models, and captured attention of a real model. */
export type Shipped = "encoder" | "decoder" | "translator" | "captures";

/** The folder of a shipped model or of the captures. Throws an UnsupportedError that names the package to install where it is missing. */
export function shippedFolder(which: Shipped): string {
  const { existsSync } = process.getBuiltinModule("node:fs");
  const { fileURLToPath } = process.getBuiltinModule("node:url");
  const { createRequire } = process.getBuiltinModule("node:module");
  const { dirname, join } = process.getBuiltinModule("node:path");
  const marker = which === "captures" ? "README.md" : "config.json";
  const tried: string[] = [];
  const look = (folder: () => string) => {
    try {
      tried.push(join(folder(), which));
    } catch {} // heed-models is not installed, or a bundle has no import.meta.url.
  };
  // Beside src/ or dist/ in a clone. No new URL(…, import.meta.url): bundlers would look for the folder.
  look(() => join(dirname(fileURLToPath(import.meta.url)), "../../../models"));
  for (const from of [join(process.cwd(), "package.json"), import.meta.url])
    look(() => dirname(createRequire(from).resolve("heed-models/package.json")));
  const folder = tried.find((path) => existsSync(join(path, marker)));
  if (folder !== undefined) return folder;
  throw new UnsupportedError(
    "model-missing",
    `the shipped ${which === "captures" ? "captures are" : `${which} is`} not installed; the package heed-models has ${which === "captures" ? "them" : "it"}: npm install heed-models, or, of a clone, the file that "npm pack ./models" writes (looked in ${tried.join(", ")})`,
    { which, tried },
  );
}
