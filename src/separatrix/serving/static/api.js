/** The paths of the server, from its OpenAPI description. */
import { h } from "/static/dom.js";

const found = await (await fetch("/openapi.json")).json();
const cards = Object.entries(found.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, one]) => h("section", { class: "card" },
  h("div", { class: "card-head" }, h("h2", {}, `${method.toUpperCase()} ${path}`), h("span", { class: "hint" }, one.summary)),
  (one.parameters ?? []).filter((p) => p.in === "query").map((p) => h("p", {}, `?${p.name}: ${p.description}`)),
  Object.entries(one.requestBody?.content ?? {}).map(([type, { example }]) => example && [
    h("p", { class: "hint" }, type),
    h("pre", { class: "code" }, typeof example === "string" ? example : JSON.stringify(example, null, 1)),
  ]),
  h("p", { class: "hint" }, `Answers: ${Object.entries(one.responses).map(([status, r]) => `${status} ${r.description}`).join("; ")}`))));
document.getElementById("view").replaceChildren(
  h("div", { class: "intro" }, h("h1", {}, "Interface"), h("p", {}, found.info.description, " ", h("a", { href: "/openapi.json" }, "openapi.json"))),
  h("div", { class: "stack" }, cards));
