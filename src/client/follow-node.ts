/** The node as it changes, across restarts of its agent. */
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../present/cli-error.ts";
import { EXIT_NO_AGENT } from "../present/exit-codes.ts";
import type { ProblemsReply } from "../present/shapes.ts";
import type { AgentClient } from "./agent-client.ts";
import { changesOf } from "./changes.ts";
import { EMPTY_PICTURE, type NodePicture, withChange } from "./node-picture.ts";

const RETRY_MS = 250;

/**
 * Calls `onPicture` whenever the node has changed, until `signal` is aborted. Waits for an agent that is away, and shows
 * it by an empty overview.
 */
export async function followNode(
  client: AgentClient,
  onPicture: (picture: NodePicture) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = EMPTY_PICTURE;
  while (!signal.aborted) {
    try {
      for await (const picture of picturesOf(client, signal)) {
        last = picture;
        onPicture(picture);
      }
    } catch (thrown) {
      if (!(thrown instanceof CliError) || thrown.exitCode !== EXIT_NO_AGENT) throw thrown;
    }
    if (signal.aborted) return;
    // The last known pods stay on the screen until the agent is back.
    onPicture({ ...last, overview: undefined, synced: false });
    await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
  }
}

async function* picturesOf(client: AgentClient, signal: AbortSignal): AsyncGenerator<NodePicture> {
  let picture = EMPTY_PICTURE;
  for await (const change of changesOf(client, signal)) {
    const problems = picture.overview?.problems;
    picture = withChange(picture, change);
    if (change.kind === "overview" && change.overview.problems !== problems) {
      const { items } = await client.json<ProblemsReply>("/nodelet/v1/problems");
      picture = { ...picture, problems: items };
    }
    if (picture.synced) yield picture;
  }
}
