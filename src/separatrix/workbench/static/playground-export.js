/**
 * Work taken away: a script, an experiment file, the points, the picture, a link.
 */
import { post } from "./api.js";
import { button, inOneLine, toast } from "./controls.js";
import { download, h } from "./dom.js";
import { asSvg, sceneData, sharePage } from "./playground-share.js";

const LONG_LINK = 8000; // letters; some programs cut longer ones

/**
 * @param {import("./playground-scene.js").Scene} scene
 * @param {{plane: import("./plane.js").Plane, link: () => string, answer: () => any, story: () => any, signal: AbortSignal}} options answer: the last fit, null without one
 */
export function exportCard(scene, { plane, link, answer, story, signal }) {
  async function file(kind) {
    if (scene.present() < 2) {
      toast("Add points of two classes first");
      return;
    }
    try {
      const source = scene.source?.data ? { data: scene.source.data } : scene.source; // its columns are the names
      const { test, out, ...all } = scene.request();
      const idle = kind === "points" ? new Set() : new Set([...test, ...out]); // a script learns from what the model learned from
      const points = all.points.filter((_, row) => !idle.has(row));
      const request = { ...all, points, name: "playground", names: scene.names, source: idle.size ? null : source };
      const files = await post("/api/playground/export", request, signal);
      download(files[kind].name, files[kind].text);
    } catch (error) {
      if (error.name !== "AbortError") toast(inOneLine(error), "bad");
    }
  }
  const picture = () => plane.copy(2).toBlob((blob) => blob && download("playground.png", blob, "image/png"));
  const vectors = () => download("playground.svg", asSvg(plane), "image/svg+xml");
  async function share() {
    if (!answer()) {
      toast("There is no answer to share yet");
      return;
    }
    page.disabled = true;
    try {
      const data = await sceneData(scene, answer(), story(), signal);
      download("playground.html", await sharePage(data, signal), "text/html");
    } catch (error) {
      if (error.name !== "AbortError") toast(inOneLine(error), "bad");
    } finally {
      page.disabled = false;
    }
  }
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
  const page = one("Share, HTML", "One file that opens anywhere, without this workbench", share, "export-page");
  return {
    element: h("section", { class: "card export-card", "aria-label": "Export" }, h("h2", {}, "Export"),
      h("div", { class: "exports" },
        one("Python script", "Fits the same model to the same points, draws it", () => file("python"), "export-python"),
        one("Experiment", "An experiment file for separatrix run", () => file("experiment"), "export-experiment"),
        one("Points, CSV", "One row a point", () => file("points"), "export-points"),
        one("Picture, PNG", "The plane with two pixels for one", picture, "export-picture"),
        one("Picture, SVG", "The plane as shapes, for any size", vectors, "export-svg"),
        page,
        one("Copy link", "This scene as an address of this workbench", copy, "copy-link"))),
  };
}
