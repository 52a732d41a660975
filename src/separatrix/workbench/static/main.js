/**
 * From the part of the address after # to a page; one page at a time.
 */
import { connection } from "./api.js";
import { themeButton } from "./colours.js";
import { inOneLine, problem } from "./controls.js";
import { fill, h } from "./dom.js";

const PAGES = {
  draw: () => import("./draw.js"),
  playground: () => import("./playground.js"),
  experiments: () => import("./experiments.js"),
};
const TITLES = { draw: "Draw", playground: "Playground", experiments: "Experiments" };
const view = document.getElementById("view");
let close = () => {};
let turn = 0;

/** "#/experiments/12?a=b" as the page, what follows it, and the query. */
function route() {
  if (location.hash.startsWith("#story=")) history.replaceState(null, "", `#/playground?${location.hash.slice(1)}`); // a short link to a prepared scene
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...rest] = path.split("/");
  return { page: Object.hasOwn(PAGES, page) ? page : "draw", rest, query: new URLSearchParams(query) };
}

/** Each visit has an element of its own: what a page that was left still writes is seen by nobody. */
async function show() {
  const { page, rest, query } = route();
  const mine = ++turn;
  const again = mine > 1;
  const place = h("div", { class: `page-${page}` }, h("p", { class: "loading" }, "Loading"));
  close();
  close = () => {};
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[page]} · separatrix`;
  try {
    const module = await PAGES[page]();
    if (mine !== turn) return;
    const opening = module.open(place, query, rest);
    fill(view, place);
    if (again) arrive();
    const end = await opening;
    if (mine === turn) close = end ?? (() => {});
    else end?.();
  } catch (error) {
    if (mine === turn) fill(view, problem({ message: error.message, hint: error.hint || "Load the page again." }));
  }
}

/** The top of another page; a focus that went with the last one goes to the new one. */
function arrive() {
  scrollTo(0, 0);
  if (document.activeElement === document.body) view.focus({ preventScroll: true });
}

connection.addEventListener("change", ({ detail }) => {
  const banner = document.getElementById("banner");
  banner.hidden = !detail.gone;
  banner.textContent = detail.gone ? inOneLine(detail.error) : "";
});

themeButton(document.getElementById("theme"));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address after # names the page
  view.focus();
});
addEventListener("hashchange", show);
show();
