/**
 * The code of what is about to be started. Names may hold anything: they are quoted for a shell and for Python.
 */

/** A word for a POSIX shell. @param {string} word */
export const shell = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);

/** A string for Python: JSON's escapes are Python's too. @param {string} text */
export const python = (text) => JSON.stringify(text);

/** @param {{name: string, quick: boolean, seed: number}} request */
export function namedCode({ name, quick, seed }) {
  if (!name) return { python: "", command: "" };
  return {
    command: `separatrix run ${shell(name)}${quick ? " --quick" : ""} --seed ${seed}`,
    python: [
      "from pathlib import Path",
      "",
      "from separatrix.app.runs import prepare",
      "",
      `job = prepare(${python(name)}, {"seed": ${seed}${quick ? ', "quick": True' : ""}})`,
      `results, page, words = job.run(Path(${python(`runs/${name}`)}))`,
      'print("\\n".join(words))',
    ].join("\n"),
  };
}

/**
 * A column is named; if its name would be parsed as a position, its position is used.
 *
 * @param {string} target @param {string[]} names
 */
export const column = (target, names) => (/^(-?[0-9]{1,9}|auto)$/.test(target) ? String(names.indexOf(target)) : target);

/** The columns of each role. @param {Record<string, string>} roles @returns {[string, string[]][]} */
function byRole(roles) {
  const found = new Map();
  for (const [name, role] of Object.entries(roles)) found.set(role, [...(found.get(role) ?? []), name]);
  return [...found];
}

/** @param {{file: string, target: string, roles?: Record<string, string>, models: string[], folds: number, seed: number}} request */
export function fileCode({ file, target, roles = {}, models, folds, seed }) {
  const path = file.startsWith("-") || !file.includes(".") ? `./${file}` : file; // no option, no data set's name
  const which = models.length ? ` --models ${shell(models.join(","))}` : "";
  const given = byRole(roles).map(([role, names]) => ` --${role} ${shell(names.join(","))}`).join("");
  return {
    command: `separatrix compare ${shell(path)}${target ? ` --target ${shell(target)}` : ""}${given}${which} --cv ${folds} --seed ${seed} --out report`,
    python: [
      "from pathlib import Path",
      "",
      "from separatrix.app.runs import compare_data",
      "",
      "comparison, page, notes = compare_data(",
      `    ${python(path)},`,
      target ? `    target=${python(target)},` : null,
      ...byRole(roles).map(([role, names]) => `    ${role}=[${names.map(python).join(", ")}],`),
      models.length ? `    models=[${models.map(python).join(", ")}],` : null,
      `    cv=${folds},`,
      `    seed=${seed},`,
      '    out=Path("report"),',
      ")",
      "print(comparison)",
    ].filter((line) => line !== null).join("\n"),
  };
}
