/**
 * Digits as people write them: the first is shown faintly on the empty paper, the Example button draws them in turn.
 */

/** A 3, a 7, a 0 and a 2. */
export const EXAMPLES = [
  [[...bow(0.46, 0.34, 0.17, 0.15, -150, 80), ...bow(0.45, 0.65, 0.2, 0.17, -80, 150)]],
  [[...line([0.31, 0.24], [0.68, 0.24]), ...line([0.68, 0.25], [0.43, 0.8])]],
  [[...bow(0.5, 0.5, 0.17, 0.3, -80, 285)]],
  [[...bow(0.49, 0.36, 0.18, 0.16, -170, 35), ...line([0.63, 0.46], [0.32, 0.79]), ...line([0.33, 0.79], [0.7, 0.78])]],
];

/** A part of an ellipse, angles in degrees. */
function bow(x, y, rx, ry, from, to) {
  return Array.from({ length: 25 }, (_, i) => {
    const angle = ((from + ((to - from) * i) / 24) * Math.PI) / 180;
    return [roundCoordinate(x + rx * Math.cos(angle)), roundCoordinate(y + ry * Math.sin(angle))];
  });
}

function line(from, to) {
  return Array.from({ length: 13 }, (_, i) => from.map((start, axis) => roundCoordinate(start + ((to[axis] - start) * i) / 12)));
}

/** A coordinate on the paper, to four digits. @param {number} value */
export function roundCoordinate(value) {
  return Math.round(Math.min(1, Math.max(0, value)) * 1e4) / 1e4;
}
