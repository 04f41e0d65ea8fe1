/**
 * The page that `heed view` serves: one explorer over the files the command line was given. The token of the page's own
 * address opens them; the page asks nobody else for anything.
 */

/** What the command line says to the page: the files by their addresses, without the token. */
interface Session {
  readonly files: readonly { readonly name: string; readonly path: string }[];
}

/** What is used of the element. */
interface Element extends HTMLElement {
  sources: readonly { readonly name: string; readonly src: string }[];
}

const view = document.querySelector("attention-view") as Element;
const notice = document.getElementById("notice") as HTMLElement;
const token = new URLSearchParams(location.search).get("token") ?? "";
const withToken = (path: string) => `${path}?token=${encodeURIComponent(token)}`;

/** Says what is wrong, and what to do about it. */
function tell(text: string): void {
  notice.textContent = text;
  notice.hidden = text === "";
}

async function start(): Promise<void> {
  let response: Response;
  try {
    response = await fetch(withToken("/data/session"));
  } catch {
    return tell(
      "The program that served this page has ended. Start it again, and open the address it prints.",
    );
  }
  if (response.status === 403)
    return tell(
      "This address lacks its token: open the one that heed printed, or choose a file of your own here.",
    );
  if (!response.ok) return tell(`The server answered ${response.status} ${response.statusText}.`);
  const session: Session = await response.json();
  await customElements.whenDefined("attention-view");
  if (session.files.length > 0)
    view.sources = session.files.map(({ name, path }) => ({ name, src: withToken(path) }));
}

view.addEventListener("load", (event) => {
  const { report } = (event as CustomEvent<{ report: { name: string } }>).detail;
  document.title = `${report.name} · heed`;
});
void start();
