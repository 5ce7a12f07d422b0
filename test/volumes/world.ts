// A box with an agent, and access to its containers.
import type { Container, PodSpec, PodStatus } from "../../src/api/generated/types.ts";
import { type Box, type BoxOptions, withBox } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { type AgentOptions, BoxedAgent, manifest, STAY } from "../support/agent.ts";

/** A node with its agent. */
export interface VolumeNode {
  readonly box: Box;
  readonly agent: BoxedAgent;
  /** Runs a shell script in a container of the one pod; gives what it printed. */
  inside(script: string, container?: string): Promise<string>;
  /** Starts a pod and waits until it is Ready. */
  run(spec: Partial<PodSpec>): Promise<void>;
}

/** Makes a node, hands it to `use`, removes it. */
export function withNode(
  use: (node: VolumeNode) => Promise<void>,
  options: { readonly box?: BoxOptions; readonly agent?: AgentOptions } = {},
): Promise<void> {
  return withBox(options.box ?? {}, async (box) => {
    const agent = await BoxedAgent.start(box, options.agent ?? {});
    const inside = insideOf(box, async () => agent.status());
    const run = async (spec: Partial<PodSpec>): Promise<void> => {
      agent.apply("pod.yaml", manifest("pod", spec));
      await agent.untilReady();
    };
    await use({ box, agent, inside, run });
  });
}

/** The last line of every script; `ctr` loses the output of one that ends at once now and then. */
const END = "<end of output>";
const TRIES = 3;

/** Runs shell scripts in containers of a pod by its status; gives what they print. */
export function insideOf(
  box: Box,
  status: () => Promise<PodStatus | undefined>,
): (script: string, container?: string) => Promise<string> {
  let execs = 0;
  return async (script, container = "main") => {
    const { containerStatuses = [] } = (await status()) ?? {};
    const found = containerStatuses.find(({ name }) => name === container)?.containerID;
    const id = found?.replace("containerd://", "") ?? "";
    for (let tries = 1; tries <= TRIES; tries += 1) {
      execs += 1;
      const exec = ["tasks", "exec", "--exec-id", `test-${process.pid}-${execs}`];
      const whole = `trap 'echo "${END}"' EXIT\n${script}`;
      const output = await box.ctr(...exec, id, "sh", "-c", whole);
      const at = output.lastIndexOf(END);
      if (at >= 0) return output.slice(0, at);
    }
    throw new Error(`no output of ${script} in ${TRIES} tries`);
  };
}

/** A container that stays. */
export function staying(name = "main", more: Partial<Container> = {}): Container {
  return { name, image: TEST_IMAGE, command: [...STAY], ...more };
}
