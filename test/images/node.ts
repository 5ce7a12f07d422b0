/** The images module on real containerd in a box, whose containerd has a small disk of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Decision } from "../../src/api/decisions.ts";
import type { EventText } from "../../src/api/event-text.ts";
import type { IdentifiedPod } from "../../src/api/pod-identity.ts";
import { DEFAULT_CONFIG } from "../../src/config/fields/defaults.ts";
import type { KubeletConfig } from "../../src/config/kubelet-config.ts";
import { createSystemClock } from "../../src/kit/clock.ts";
import { silentLog } from "../../src/kit/log.ts";
import { MetricsRegistry } from "../../src/kit/metrics.ts";
import { StateFiles } from "../../src/kit/state/state-files.ts";
import { type ConnectedRuntime, connectCri } from "../../src/outside/cri/connect-cri.ts";
import { NamespaceMode } from "../../src/outside/cri/generated/api.ts";
import { connectHost } from "../../src/outside/host/connect-host.ts";
import {
  type ImagePolicy,
  Images,
  imageSettings,
  type PullSecretPort,
  podAccountsFrom,
} from "../../src/subsystems/images/images.ts";
import { type Box, startBox } from "../box/box.ts";
import { standardImages, TEST_IMAGE, testImage } from "../box/images.ts";
import { factsOf } from "../support/pod-facts.ts";
import { podOf } from "./world.ts";

const MIB = 1024 * 1024;
/** The image that every box has is nobody's business here. */
const KEPT = { names: [TEST_IMAGE] };
const ROOT = "/var/lib/kubelet";
/** The node's network: a sandbox without one of its own is made much faster. */
const NAMESPACES = {
  network: NamespaceMode.NODE,
  pid: NamespaceMode.CONTAINER,
  ipc: NamespaceMode.POD,
};
/** Where the registry of the box listens. */
export const REGISTRY = "127.0.0.1:5000";

export interface NodeOptions {
  /** Size of containerd's disk; without, it shares the box's. */
  readonly diskMib?: number;
  readonly config?: Partial<KubeletConfig>;
  readonly policy?: ImagePolicy;
  readonly pullSecrets?: PullSecretPort;
}

/** A box with the module in this process. */
export class ImageNode implements AsyncDisposable {
  readonly box: Box;
  readonly cri: ConnectedRuntime;
  readonly events: (EventText & { readonly pod: string })[] = [];
  readonly nodeEvents: EventText[] = [];
  readonly decisions: { readonly name: string; readonly decision: Decision }[] = [];
  readonly progress: string[] = [];
  readonly #leave = new AbortController();
  readonly signal = this.#leave.signal;
  pods: readonly IdentifiedPod[] = [];
  metrics = new MetricsRegistry();
  images!: Images;
  #pods = 0;

  private constructor(box: Box) {
    this.box = box;
    this.cri = connectCri({ runtimeEndpoint: `unix://${box.criSocket}`, timeoutMs: 60_000 });
  }

  static async start(options: NodeOptions = {}): Promise<ImageNode> {
    const box = await startBox({});
    try {
      if (options.diskMib !== undefined) await giveDisk(box, options.diskMib);
      const node = new ImageNode(box);
      await node.open(options);
      return node;
    } catch (error) {
      await box.dispose();
      throw error;
    }
  }

  /** Opens the module, again for other settings or another life. */
  async open({ config, policy, pullSecrets }: NodeOptions = {}): Promise<void> {
    const clock = createSystemClock();
    const host = connectHost({ clock, log: silentLog });
    this.metrics = new MetricsRegistry();
    this.images = await Images.open(
      {
        ...imageSettings({ ...DEFAULT_CONFIG, ...config }, { keep: KEPT, ...policy }),
        rootFolder: this.box.path(ROOT),
        home: "/nowhere",
      },
      {
        cri: this.cri,
        host: { files: host.files, diskUsage: (path) => host.diskUsage(this.box.path(path)) },
        net: { tcpConnect: async () => ({ kind: "connected" }) },
        state: new StateFiles({ files: host.files, clock, log: silentLog }),
        clock,
        log: silentLog,
        metrics: this.metrics,
        signal: this.signal,
        describeRuntime: (signal) => this.cri.selfDescription(signal),
        pods: factsOf(() => this.pods),
        accounts: podAccountsFrom(undefined, undefined),
        pullSecrets: pullSecrets ?? (async () => ({ secrets: [], missing: [] })),
        events: {
          ofPod: (pod, event) => this.events.push({ ...event, pod: pod.metadata.name }),
          ofNode: (event) => this.nodeEvents.push(event),
        },
        decisions: {
          record: ({ name }, decision) => this.decisions.push({ name, decision }),
        },
        news: {
          publish: (news) => {
            if (news.kind === "progress" && news.message !== undefined)
              this.progress.push(news.message);
          },
        },
      },
    );
  }

  /** Imports an image with a layer of its own, and has the module list. */
  async add(name: string, mib: number): Promise<void> {
    await this.box.importImages([testImage({ names: [name], paddingBytes: mib * MIB })]);
    await this.images.upkeep(false, this.signal);
  }

  /** Names of all images, without those that every box has. */
  async names(): Promise<readonly string[]> {
    const standard = new Set(standardImages().flatMap(({ names }) => names));
    const listed = await this.cri.images.listImages(this.signal);
    return listed
      .flatMap(({ repoTags }) => repoTags)
      .filter((name) => !standard.has(name))
      .sort();
  }

  /** Whole percent of containerd's disk that are used, as the module sees it. */
  async usage(): Promise<number> {
    const { disk } = await this.images.report({ kind: "periodic" }, this.signal);
    return disk?.usagePercent ?? Number.NaN;
  }

  /** Asks for an image as a pod does; the answer's hold is let go. */
  async ensure(image: string, policy = "IfNotPresent", pod: IdentifiedPod = podOf(image)) {
    const answer = await this.images.ensure({ pod, container: "c", image, policy }, this.signal);
    if (answer.kind === "present") answer.release();
    return answer;
  }

  /** Starts a container as the agent does; resolves with its id. Throws what the runtime says. */
  async start(image: string, policy = "IfNotPresent"): Promise<string> {
    this.#pods += 1;
    const uid = `image-pod-${this.#pods}`;
    const pod = podOf(image, {}, uid);
    const request = { pod, container: "c", image, policy };
    const answer = await this.images.ensure(request, this.signal);
    if (answer.kind === "refused") throw new Error(`${answer.reason}: ${answer.message}`);
    try {
      const metadata = { name: uid, namespace: "default", uid, attempt: 0 };
      const labels = {
        "io.kubernetes.pod.uid": uid,
        "io.kubernetes.pod.name": uid,
        "io.kubernetes.pod.namespace": "default",
      };
      const linux = { securityContext: { namespaceOptions: NAMESPACES } };
      const sandbox = { metadata, labels, logDirectory: `/var/log/pods/${uid}`, linux };
      const sandboxId = await this.cri.runtime.runSandbox(sandbox, "", this.signal);
      const config = {
        metadata: { name: "c", attempt: 0 },
        image: { image: answer.image.ref },
        labels,
        logPath: "c.log",
      };
      const id = await this.cri.runtime.createContainer(sandboxId, config, sandbox, this.signal);
      await this.cri.runtime.startContainer(id, this.signal);
      return id;
    } finally {
      answer.release();
    }
  }

  /** Ends a container and takes it away with its sandbox. */
  async remove(id: string): Promise<void> {
    const [container] = await this.cri.runtime.listContainers({ id }, this.signal);
    if (container) await this.cri.runtime.removeSandbox(container.podSandboxId, this.signal);
  }

  /** Starts the registry in the box. */
  async startRegistry(): Promise<void> {
    const [, port = "5000"] = REGISTRY.split(":");
    const registry = this.box.spawn([process.execPath, `${import.meta.dirname}/registry.ts`, port]);
    const folder = this.box.path(`/etc/containerd/certs.d/${REGISTRY}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/hosts.toml`, `server = "http://${REGISTRY}"\n`);
    for await (const line of registry.stdout ? createInterface(registry.stdout) : [])
      if (line === "ready") return;
    throw new Error("the registry does not start");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave.abort(new Error("the test is over"));
    this.cri.close();
    await this.box.dispose();
  }
}

/** Puts containerd's folder on a file system of its own, of the given size. */
async function giveDisk(box: Box, mib: number): Promise<void> {
  await box.killContainerd("SIGTERM");
  const file = `${box.folder}/disk.img`;
  await box.run(["truncate", "-s", `${mib}M`, file]);
  await box.run(["mkfs.ext4", "-q", "-m", "0", file]);
  await box.run(["mount", "-o", "loop", file, "/var/lib/containerd"]);
  await box.startContainerd();
  await box.importImages(standardImages());
}
