// A box with an agent, and looking into its containers.
import type { Container, PodSpec } from "../../src/api/generated/types.ts";
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
    const inside = async (script: string, container = "main"): Promise<string> => {
      const found = agent
        .status()
        ?.containerStatuses?.find(({ name }) => name === container)
        ?.containerID?.replace("containerd://", "");
      const exec = ["tasks", "exec", "--exec-id", `t${Math.random().toString(36).slice(2)}`];
      return await box.ctr(...exec, found ?? "", "sh", "-c", script);
    };
    const run = async (spec: Partial<PodSpec>): Promise<void> => {
      agent.apply("pod.yaml", manifest("pod", spec));
      await agent.untilReady();
    };
    await use({ box, agent, inside, run });
  });
}

/** A container that stays. */
export function staying(name = "main", more: Partial<Container> = {}): Container {
  return { name, image: TEST_IMAGE, command: [...STAY], ...more };
}
