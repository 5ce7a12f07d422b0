import type { DecisionInputs } from "../../api/decisions.ts";

type NodeKind =
  | "startAgent"
  | "stopAgent"
  | "stopNode"
  | "agentExited"
  | "startShutdown"
  | "shutDownPod"
  | "endShutdownGroup"
  | "endShutdown";

/** Decisions about the node and the agent: rule, inputs and the sentence that describes them. */
export const NODE_VECTORS: {
  readonly [K in NodeKind]: readonly (readonly [string, DecisionInputs[K], string])[];
} = {
  startAgent: [
    ["started", { version: "0.1.0" }, "Agent started, version 0.1.0."],
    ["started", {}, "Agent started."],
  ],
  stopAgent: [
    [
      "stopped",
      { reason: "received SIGTERM" },
      "Agent stopped, containers kept running: received SIGTERM.",
    ],
  ],
  startShutdown: [
    [
      "the machine shuts down",
      { pods: 3, totalSeconds: 30, groups: ["0: 2 in 20s", "2000000000: 1 in 10s"] },
      "The machine shuts down: 3 pods are ended within 30 seconds, by priority (0: 2 in 20s, 2000000000: 1 in 10s).",
    ],
  ],
  shutDownPod: [
    [
      "priority group",
      { graceSeconds: 18, priority: 5, groupPriority: 0, periodSeconds: 20 },
      "The node shuts down: the pod (priority 5) has 18 seconds to finish, of the 20 seconds for priorities from 0.",
    ],
  ],
  endShutdownGroup: [
    [
      "its time is over",
      {
        priority: 0,
        periodSeconds: 20,
        tookMs: 20_000,
        ended: ["default/a after 1.2s", "default/b after 18.3s, main by force"],
        cutOff: ["default/c"],
      },
      "Pods of priority 0 and above took 20 s: default/a after 1.2s; default/b after 18.3s, main by force. Not ended in time: default/c.",
    ],
    [
      "its time is over",
      { priority: 0, periodSeconds: 1, tookMs: 1_000, ended: [], cutOff: ["default/c"] },
      "Pods of priority 0 and above took 1 s: none has ended. Not ended in time: default/c.",
    ],
  ],
  endShutdown: [
    [
      "all have ended",
      { tookMs: 12_300, ended: 1, cutOff: [] },
      "1 pod ended for the shutdown in 12 s, none was cut off.",
    ],
    [
      "time is over",
      { tookMs: 30_000, ended: 2, cutOff: ["default/c"] },
      "2 pods ended for the shutdown in 30 s; the machine does not wait for 1 pod more: default/c.",
    ],
    [
      "cancelled",
      { tookMs: 5 },
      "The shutdown of the machine was cancelled; pods that had been ended stay so.",
    ],
    [
      "not finished",
      { startedAtMs: 0 },
      "The shutdown that began at 1970-01-01T00:00:00Z was not finished: the machine went down before all pods had ended, or the agent was killed.",
    ],
  ],
  stopNode: [
    [
      "nodelet stop",
      { pods: 1, left: [] },
      "nodelet stop: stopped 1 pod, agent and runtime, and kept their state.",
    ],
    [
      "nodelet stop",
      { pods: 2, left: ["pod default/a", "sandbox b"] },
      "nodelet stop: stopped 2 pods and the agent, but not pod default/a, sandbox b.",
    ],
  ],
  agentExited: [
    [
      "noted by its supervisor",
      { result: "exit-code", code: "exited", status: "1" },
      "The agent ended without being stopped: it exited with code 1; the end of its log says why.",
    ],
    [
      "noted by its supervisor",
      { result: "exit-code", code: "exited", status: "2" },
      "The agent ended without being stopped: it exited with code 2, as its configuration or flags cannot be used; its log says which.",
    ],
    [
      "noted by its supervisor",
      { result: "signal", code: "killed", status: "KILL" },
      "The agent ended without being stopped: it was killed by SIGKILL.",
    ],
    [
      "noted by its supervisor",
      { result: "signal", code: "killed", status: "ABRT" },
      "The agent ended without being stopped: it was aborted (SIGABRT), as when its heap is full; the end of its log says why.",
    ],
    [
      "noted by its supervisor",
      { result: "watchdog", code: "killed", status: "ABRT" },
      "The agent ended without being stopped: the watchdog killed it, as it had not reported in time that it was healthy; its log says what was wrong.",
    ],
    [
      "noted by its supervisor",
      { result: "oom-kill", code: "killed", status: "KILL" },
      "The agent ended without being stopped: the kernel killed it, or a program that it ran, because memory was short.",
    ],
    [
      "noted by its supervisor",
      { result: "protocol", code: "exited", status: "0" },
      "The agent ended without being stopped: protocol 0.",
    ],
  ],
};
