/**
 * One file that opens anywhere: the modules that draw here, as data addresses of an import map, their styles, and what
 * is shown as JSON. It asks nobody for anything: its policy forbids it.
 */
import { base64 } from "./api.js";

/**
 * @param {{title: string, data: any, modules: string[], styles: string[], kind: string}} options modules: the first one's
 *   `open(view, data)` shows the page; kind: classes of its view
 * @param {AbortSignal} signal @returns {Promise<string>}
 */
export async function pageFile({ title, data, modules, styles, kind }, signal) {
  const read = async (name) => {
    const reply = await fetch(`/static/${name}`, { signal });
    if (!reply.ok) throw new Error(`${name} is not there`);
    return reply.text();
  };
  const sources = await Promise.all(modules.map((name) => read(`${name}.js`)));
  const imports = Object.fromEntries(modules.map((name, i) => [`separatrix/${name}.js`, asAddress(sources[i])]));
  const rules = (await Promise.all(["workbench.css", ...styles, "share.css"].map(read))).join("\n");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="color-scheme" content="light dark"><title>${escaped(title)} · separatrix</title><style>${rules}</style>
<script type="importmap">${JSON.stringify({ imports })}</script></head>
<body><main id="view" class="${kind} shared"><noscript>This page needs JavaScript. It asks nobody for anything.</noscript></main>
<script type="application/json" id="shown">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>
<script type="module">import { open } from "separatrix/${modules[0]}.js"; open(document.getElementById("view"), JSON.parse(document.getElementById("shown").textContent));</script>
</body></html>
`;
}

/** A module as an address that needs no server; its imports are names of the map. */
const asAddress = (source) => `data:text/javascript;base64,${base64(new TextEncoder().encode(source.replaceAll('from "./', 'from "separatrix/')))}`;

/** Text inside markup. */
export const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
