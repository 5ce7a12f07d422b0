/** What an agent in a box says of its pods, for comparing it before and after. */
import { request } from "node:http";
import type { Pod } from "../../src/api/generated/types.ts";
import type { Box } from "../box/box.ts";

const ANSWER_MS = 10_000;

/** What the agent answers on its socket; `undefined` while it is away. */
export function ask(box: Box, path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socketPath = box.path("/run/nodelet/agent.sock");
    const asked = request({ socketPath, path, timeout: ANSWER_MS }, async (reply) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of reply) chunks.push(chunk as Buffer);
      } catch {
        resolve(undefined);
      }
      resolve(reply.statusCode === 200 ? Buffer.concat(chunks).toString() : undefined);
    });
    asked.once("timeout", () => asked.destroy());
    asked.once("error", () => resolve(undefined)).end();
  });
}

/** What changes when a container is restarted, or a condition has another value for a moment. */
export async function lives(box: Box): Promise<string> {
  const { items } = JSON.parse((await ask(box, "/nodelet/v1/pods")) ?? '{"items":[]}') as {
    readonly items: readonly Pod[];
  };
  return items
    .map(({ metadata, status }) =>
      JSON.stringify([
        metadata?.name,
        status?.phase,
        status?.containerStatuses?.map(({ containerID, restartCount }) => [
          containerID,
          restartCount,
        ]),
        status?.conditions?.map((each) => [each.type, each.status, each.lastTransitionTime]),
      ]),
    )
    .toSorted()
    .join("\n");
}
