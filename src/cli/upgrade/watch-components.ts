/** Explains the static pods of the control plane while kubeadm replaces them: it only waits for them. */
import { AgentClient } from "../../client/agent-client.ts";
import { followNode } from "../../client/follow-node.ts";
import { componentLine } from "../control-plane/component-evidence.ts";
import type { UpPaths } from "../up/paths.ts";
import { componentFailure } from "./component-failure.ts";

/** What is known of the components. */
interface ComponentWatch {
  /** Ends the watch; resolves with the last failure that each has had. */
  readonly end: () => Promise<readonly string[]>;
}

/** Prints what a component fails with, from now on. What is put back has none any more, and so the watch remembers it. */
export function watchComponents(
  { agentSocket }: UpPaths,
  now: () => number,
  print: (text: string) => void,
): ComponentWatch {
  const leave = new AbortController();
  const began = now();
  const known = new Map<string, string>();
  const printed = new Map<string, string>();
  const following = followNode(
    new AgentClient(agentSocket),
    ({ pods }) => {
      for (const pod of pods.values()) {
        const failure = componentFailure(pod, began);
        if (failure === undefined) continue;
        const { component, problem } = failure;
        const wrote = componentLine(component);
        const text = wrote === undefined ? problem : `${problem}; it wrote last: ${wrote}`;
        known.set(component, text);
        // Components end again and again while they wait for the API server, with other words each time.
        if (printed.get(component) === problem) continue;
        printed.set(component, problem);
        print(`${component}: ${text}`);
      }
    },
    leave.signal,
  );
  return {
    end: async () => {
      leave.abort();
      await following;
      return [...known].map(([component, text]) => `${component}: ${text}`);
    },
  };
}
