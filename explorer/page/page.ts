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
  src: string | undefined;
}

const view = document.querySelector("attention-view") as Element;
const notice = document.getElementById("notice") as HTMLElement;
const nav = document.getElementById("files") as HTMLElement;
const token = new URLSearchParams(location.search).get("token") ?? "";
const withToken = (path: string) => `${path}?token=${encodeURIComponent(token)}`;

/** Says what is wrong, and what to do about it. */
function tell(text: string): void {
  notice.textContent = text;
  notice.hidden = text === "";
}

/** Shows a file; the address says nothing of another one's head. */
function open(session: Session, at: number, keep: boolean): void {
  if (!keep) history.replaceState(null, "", `${location.pathname}${location.search}#v1/head`);
  view.src = withToken(session.files[at].path);
  for (const [n, button] of [...nav.children].entries())
    if (n === at) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
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
  if (session.files.length > 1) {
    nav.hidden = false;
    session.files.forEach(({ name }, at) => {
      const button = document.createElement("button");
      button.type = "button";
      // Names are somebody's text: never markup, and in their own direction.
      button.textContent = name;
      button.dir = "auto";
      button.addEventListener("click", () => open(session, at, false));
      nav.append(button);
    });
  }
  if (session.files.length > 0) open(session, 0, true);
}

view.addEventListener("load", (event) => {
  const { report } = (event as CustomEvent<{ report: { name: string } }>).detail;
  document.title = `${report.name} · heed`;
});
void start();
