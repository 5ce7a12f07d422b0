/** Keeps the routes to the pods of the cluster's other nodes, by a watch of the nodes. */
import { existsSync, readFileSync, watch } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Node } from "../../api/generated/types.ts";
import { retryDelayMs } from "../../kit/backoff.ts";
import { messageOf } from "../../kit/errors.ts";
import { type Log, silentLog } from "../../kit/log.ts";
import * as kube from "../../outside/kube/kube.ts";
import { connectApi } from "../api-access.ts";
import { KUBEADM_FILES, nodeNameIn } from "../control-plane/places.ts";
import { applyRoutes } from "./apply-routes.ts";
import { planRoutes } from "./plan-routes.ts";

const BACKOFF = { initialMs: 1_000, maxMs: 60_000 };

/** Keeps them until `leave` is aborted. The routes stay: the next one goes on with them. */
export async function keepPodRoutes(
  print: (text: string) => void,
  leave: AbortSignal,
): Promise<void> {
  const say = withoutRepetition(print);
  for (let failures = 0; !leave.aborted; ) {
    const changed = await credentialsThere(leave);
    try {
      await follow(say, AbortSignal.any([leave, changed]));
    } catch (error) {
      if (leave.aborted) return;
      failures = changed.aborted ? 0 : failures + 1;
      if (failures === 0) continue;
      say(`routes to the pods of other nodes: ${messageOf(error)}`);
      const pauseMs = retryDelayMs(failures, BACKOFF);
      await sleep(pauseMs, undefined, { signal: leave }).catch(() => {});
    }
  }
}

/** Resolves as soon as there is the node's kubeconfig; the signal is aborted when it changes after that. */
async function credentialsThere(leave: AbortSignal): Promise<AbortSignal> {
  const { kubeconfig } = KUBEADM_FILES;
  const changed = new AbortController();
  await new Promise<void>((resolve) => {
    const watcher = watch(dirname(kubeconfig), (_, name) => {
      if (name !== basename(kubeconfig) || !existsSync(kubeconfig)) return;
      changed.abort();
      resolve();
    });
    changed.signal.addEventListener("abort", () => watcher.close(), { once: true });
    leave.addEventListener("abort", () => changed.abort(), { once: true });
    changed.signal.addEventListener("abort", () => resolve(), { once: true });
    if (existsSync(kubeconfig)) resolve();
  });
  return changed.signal;
}

async function follow(say: (text: string) => void, signal: AbortSignal): Promise<void> {
  const api = await connectApi(KUBEADM_FILES.kubeconfig, "kubeadm writes it");
  const nodes = new Map<string, Node>();
  const ownName = nodeNameIn(textOf(KUBEADM_FILES.kubeletFlags), hostname());
  let isKnown = false;
  const log: Log = {
    ...silentLog,
    warn: (_, { error } = {}) => say(`nodes cannot be watched: ${messageOf(error)}`),
  };
  const deps = { client: api.client, clock: api.clock, random: api.random, log };
  const fresh = api.keepFresh(signal).catch(() => {});
  try {
    for await (const change of kube.followObjects({ resource: kube.NODES }, deps, signal)) {
      if (change.kind === "all") {
        nodes.clear();
        for (const node of change.objects) nodes.set(node.metadata?.name ?? "", node);
        isKnown = true;
      } else if (change.kind === "set")
        nodes.set(change.object.metadata?.name ?? "", change.object);
      else nodes.delete(change.object.metadata?.name ?? "");
      if (!isKnown) continue;
      const failed = await applyRoutes(planRoutes(nodes.values(), ownName));
      for (const [node, why] of failed)
        say(
          `no route to the pods of ${node}: ${why}; nodes of several networks need a network plugin`,
        );
    }
  } finally {
    api.close();
    await fresh;
  }
}

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function withoutRepetition(print: (text: string) => void): (text: string) => void {
  let last = "";
  return (text) => {
    if (text !== last) print(text);
    last = text;
  };
}
