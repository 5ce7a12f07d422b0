// A story: one way in which a pod can fail to run, be delayed or be ended, and how it is played.
import type { Container, Pod, PodSpec } from "../../../src/api/generated/types.ts";
import type { FakeRuntimeOptions } from "../fake-runtime-objects.ts";
import { commandOf, type Program } from "../programs.ts";
import type { WorldOptions } from "../world.ts";
import type { StoryNode } from "./story-node.ts";

export const IMAGE = "nodelet.test/nodelet-test:1";
/** The pod of every story, but where a story needs another name. */
export const POD = "web";

/** What happens in a story. */
export type Play = (node: StoryNode) => Promise<void>;

export interface Story {
  /** What is the matter, as a heading. */
  readonly name: string;
  /** The pod, unless the story makes its own. */
  readonly pod?: Pod;
  /** What happens; without it the pod is created and half a minute passes. */
  readonly play?: Play;
  readonly runtime?: Partial<FakeRuntimeOptions>;
  readonly options?: Omit<WorldOptions, "cluster">;
}

export const SLEEP: Program = { kind: "sleep" };
export const exits = (code: number, afterMs = 1_000): Program => ({ kind: "exit", code, afterMs });

/** A container that behaves like this. */
export function container(program: Program = SLEEP, more: Partial<Container> = {}): Container {
  return { name: "main", image: IMAGE, command: [...commandOf(program)], ...more };
}

/** What makes a greedy program greedy, once it is there. */
export const GREEDY_FILE = "/tmp/greedy";
const UNTIL_GREEDY = `[ ! -e ${GREEDY_FILE} ] || exec tail /dev/zero`;

/** Runs like `SLEEP` until `GREEDY_FILE` is there, then takes all the memory that it can get. */
export const GREEDY: Partial<Container> = {
  command: [
    "/bin/sh",
    "-c",
    `trap 'exit 143' TERM; while true; do ${UNTIL_GREEDY}; sleep 0.05; done`,
  ],
};

/** A pod of the node with changes; one container that runs unless it says otherwise. */
export function pod(spec: Partial<PodSpec> = {}, metadata: Pod["metadata"] = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: POD, namespace: "default", ...metadata },
    spec: {
      nodeName: "sim",
      terminationGracePeriodSeconds: 5,
      dnsPolicy: "Default",
      containers: [container()],
      ...spec,
    },
  } as Pod;
}
