/**
 * Work taken away: a script, an experiment file, the points, the picture, a link.
 */
import { post } from "./api.js";
import { button, inOneLine, toast } from "./controls.js";
import { download, h } from "./dom.js";

const LONG_LINK = 8000; // letters; some programs cut longer ones

/**
 * @param {import("./playground-scene.js").Scene} scene
 * @param {{plane: import("./plane.js").Plane, link: () => string, signal: AbortSignal}} options
 */
export function exportCard(scene, { plane, link, signal }) {
  async function file(kind) {
    if (scene.present() < 2) {
      toast("Add points of two classes first");
      return;
    }
    try {
      const source = scene.source?.data ? { data: scene.source.data } : scene.source; // its columns are the names
      const request = { ...scene.request(), name: "playground", names: scene.names, source };
      const answer = await post("/api/playground/export", request, signal);
      download(answer[kind].name, answer[kind].text);
    } catch (error) {
      if (error.name !== "AbortError") toast(inOneLine(error), "bad");
    }
  }
  const picture = () => plane.file((blob) => blob && download("playground.png", blob, "image/png"));
  async function copy() {
    const address = link();
    try {
      await navigator.clipboard.writeText(address);
      toast(address.length > LONG_LINK ? `Link copied: ${address.length.toLocaleString("en")} letters, which some programs cut` : "Link copied");
    } catch {
      toast("The browser does not allow copying; the link is in the address bar");
    }
  }
  const one = (title, help, act, test) => button(title, act, "", { title: help, data: { test } });
  return {
    element: h("section", { class: "card export-card", "aria-label": "Export" }, h("h2", {}, "Export"),
      h("div", { class: "exports" },
        one("Python script", "Fits the same model to the same points, draws it", () => file("python"), "export-python"),
        one("Experiment", "An experiment file for separatrix run", () => file("experiment"), "export-experiment"),
        one("Points, CSV", "One row a point", () => file("points"), "export-points"),
        one("Picture", "The plane as PNG", picture, "export-picture"),
        one("Copy link", "This scene as an address of this workbench", copy, "copy-link"))),
  };
}
