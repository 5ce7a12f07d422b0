/** Waits until node, DNS and proxy of a new cluster are ready, as the agent on this machine sees them. */
import type { Pod } from "../../api/generated/types.ts";
import type { AgentClient } from "../../client/agent-client.ts";
import { followNode } from "../../client/follow-node.ts";
import type { NodePicture } from "../../client/node-picture.ts";
import { startTimer } from "../../kit/clock.ts";
import { isReady, notReadyYet } from "../../present/readiness.ts";
import type { Io } from "../io.ts";
import { stateOf } from "../up/supervise/viewers.ts";

interface Waiting {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly print: (text: string) => void;
  readonly io: Pick<Io, "now">;
}

/** Pods that kubeadm has the cluster make, by the value of their label `k8s-app`. */
const ADDONS = [
  { app: "kube-proxy", name: "the proxy of Services (kube-proxy)" },
  { app: "kube-dns", name: "the cluster's DNS (CoreDNS)" },
] as const;

/** Resolves with texts about what is not ready when the time is over or `signal` is aborted; empty when all is. */
export async function awaitCluster(
  client: AgentClient,
  { timeoutMs, signal, print, io }: Waiting,
): Promise<readonly string[]> {
  const leave = new AbortController();
  const end = () => leave.abort();
  signal.addEventListener("abort", end, { once: true });
  const cancel = startTimer(timeoutMs, end);
  let waiting: readonly string[] = ["the agent does not answer"];
  let shown = "";
  const onPicture = (picture: NodePicture) => {
    waiting = notReady(picture, io.now());
    const [first = "", ...others] = waiting;
    const text = others.length === 0 ? first : `${first} (and ${others.length} more)`;
    if (text !== shown && text !== "") print(`waiting: ${text}`);
    shown = text;
    if (waiting.length === 0) end();
  };
  try {
    await followNode(client, onPicture, leave.signal);
  } finally {
    cancel();
    signal.removeEventListener("abort", end);
  }
  return waiting;
}

function notReady(picture: NodePicture, now: number): readonly string[] {
  const { node, pods } = stateOf(picture);
  const missing = ADDONS.filter(
    ({ app }) => !pods.some((pod) => labelOf(pod) === app && isReady(pod)),
  );
  return [
    ...notReadyYet(
      node,
      pods.filter((pod) => !ADDONS.some(({ app }) => labelOf(pod) === app)),
      now,
    ),
    ...missing.map(({ name }) => `${name} is not ready`),
  ];
}

function labelOf({ metadata }: Pod): string | undefined {
  return metadata?.labels?.["k8s-app"];
}
