/**
 * A drawing as one file: the paper, the answers of all models and their reasons.
 */
import { base64 } from "./api.js";
import { pageFile } from "./share-file.js";

const MODULES = ["share-drawing", "draw-answers", "draw-why", "draw-pictures", "colours", "controls", "dom", "api"];

/** @param {{reply: any, state: any, chosen: string, image: Blob}} drawing @param {AbortSignal} signal @returns {Promise<string>} */
export async function shareDrawing({ reply, state, chosen, image }, signal) {
  const { python, command, milliseconds, ...shown } = reply;
  const paper = `data:image/png;base64,${base64(new Uint8Array(await image.arrayBuffer()))}`;
  const set = state.data.find(({ name }) => name === state.current)?.title ?? state.current;
  const about = state.own ? state.own.map(({ name, count }) => `${name} (${count})`).join(", ") : set;
  const data = { reply: shown, models: state.models, chosen, paper, about, own: Boolean(state.own), python };
  return pageFile({ title: "A drawing", data, modules: MODULES, styles: ["draw.css"], kind: "page-draw" }, signal);
}
