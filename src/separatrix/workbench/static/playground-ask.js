/**
 * Questions about a scene. The server keeps the points under a key, so that a dragged slider does not send thousands of
 * them at every move; a server that does not have them, such as one that began anew, is sent them again.
 */
import { post } from "./api.js";

/**
 * @param {import("./playground-scene.js").Scene} scene
 * @param {string} route such as "fit"
 * @param {object} more what the question has beside the scene, or instead of a part of it
 * @param {AbortSignal} [signal]
 */
export async function askAbout(scene, route, more, signal) {
  const { points, ...rest } = scene.request(), { sent } = scene;
  const path = `/api/playground/${route}`, body = { ...rest, ...more, kept: sent.key };
  if (sent.known) {
    try {
      return await post(path, body, signal);
    } catch (error) {
      if (error.code !== "points") throw error;
    }
  }
  const answer = await post(path, { ...body, points }, signal);
  sent.known = true;
  return answer;
}
