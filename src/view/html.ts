/**
 * The explorer and its data as one HTML file that makes no request. The file contains the element's module, and the data as
 * base64 in a template, which browsers do not run. Its content security policy allows only the two scripts and the style, by
 * their hashes, and no connection.
 *
 * Tokens are only inside the base64; the name and the title are escaped. Works in Node and in pages with a secure context,
 * such as a file opened from disk.
 */
import { UnsupportedError } from "../core/errors.ts";
import { clean } from "../store/text/label.ts";
import { base64 } from "./base64.ts";
import { escapeXml } from "./plot/svg.ts";

/** The contents of the file. */
export interface HtmlOptions {
  /** The text of the element's module, `dist/attention-view.js`. */
  readonly module: string;
  /** A bundle, or any other file the element opens. */
  readonly data: Uint8Array;
  /** The name of the data on the page. */
  readonly name: string;
  /** Title of the page. Default: `name`. */
  readonly title?: string;
  /** The initial state, as the part of the explorer's URL after #. */
  readonly hash?: string;
  /** Default `auto`: the setting of the reader's system. */
  readonly theme?: "auto" | "light" | "dark";
}

const STYLE = `:root{color-scheme:light dark;font:13px/20px Inter,system-ui,"Helvetica Neue",Arial,sans-serif;color:light-dark(#1b1a17,#eceae3);background:light-dark(#fbfaf7,#14151a)}
:root:has([theme=light]){color-scheme:light}
:root:has([theme=dark]){color-scheme:dark}
body{margin:0;min-block-size:100dvh}
body,main{display:flex;flex-direction:column}
main{flex:1;min-block-size:0}
h1{position:absolute;inline-size:1px;block-size:1px;margin:-1px;overflow:hidden;clip-path:inset(50%)}
attention-view{--heed-height:auto;flex:1;min-block-size:min(100dvh,480px)}
@media (min-width:900px){body{block-size:100dvh}}
p{margin:0;padding:8px 20px}
@media print{:root{color-scheme:light!important;background:#fff}body,main{display:block;block-size:auto;min-block-size:0}}`;

/** Sets the URL, which the element reads when it is defined, decodes the data, and opens it in the element. */
const START = `const data=document.getElementById("heed-data");
const text=data.content.textContent;
const name=data.dataset.name;
data.remove();
const bytes=new Uint8Array(Math.floor(text.length/4)*3-(text.endsWith("==")?2:text.endsWith("=")?1:0));
for(let at=0;at<text.length;at+=1<<20){const part=atob(text.slice(at,at+(1<<20)));for(let n=0;n<part.length;n++)bytes[at/4*3+n]=part.charCodeAt(n)}
const view=document.querySelector("attention-view");
if(location.hash===""&&view.dataset.hash)history.replaceState(null,"",view.dataset.hash);
customElements.whenDefined("attention-view").then(()=>view.open(new File([bytes],name))).catch(()=>{});`;

/** Writes the file. The same input gives the same text. */
export async function htmlFile(options: HtmlOptions): Promise<string> {
  const { name, title = name, theme = "auto", hash = "" } = options;
  const code = inScript(options.module);
  const policy = [
    "default-src 'none'",
    `script-src ${await hashOf(code)} ${await hashOf(START)}`,
    `style-src ${await hashOf(STYLE)}`,
    "worker-src blob:",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const safe = (text: string) => escapeXml(clean(text));
  const attributes = [
    theme === "auto" ? "" : ` theme="${theme}"`,
    hash === "" ? "" : ` data-hash="${safe(hash)}"`,
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${safe(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${safe(title)}</h1>
<noscript><p>The explorer computes every number in this page and needs JavaScript for it.</p></noscript>
<attention-view address${attributes.join("")}></attention-view>
</main>
<template id="heed-data" data-name="${safe(name)}">${base64(options.data)}</template>
<script type="module">${START}</script>
<script type="module">${code}</script>
</body>
</html>
`;
}

/** Escapes code for a script element. "</script" and "<!--" can only be in strings, so their "<" is written as an escape. */
function inScript(code: string): string {
  return code.replace(/\r\n?/g, "\n").replace(/<(?=\/script|script[ >]|!--)/gi, "\\x3c");
}

/** A hash source of content security policies: what the browser reads between the tags. */
async function hashOf(text: string): Promise<string> {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined)
    throw new UnsupportedError(
      "html",
      "htmlFile: this page has no crypto.subtle; it exists over https, on localhost and in files",
    );
  const digest = await subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `'sha256-${base64(new Uint8Array(digest))}'`;
}
