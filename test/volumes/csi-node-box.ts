/** A node of a real API server with a CSI driver beside it, and the controller that is in these tests. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CSINode, PersistentVolumeSpec, PodStatus } from "../../src/api/generated/types.ts";
import { attachmentName } from "../../src/subsystems/csi/csi-paths.ts";
import type { Box, BoxProcess } from "../box/box.ts";
import { apiServerObstacle } from "../kube/apiserver.ts";
import { type ClusterNode, NODE, PODS, podOf, withNode } from "../kube/cluster-node.ts";
import { podTraces } from "../support/agent.ts";
import { loopObstacle } from "../support/loop-device.ts";
import { boundClaim } from "./bound-claim.ts";
import { insideOf, staying } from "./world.ts";

/** Why tests with it cannot run here. */
export const csiObstacle = (): string | undefined => apiServerObstacle() ?? loopObstacle();
/** The driver of these tests. */
export const DRIVER = "csi.nodelet.test";
const REGISTRY = "/var/lib/kubelet/plugins_registry";
const PROGRAM = join(import.meta.dirname, "csi-driver-main.ts");
/** Path of the API of storage. */
export const STORAGE = "/apis/storage.k8s.io/v1";
const STATUS_PATCH = "application/merge-patch+json";

/** See the head of this file. */
export class CsiNodeBox {
  readonly node: ClusterNode;
  readonly box: Box;
  readonly folder: string;
  #driver: BoxProcess | undefined;

  constructor(node: ClusterNode, box: Box) {
    this.node = node;
    this.box = box;
    this.folder = join(box.folder, "csi");
    mkdirSync(this.folder);
  }

  startDriver(): void {
    const argv = [process.execPath, PROGRAM, DRIVER, this.folder, REGISTRY];
    this.#driver = this.box.spawnLogged("driver", argv);
  }

  /** Starts another driver, which says that it has that name. */
  startImpostor(name: string): void {
    const folder = join(this.box.folder, "impostor");
    const argv = [process.execPath, PROGRAM, "impostor", folder, REGISTRY, name];
    this.box.spawnLogged("impostor", argv);
  }

  /** `kill -9`; its sockets go as with the pod of a driver. */
  async killDriver(): Promise<void> {
    await this.#driver?.kill("SIGKILL");
    await this.#driver?.exited;
    await this.box.run(["rm", "-f", `${REGISTRY}/${DRIVER}-reg.sock`]);
  }

  /** How calls are to fail from now on. */
  setFaults(faults: object): void {
    writeFileSync(join(this.folder, "faults"), JSON.stringify(faults));
  }

  /** Calls of a volume in their order, repetitions left out. */
  calls(volume: string): string {
    const file = join(this.folder, "calls");
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    const own = lines
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { call: string; volume: string })
      .filter((each) => each.volume === volume && each.call !== "stats")
      .map(({ call }) => call);
    return own.filter((each, at) => each !== own[at - 1]).join(" ");
  }

  forgetCalls(): void {
    rmSync(join(this.folder, "calls"), { force: true });
  }

  get violations(): string {
    const file = join(this.folder, "violations");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  csiNode(): Promise<CSINode | undefined> {
    return this.node.get<CSINode>(`${STORAGE}/csinodes/${NODE}`);
  }

  untilRegistered(): Promise<number> {
    return this.node.agent.until("the driver is in CSINode", async () =>
      ((await this.csiNode())?.spec.drivers ?? []).some(({ name }) => name === DRIVER),
    );
  }

  /** A volume of the driver with a claim of its name. */
  claimed(name: string, spec: Partial<PersistentVolumeSpec> = {}): Promise<void> {
    const csi = { driver: DRIVER, volumeHandle: name };
    return boundClaim(this.node, name, { storageClassName: "csi", csi, ...spec });
  }

  async inUse(): Promise<readonly string[]> {
    return (await this.node.node())?.status?.volumesInUse ?? [];
  }

  /** What the controller does: the object of the attachment, and the node's status. */
  async attach(handle: string): Promise<void> {
    const { server } = this.node;
    const name = attachmentName(handle, DRIVER, NODE);
    const spec = { attacher: DRIVER, nodeName: NODE, source: { persistentVolumeName: handle } };
    await server.must("POST", `${STORAGE}/volumeattachments`, { metadata: { name }, spec });
    await this.#patch(`${STORAGE}/volumeattachments/${name}/status`, { attached: true });
    const volumesAttached = [{ name: keyOf(handle), devicePath: "" }];
    await this.#patch(`/api/v1/nodes/${NODE}/status`, { volumesAttached });
  }

  async #patch(path: string, status: object): Promise<void> {
    const body = { status };
    const reply = await this.node.server.request({
      method: "PATCH",
      path,
      body,
      contentType: STATUS_PATCH,
    });
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
  }

  inside(pod: string): (script: string) => Promise<string> {
    const status = async (): Promise<PodStatus | undefined> => (await this.node.pod(pod))?.status;
    return insideOf(this.box, status);
  }

  async start(name: string, claims: readonly string[], more: object = {}): Promise<void> {
    const volumeMounts = claims.map((claim) => ({ name: claim, mountPath: `/${claim}` }));
    await this.node.server.must(
      "POST",
      PODS,
      podOf(name, {
        containers: [staying("main", { volumeMounts })],
        volumes: claims.map((claim) => ({
          name: claim,
          persistentVolumeClaim: { claimName: claim },
        })),
        ...more,
      }),
    );
  }

  remove(name: string): Promise<string> {
    return this.node.server.kubectl(["delete", "pod", name, "--wait=false"]);
  }

  /** Everything of volumes that must be as before when the pods are gone. */
  async traces(): Promise<unknown> {
    const folders = `find /var/lib/kubelet/plugins/kubernetes.io/csi/${DRIVER} -mindepth 1 2>/dev/null || true`;
    const mounts = "grep /var/lib/kubelet/plugins /proc/self/mounts || true";
    return {
      ...(await podTraces(this.box)),
      volumes: await this.box.run(["sh", "-c", `${folders}; ${mounts}`]),
    };
  }

  async untilGone(before: unknown): Promise<void> {
    let now: unknown;
    const over = this.node.agent.until("nothing is left", async () => {
      now = await this.traces();
      return JSON.stringify(now) === JSON.stringify(before);
    });
    await over.catch(() => {});
    assert.deepEqual(now, before);
    assert.equal(this.violations, "");
  }
}

/** Name of a volume in the node's status. */
export const keyOf = (handle: string) => `kubernetes.io/csi/${DRIVER}^${handle}`;

/** Runs with a node on which the driver has registered. */
export function withDriver(use: (csi: CsiNodeBox) => Promise<void>): Promise<void> {
  return withNode(async (node, box) => {
    await node.untilNodeReady();
    const csi = new CsiNodeBox(node, box);
    csi.startDriver();
    await csi.untilRegistered();
    await use(csi);
  });
}
