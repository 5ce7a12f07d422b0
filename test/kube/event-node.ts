// A node of a cluster for the stories of events, inside a box: `node event-node.ts FILE`, with what it needs
// to reach the API server in the file.
import { readFileSync } from "node:fs";
import { Cell } from "../../src/kit/cell.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { createSystemRandom } from "../../src/kit/random.ts";
import {
  connectOutside,
  createLog,
  DEFAULT_CONFIG,
  type EventPolicy,
  startAgent,
} from "../../src/library.ts";
import { connectKube } from "../../src/outside/kube/connect-kube.ts";
import type { Identity } from "./pki.ts";

/** Options of the program. */
export interface EventNode {
  readonly nodeName: string;
  readonly server: string;
  readonly authoritiesPem: string;
  readonly identity: Identity;
  readonly events: EventPolicy;
}

const { nodeName, server, authoritiesPem, identity, events } = JSON.parse(
  readFileSync(process.argv[2] ?? "", "utf8"),
) as EventNode;
const endpoint = "unix:///run/containerd/containerd.sock";
const log = createLog({ format: "text", verbosity: 3, fd: 2 });
const outside = connectOutside(
  { runtimeEndpoint: endpoint, imageEndpoint: endpoint, runtimeTimeoutMs: 120_000 },
  log,
);
const kube = connectKube({
  clock: createSystemClock(),
  random: createSystemRandom(),
  log,
  userAgent: "nodelet-test",
});
const transport = kube.connect({
  server,
  authoritiesPem,
  credentials: { identity: new Cell(identity) },
});
const leave = new AbortController();
process.once("SIGTERM", () => leave.abort(new Error("SIGTERM")));
const config = {
  ...DEFAULT_CONFIG,
  enableServer: false,
  failCgroupV1: false,
  clusterDNS: ["192.0.2.53"],
};
const agent = await startAgent(
  { config, nodeName, rootFolder: "/var/lib/kubelet", events },
  outside,
  { cluster: { transport } },
);
process.stderr.write("agent is running\n");
await agent.untilLeaving(leave.signal);
await agent[Symbol.asyncDispose]();
transport.close();
outside.close();
