/**
 * Volumes of CSI drivers. Owns: registered drivers, what the API knows of them on this node (CSINode, annotation and labels
 * of the node), volumes that are staged and published. In: drivers that register, volumes of pods. Out: paths and devices
 * for containers, names of volumes in use for the node's status. Invariants: on one volume one thing is done at a time; it is
 * taken from all pods before it is unstaged, and unstaged before the node's status lets it be detached; what a driver may
 * have done counts as done until it has been undone.
 *
 * Example:
 *     await csi.start();
 *     const { hostPath } = await csi.volumes.publish({ pod, volume: "data", source }, signal);
 *     await csi.volumes.unpublish(pod.metadata.uid, signal);
 */
import type { Node } from "../../api/generated/types.ts";
import type { ObjectEvents, PodEvents } from "../../api/ports/events.ts";
import type { PluginHandler } from "../../api/ports/plugin-handler.ts";
import type { Reading } from "../../kit/cell.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { MetricsRegistry } from "../../kit/metrics.ts";
import type { TaskScope } from "../../kit/scope.ts";
import type { Grpc } from "../../outside/grpc/grpc.ts";
import type { PodFiles, VolumeFiles } from "../../outside/host/host.ts";
import type { KubeClient, ObjectSource, ServiceAccountTokens } from "../../outside/kube/kube.ts";
import { ClusterFacts } from "./cluster-facts.ts";
import { CsiPaths } from "./csi-paths.ts";
import { DriverRuleBook } from "./driver-rules.ts";
import { NodeRecords } from "./drivers/node-records.ts";
import { refreshAllocatable } from "./drivers/refresh-allocatable.ts";
import { RegisteredDrivers } from "./drivers/registered-drivers.ts";
import { NodeVolumes } from "./node-volumes.ts";
import { type CsiReport, reportCsi } from "./report.ts";
import { DriverClient } from "./wire/driver-client.ts";

export type { CsiReport } from "./report.ts";

interface CsiOptions {
  /** Root folder of the agent. */
  readonly root: string;
  readonly nodeName: string;
  /** Whether a controller attaches volumes (`enableControllerAttachDetach`). */
  readonly controllerAttaches: boolean;
  /** Whether the kernel enforces SELinux. */
  readonly hasSelinux: boolean;
}

interface CsiDeps {
  /** Without it no driver can be called. */
  readonly grpc: Grpc | undefined;
  readonly files: PodFiles;
  readonly volumes: VolumeFiles;
  readonly clock: Clock;
  readonly log: Log;
  readonly scope: TaskScope;
  readonly metrics: MetricsRegistry;
  readonly events: PodEvents & ObjectEvents;
  /** The node's own object; undefined as long as the API has none. */
  readonly node: Reading<Node | undefined>;
  /** Absent where there is no API server. */
  readonly client?: KubeClient;
  readonly objects?: ObjectSource;
  readonly tokens?: ServiceAccountTokens;
}

/** CSI on this node. */
export class Csi {
  readonly #deps: CsiDeps;
  readonly #records: NodeRecords | undefined;
  readonly #drivers: RegisteredDrivers;
  readonly #rules: DriverRuleBook;
  readonly #volumes: NodeVolumes;

  constructor(options: CsiOptions, deps: CsiDeps) {
    const { client, clock, log, scope, node, metrics, objects, tokens } = deps;
    const { nodeName, root, controllerAttaches, hasSelinux } = options;
    this.#deps = deps;
    this.#records = client && new NodeRecords({ client, clock, log, node });
    const grpc = deps.grpc ?? NO_GRPC;
    this.#drivers = new RegisteredDrivers({
      clock,
      log,
      scope,
      calls: new DriverClient({ grpc, clock, metrics }),
      ...(this.#records ? { records: this.#records } : {}),
    });
    this.#rules = new DriverRuleBook(objects);
    this.#volumes = new NodeVolumes({
      ...deps,
      client,
      drivers: this.#drivers,
      rules: this.#rules,
      cluster: new ClusterFacts({ client, tokens, node, nodeName }),
      paths: new CsiPaths(root),
      signal: scope.signal,
      controllerAttaches,
      hasSelinux,
    });
  }

  /** Takes over what the agent before this one left. */
  async start(): Promise<void> {
    const { scope, node } = this.#deps;
    const records = this.#records;
    if (records)
      scope.spawn("object of drivers", "restart", (signal) => records.initialize(signal));
    scope.spawn("limits of drivers", "restart", (signal) =>
      refreshAllocatable({ ...this.#deps, drivers: this.#drivers, rules: this.#rules }, signal),
    );
    let before = attachedText(node.get());
    const stop = node.subscribe((known) => {
      const now = attachedText(known);
      if (now === before) return;
      before = now;
      this.#volumes.wake();
    });
    scope.defer("attached volumes", stop);
    await this.#volumes.start();
  }

  /** Handles drivers in the registry folder. */
  get plugins(): PluginHandler {
    return this.#drivers;
  }

  get volumes(): NodeVolumes {
    return this.#volumes;
  }

  /** Drivers and volumes as they are now. */
  report(): CsiReport {
    return reportCsi(this.#drivers.list(), this.#volumes.list(), this.#deps.clock.monotonic());
  }

  /** Volumes for the node's status, whose attachment is in use. */
  volumesInUse(): readonly string[] {
    const { status } = this.#deps.node.get() ?? {};
    const attached = (status?.volumesAttached ?? []).map(({ name }) => name);
    return this.#volumes.inUse(new Set([...(status?.volumesInUse ?? []), ...attached]));
  }
}

/** What of the node's status says which volumes may be used. */
function attachedText(node: Node | undefined): string {
  const { volumesInUse = [], volumesAttached = [] } = node?.status ?? {};
  return JSON.stringify([volumesInUse, volumesAttached.map(({ name }) => name)]);
}

const NO_GRPC: Grpc = {
  connect: () => {
    throw new Error("gRPC is not available here");
  },
  listen: async () => {
    throw new Error("gRPC is not available here");
  },
};
