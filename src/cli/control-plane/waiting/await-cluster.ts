/** Waits until node, DNS and proxy of a new cluster are ready, as the agent on this machine sees them. */
import type { Pod } from "../../../api/generated/types.ts";
import type { AgentClient } from "../../../client/agent-client.ts";
import { followNode } from "../../../client/follow-node.ts";
import type { NodePicture } from "../../../client/node-picture.ts";
import { startTimer } from "../../../kit/clock.ts";
import { spokenDuration } from "../../../present/amounts.ts";
import { isReady, notReadyYet } from "../../../present/readiness.ts";
import { type Io, writeLines } from "../../io.ts";
import { stateOf } from "../../up/supervise/viewers.ts";

/** A pod that has to be ready, by the value of its label `k8s-app`. */
interface Addon {
  readonly app: string;
  readonly name: string;
}

interface Waiting {
  readonly addons: readonly Addon[];
  /** Whether somebody else has seen a pod serve, so that its own probes need not be waited for. */
  readonly isSeen?: (pod: Pod) => boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly print: (text: string) => void;
  readonly io: Pick<Io, "now" | "stderr">;
}

/** Pods that kubeadm has a new cluster make. */
export const ADDONS: readonly Addon[] = [
  { app: "kube-proxy", name: "the proxy of Services (kube-proxy)" },
  { app: "kube-dns", name: "the cluster's DNS (CoreDNS)" },
];

/** Resolves with whether all became ready; else, when the time is over or `signal` is aborted, says what is not. */
export async function awaitCluster(
  client: AgentClient,
  { addons, isSeen = () => false, timeoutMs, signal, print, io }: Waiting,
): Promise<boolean> {
  const leave = new AbortController();
  const end = () => leave.abort();
  signal.addEventListener("abort", end, { once: true });
  const cancel = startTimer(timeoutMs, end);
  let waiting: readonly string[] = ["the agent does not answer"];
  let shown = "";
  const onPicture = (picture: NodePicture) => {
    // What comes after the end, such as a pod that has just been made, takes nothing back.
    if (leave.signal.aborted) return;
    waiting = notReady(picture, { addons, isSeen, now: io.now() });
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
  if (waiting.length === 0) return true;
  const late = `the cluster is not ready after ${spokenDuration(timeoutMs)}`;
  writeLines(io.stderr, [`nodelet: ${late}`, ...waiting.map((line) => `  ${line}`)]);
  return false;
}

function notReady(
  picture: NodePicture,
  { addons, isSeen, now }: Required<Pick<Waiting, "addons" | "isSeen">> & { readonly now: number },
): readonly string[] {
  const { node, pods: all } = stateOf(picture);
  const pods = all.filter((pod) => !isSeen(pod));
  const missing = addons.filter(
    ({ app }) => !pods.some((pod) => labelOf(pod) === app && isReady(pod)),
  );
  return [
    ...notReadyYet(
      node,
      pods.filter((pod) => !addons.some(({ app }) => labelOf(pod) === app)),
      now,
    ),
    ...missing.map(({ name }) => `${name} is not ready`),
  ];
}

function labelOf({ metadata }: Pod): string | undefined {
  return metadata?.labels?.["k8s-app"];
}
