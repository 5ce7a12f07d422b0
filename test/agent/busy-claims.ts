/** What the pods that come and go use of drivers: half of them a volume of a CSI driver, half a claimed device. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import type { Pod } from "../../src/api/generated/types.ts";
import type { Box } from "../box/box.ts";
import { CDI_FOLDER } from "../claims/cdi.ts";
import { allocatedStatus, CLAIMS, claimObject } from "../claims/claim-objects.ts";
import type { ClusterNode } from "../kube/cluster-node.ts";
import { CsiNodeBox, STORAGE, DRIVER as VOLUME_DRIVER } from "../volumes/csi-node-box.ts";

const DEVICE_DRIVER = "nic.example.com";
const REGISTRY = "/var/lib/kubelet/plugins_registry";
const FOLDER = `/var/lib/kubelet/plugins/${DEVICE_DRIVER}`;
const MAIN = new URL("../claims/driver-main.ts", import.meta.url).pathname;

/** Both drivers, and objects of the names of the pods. */
export class BusyClaims {
  readonly #node: ClusterNode;
  readonly #csi: CsiNodeBox;
  readonly #names: readonly string[];

  private constructor(node: ClusterNode, csi: CsiNodeBox, names: readonly string[]) {
    this.#node = node;
    this.#csi = csi;
    this.#names = names;
  }

  /** Starts the drivers and makes the objects; the pods have these names. */
  static async start(node: ClusterNode, box: Box, names: readonly string[]): Promise<BusyClaims> {
    const claims = new BusyClaims(node, new CsiNodeBox(node, box), names);
    for (const folder of [REGISTRY, FOLDER, CDI_FOLDER])
      mkdirSync(box.path(folder), { recursive: true });
    box.spawnLogged("nic", [process.execPath, MAIN, DEVICE_DRIVER, REGISTRY, FOLDER]);
    claims.#csi.startDriver();
    await claims.#csi.untilRegistered();
    const { server } = node;
    const driver = { metadata: { name: VOLUME_DRIVER }, spec: { attachRequired: false } };
    await server.must("POST", `${STORAGE}/csidrivers`, driver);
    for (const name of names)
      if (claims.#hasVolume(name)) await claims.#csi.claimed(name);
      else await server.must("POST", CLAIMS, claimObject(name));
    return claims;
  }

  /** The pod with what it uses. */
  of(pod: Pod): Pod {
    const { metadata, spec } = pod;
    const { name = "" } = metadata ?? {};
    const [main] = spec?.containers ?? [];
    assert.ok(spec && main);
    if (this.#hasVolume(name)) {
      const volumes = [{ name: "data", persistentVolumeClaim: { claimName: name } }];
      const volumeMounts = [{ name: "data", mountPath: "/data" }];
      return { ...pod, spec: { ...spec, volumes, containers: [{ ...main, volumeMounts }] } };
    }
    const resourceClaims = [{ name: "mine", resourceClaimName: name }];
    const resources = { claims: [{ name: "mine" }] };
    return { ...pod, spec: { ...spec, resourceClaims, containers: [{ ...main, resources }] } };
  }

  /** Does a scheduler's part for a pod that was made: its claim is allocated and reserved for it alone. */
  async reserve(pod: Pod): Promise<void> {
    const { name = "" } = pod.metadata ?? {};
    if (!this.#names.includes(name) || this.#hasVolume(name)) return;
    const { server } = this.#node;
    const claim = (await server.request({ method: "GET", path: `${CLAIMS}/${name}` })).body;
    const status = allocatedStatus({ driver: DEVICE_DRIVER, device: name }, [pod]);
    const body = { ...(claim as object), status };
    await server.request({ method: "PUT", path: `${CLAIMS}/${name}/status`, body });
  }

  /** What the volumes' driver was asked against the rules of CSI; nothing when all is well. */
  get violations(): string {
    return this.#csi.violations;
  }

  #hasVolume(name: string): boolean {
    return this.#names.indexOf(name) % 2 === 0;
  }
}
