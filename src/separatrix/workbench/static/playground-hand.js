/**
 * Points by mouse, pen, finger and keys.
 */
import { MOST_POINTS } from "./playground-scene.js";
import { toast, words } from "./controls.js";

const HIT = { mouse: 9, pen: 12, touch: 20 }; // pixels around a point that mean it
const SPRAY = { every: 45, drops: 2, spread: 0.035 }; // ms, points at a time, share of the window

/**
 * @param {import("./plane.js").Plane} plane
 * @param {import("./playground-scene.js").Scene} scene
 * @param {{tool: () => "add"|"spray"|"erase", say: (sentence: string) => void, on: (target: EventTarget, name: string, listener: any, options?: any) => void}} options
 */
export function hand(plane, scene, { tool, say, on }) {
  const { canvas } = plane;
  let gesture = null;

  const at = (event) => {
    const edge = canvas.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  };
  const inside = ([px, py]) => {
    const { left, top, width, height } = plane.box;
    return px >= left - 4 && px <= left + width + 4 && py >= top - 4 && py <= top + height + 4;
  };

  /** Before the first change of a gesture: a click that changes nothing is nothing to undo. */
  function keepOnce() {
    if (!gesture.kept) scene.keep();
    gesture.kept = true;
  }

  function erase(pixel, reach) {
    const row = plane.nearest(...pixel, reach);
    if (row < 0) return;
    keepOnce();
    scene.remove([row]);
  }

  function spray() {
    const [x0, x1, y0, y1] = scene.view;
    const [x, y] = plane.place(...gesture.pixel);
    const drops = Array.from({ length: SPRAY.drops }, () => [x + SPRAY.spread * (x1 - x0) * normal(), y + SPRAY.spread * (y1 - y0) * normal()]);
    keepOnce();
    if (!scene.add(drops)) full();
  }

  function full() {
    end();
    toast(`At most ${MOST_POINTS.toLocaleString("en")} points`);
  }

  function begin(event) {
    const pixel = at(event);
    if (gesture || !inside(pixel) || (event.button !== 0 && event.button !== 2)) return;
    const reach = HIT[event.pointerType] ?? HIT.mouse;
    const kind = event.button === 2 || event.altKey ? "erase" : tool();
    const row = kind === "spray" ? -1 : plane.nearest(...pixel, reach);
    canvas.setPointerCapture(event.pointerId);
    plane.show({ cross: null });
    gesture = { kind, row, found: kind === "add" && row >= 0, pixel, start: pixel, reach, id: event.pointerId, timer: 0, kept: false };
    if (kind === "erase") erase(pixel, reach);
    else if (kind === "spray") {
      gesture.timer = setInterval(spray, SPRAY.every);
      spray();
    } else if (row < 0) {
      keepOnce();
      if (scene.add([plane.place(...pixel)])) gesture.row = scene.points.length - 1;
      else full();
    }
  }

  function go(event) {
    const pixel = at(event);
    if (!gesture) {
      canvas.classList.toggle("over-point", event.pointerType === "mouse" && tool() !== "spray" && plane.nearest(...pixel, HIT.mouse) >= 0);
      return;
    }
    if (event.pointerId !== gesture.id) return;
    gesture.pixel = pixel;
    if (gesture.kind === "erase") erase(pixel, gesture.reach);
    else if (gesture.kind === "add" && (gesture.kept || far(pixel, gesture.start))) {
      keepOnce();
      scene.move(gesture.row, ...plane.place(...pixel));
    }
  }

  function end() {
    if (!gesture) return;
    clearInterval(gesture.timer);
    const { found, kept, row } = gesture;
    gesture = null;
    if (found && !kept) leaveOut(row);
  }

  /** A click on a support vector leaves it out; another takes it back. */
  function leaveOut(row) {
    const gone = scene.out.includes(row);
    if (!gone && !plane.shown.support.has(row)) return;
    scene.set({ out: gone ? scene.out.filter((one) => one !== row) : [...scene.out, row] });
    say(gone ? `Row ${row} is back` : `Row ${row} is left out`);
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const done = event.key.startsWith("Arrow") ? moveCross(event) : KEYS[event.key]?.();
    if (/^[1-9]$/.test(event.key)) scene.choose(Number(event.key) - 1);
    else if (done === undefined) return;
    event.preventDefault();
  }

  const middle = () => [(scene.view[0] + scene.view[1]) / 2, (scene.view[2] + scene.view[3]) / 2];
  const where = ([x, y]) => `${scene.names[0]} ${words(x)}, ${scene.names[1]} ${words(y)}`;

  function moveCross(event) {
    const [x0, x1, y0, y1] = scene.view;
    const step = event.shiftKey ? 0.1 : 0.02;
    const [across, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const [x, y] = plane.shown.cross ?? middle();
    const cross = [Math.min(x1, Math.max(x0, x + across * step * (x1 - x0))), Math.min(y1, Math.max(y0, y + up * step * (y1 - y0)))];
    plane.show({ cross });
    say(where(cross));
    return true;
  }

  function addAtCross() {
    const cross = plane.shown.cross ?? middle();
    plane.show({ cross });
    scene.keep();
    if (scene.add([cross])) say(`Added a point of ${scene.classes[scene.chosen]} at ${where(cross)}`);
    else full();
    return true;
  }

  function removeAtCross() {
    const cross = plane.shown.cross ?? middle();
    const row = plane.nearest(...plane.pixel(...cross));
    if (row < 0) return true;
    const [x, y, c] = scene.points[row];
    scene.keep();
    scene.remove([row]);
    plane.show({ cross });
    say(`Removed the point of ${scene.classes[c]} at ${where([x, y])}`);
    return true;
  }

  const KEYS = {
    Enter: addAtCross, " ": addAtCross, Delete: removeAtCross, Backspace: removeAtCross,
    Escape: () => { plane.show({ cross: null }); return true; },
  };

  on(canvas, "pointerdown", begin);
  on(canvas, "pointermove", go);
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
    on(canvas, name, (event) => { if (event.pointerId === gesture?.id) end(); }); // not another finger
  }
  on(canvas, "contextmenu", (event) => event.preventDefault());
  on(canvas, "keydown", keys);
  on(canvas, "focus", () => { if (canvas.matches(":focus-visible")) plane.show({ cross: plane.shown.cross ?? middle() }); });
  on(canvas, "blur", () => plane.show({ cross: null }));
  return { end };
}

/** Whether a finger that only trembles has gone somewhere. */
const far = ([ax, ay], [bx, by]) => (ax - bx) ** 2 + (ay - by) ** 2 > 9;

/** A normal number (Box and Muller). */
const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
