import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Pod } from "../../src/api/generated/types.ts";
import type { Box, BoxProcess } from "../../test/box/box.ts";
import { buildPrograms } from "../go/build-programs.mjs";
import type { Subject } from "./options.ts";
import { monotonicMs } from "./pod-observer.ts";

/** A kubelet's program and what is to be known to start it. */
export interface Kubelet {
  readonly label: string;
  readonly path: string;
  /** Like `v1.37.2`. */
  readonly version: string;
  readonly minor: number;
  readonly isNodelet: boolean;
}

/** Path of the program to measure; builds a Go kubelet of ours when it is not there yet. */
export async function programOf(subject: Subject, say: (text: string) => void): Promise<string> {
  switch (subject.kind) {
    case "checkout":
      return fileURLToPath(new URL("../../bin/nodelet", import.meta.url));
    case "go": {
      const [path = ""] = await buildPrograms([subject.program], { say });
      return path;
    }
    case "binary":
      return subject.path;
    default:
      return subject satisfies never;
  }
}

const VERSION_TIMEOUT_MS = 20_000;

/** Asks a program what it is. In a box: a program that knows no `--version` may do who knows what. */
export async function askKubelet(box: Box, label: string, path: string): Promise<Kubelet> {
  const reported = await box.run([path, ...runWord(path), "--version"], {
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  return { label, path, ...readVersion(reported) };
}

/** Understands `Kubernetes v1.36.2+nodelet.0.1.0` and the like; throws for anything else. */
export function readVersion(reported: string): Pick<Kubelet, "version" | "minor" | "isNodelet"> {
  const [, version, minor] = /^Kubernetes (v1\.(\d+)\.\S+)$/m.exec(reported) ?? [];
  if (version === undefined || minor === undefined)
    throw new Error(`this is no kubelet, it says of itself: ${reported.trim().slice(0, 200)}`);
  return { version, minor: Number(minor), isNodelet: version.includes("+nodelet") };
}

/** `nodelet` is many commands, of which `run` is the agent. */
function runWord(path: string): string[] {
  return basename(path) === "nodelet" ? ["run"] : [];
}

const API_PORT = 10255;
const SOCKET = "unix:///run/containerd/containerd.sock";

/** The configuration file of the bench, as far as a release knows its fields. */
export function benchConfig(minor: number, manifests: string): Readonly<Record<string, unknown>> {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    staticPodPath: manifests,
    readOnlyPort: API_PORT,
    address: "127.0.0.1",
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    cgroupDriver: "cgroupfs",
    failSwapOn: false,
    maxPods: 300,
    // The disk of the box is small and in memory: nothing is to be evicted or collected meanwhile.
    evictionHard: {
      "memory.available": "10Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
    },
    imageGCHighThresholdPercent: 100,
    // A Go kubelet makes this folder at its start: at its usual place it would be the machine's own, not the box's.
    volumePluginDir: "/var/lib/kubelet/volume-plugins",
    ...(minor >= 27 ? { containerRuntimeEndpoint: SOCKET } : {}),
    ...(minor >= 31 ? { failCgroupV1: false } : {}),
  };
}

/**
 * The configuration of a node of a cluster: its pods come from the API, and requests have the bounds of today's
 * releases, whatever the release's own are.
 */
export function clusterConfig(
  minor: number,
  clientCaFile: string,
): Readonly<Record<string, unknown>> {
  const { staticPodPath, readOnlyPort, address, ...config } = benchConfig(minor, "");
  return {
    ...config,
    authentication: {
      x509: { clientCAFile: clientCaFile },
      anonymous: { enabled: false },
      webhook: { enabled: false },
    },
    // Without one every pod costs a warning.
    clusterDNS: ["10.96.0.10"],
    kubeAPIQPS: 50,
    kubeAPIBurst: 100,
    eventRecordQPS: 50,
    eventBurst: 100,
  };
}

/** The command line of a kubelet; the endpoint of the runtime was a flag before it was a setting. */
export function kubeletArgv(
  { path, minor }: Pick<Kubelet, "path" | "minor">,
  config: string,
): string[] {
  const remote = minor < 24 ? ["--container-runtime=remote"] : [];
  const endpoint = minor < 27 ? [`--container-runtime-endpoint=${SOCKET}`] : [];
  return [path, ...runWord(path), `--config=${config}`, ...remote, ...endpoint];
}

/** What a kubelet is started with beside the flags of its release. */
export interface KubeletStart {
  readonly config: Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
  /** Folder for CPU profiles, of nodelet only. */
  readonly cpuProfile: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

/** The process of a kubelet in a box. */
export class KubeletProcess {
  /** As the machine counts. */
  readonly pid: number;
  readonly startedAtMs: number;
  readonly #process: BoxProcess;

  private constructor(process: BoxProcess, pid: number, startedAtMs: number) {
    this.#process = process;
    this.pid = pid;
    this.startedAtMs = startedAtMs;
  }

  /** Starts the agent; its API need not answer yet. Output goes to the box's log `<label>.log`. */
  static async start(box: Box, kubelet: Kubelet, start: KubeletStart): Promise<KubeletProcess> {
    const config = join(box.folder, "bench-config.json");
    writeFileSync(config, JSON.stringify(start.config));
    const env = { ...profileEnvironment(kubelet, start.cpuProfile), ...start.env };
    const argv = [...kubeletArgv(kubelet, config), ...(start.flags ?? [])];
    const startedAtMs = monotonicMs();
    const running = box.spawnLogged(kubelet.label, argv, { env });
    return new KubeletProcess(running, await running.pid(), startedAtMs);
  }

  /** Throws when the agent has stopped. */
  assertRunning(): void {
    if (this.#process.running) return;
    throw new Error("the kubelet ended by itself");
  }

  /** Ends the agent; its pods keep running. */
  async stop(): Promise<void> {
    await this.#process.kill("SIGTERM");
    await this.#process.exited;
  }
}

/** A kubelet that runs in a box and takes its pods from a folder. */
export class RunningKubelet {
  /** Address of its pods inside the box. */
  readonly podsAddress = `http://127.0.0.1:${API_PORT}/pods`;
  readonly process: KubeletProcess;
  readonly #manifests: string;

  private constructor(process: KubeletProcess, manifests: string) {
    this.process = process;
    this.#manifests = manifests;
  }

  static async start(
    box: Box,
    kubelet: Kubelet,
    cpuProfile: string | undefined,
  ): Promise<RunningKubelet> {
    const manifests = join(box.folder, "manifests");
    mkdirSync(manifests);
    mkdirSync(join(box.folder, "staging"));
    const config = benchConfig(kubelet.minor, manifests);
    const process = await KubeletProcess.start(box, kubelet, { config, cpuProfile });
    return new RunningKubelet(process, manifests);
  }

  /** Puts manifests in place, one right after the other; gives the moment of each. */
  create(pods: readonly Pod[]): number[] {
    const staged = pods.map((pod) => {
      const name = `${pod.metadata?.name}.json`;
      const path = join(this.#manifests, "..", "staging", name);
      writeFileSync(path, JSON.stringify(pod));
      return { path, place: join(this.#manifests, name) };
    });
    return staged.map(({ path, place }) => {
      const at = monotonicMs();
      renameSync(path, place);
      return at;
    });
  }

  /** Takes manifests away; gives the moment of each. */
  remove(names: readonly string[]): number[] {
    return names.map((name) => {
      const at = monotonicMs();
      rmSync(join(this.#manifests, `${name}.json`));
      return at;
    });
  }
}

function profileEnvironment(
  { isNodelet }: Kubelet,
  folder: string | undefined,
): Readonly<Record<string, string>> {
  if (!isNodelet || folder === undefined) return {};
  mkdirSync(folder, { recursive: true });
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` };
}
