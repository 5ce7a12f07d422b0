/** What pods leave behind on a node after agent and runtime were killed among them. */
import { createHash } from "node:crypto";
import type { Box } from "../box/box.ts";
import { NETWORK_NAME } from "../box/containerd.ts";
import { differences, machinePicture } from "../support/picture.ts";

/** Files that record the past are no leftovers, nor is what the runtime keeps for itself over its own death. */
const MEMORIES = new RegExp(
  `^file (${[
    "/var/lib/kubelet/nodelet/(journal|events)/",
    "/var/lib/kubelet-api/",
    "/run/(tmp/|nodelet-agents)",
    "/var/lib/cni/networks/box/last_reserved_ip",
    "/run/containerd/io.containerd.runtime.v2.task/",
    "/var/lib/containerd/",
  ].join("|")})`,
);

/**
 * What containerd forgets when it is killed while it makes a sandbox, or when the agent is and the call is given up,
 * is its own fault, and no other kubelet finds it either: a namespace, a shim with what runc knows of its container,
 * rules of a network.
 */
const FORGOTTEN = [
  { one: /^new: file \/run\/netns\/cni-/, all: /^new: (file|mount) \/run\/netns\/cni-/ },
  {
    one: /^new: process containerd-shim/,
    all: /^new: (process containerd-shim|file \/run\/containerd\/(s|runc\/k8s\.io)\/)/,
  },
  { one: /^new: rule nat -N CNI-/, all: /^new: rule nat .*CNI-/ },
];

/** Everything in the box that should be the same again once all pods are gone. */
export async function pictureOf(box: Box): Promise<readonly string[]> {
  return (await machinePicture(box)).filter((line) => !MEMORIES.test(line));
}

/** Changes since then for which the agent is to blame, when the runtime was killed so many times. */
export async function leftoversOf(
  box: Box,
  before: readonly string[],
  runtimeDeaths: number,
): Promise<readonly string[]> {
  const changes = differences(before, await pictureOf(box));
  return beyond(runtimeDeaths + callsGivenUp(box), withoutCutOff(box, changes));
}

/** Starts that containerd gave up because the agent was killed meanwhile. */
function callsGivenUp(box: Box): number {
  const calls = /msg="(RunPodSandbox|StartContainer) for .* failed.*context canceled/g;
  return [...box.logs().matchAll(calls)].length;
}

/** Changes without what the runtime forgot, as long as that is at most so many of a kind. */
function beyond(most: number, changes: readonly string[]): readonly string[] {
  return FORGOTTEN.reduce<readonly string[]>((left, { one, all }) => {
    const isTooMuch = left.filter((line) => one.test(line)).length > most;
    return isTooMuch ? left : left.filter((line) => most === 0 || !all.test(line));
  }, changes);
}

/**
 * Changes without the rules of sandboxes whose network plugin containerd has killed, which it does when the agent is
 * killed meanwhile. The plugin's next try finds no interface and stops.
 */
function withoutCutOff(box: Box, changes: readonly string[]): readonly string[] {
  const chains = [...box.logs().matchAll(CUT_OFF)].map(([, sandbox = ""]) => chainOf(sandbox));
  return changes.filter((line) => !chains.some((chain) => line.includes(chain)));
}

const CUT_OFF =
  /StopPodSandbox for \\"([0-9a-f]{64})\\" failed".*\\"bridge\\" failed \(delete\).*signal: killed/g;

/** The chain of the bridge plugin for a sandbox (containernetworking/plugins, pkg/utils FormatChainName). */
function chainOf(sandbox: string): string {
  const hash = createHash("sha512").update(`${NETWORK_NAME}${sandbox}`).digest("hex");
  return `CNI-${hash.slice(0, 24)}`;
}
