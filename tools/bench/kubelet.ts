import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Pod } from "../../src/api/generated/types.ts";
import type { Box, BoxProcess } from "../../test/box/box.ts";
import { buildProgram } from "./build-go-kubelet.mjs";
import type { Subject } from "./options.ts";
import { monotonicMs } from "./pod-observer.ts";

/** A kubelet's program and what is to be known to start it. */
export interface Kubelet {
  readonly label: string;
  readonly path: string;
  /** Like `v1.20.2`. */
  readonly version: string;
  readonly minor: number;
  readonly isNodelet: boolean;
}

/** Path of the program to measure; builds the one from Debian's sources when it is not there yet. */
export async function programOf(subject: Subject, say: (text: string) => void): Promise<string> {
  switch (subject.kind) {
    case "checkout":
      return fileURLToPath(new URL("../../bin/nodelet", import.meta.url));
    case "debian":
      return await buildProgram("kubelet", { say });
    case "binary":
      return subject.path;
    default:
      return subject satisfies never;
  }
}

const VERSION_TIMEOUT_MS = 20_000;

/** Asks a program what it is. In a box: a program that knows no `--version` may do who knows what. */
export async function askKubelet(box: Box, label: string, path: string): Promise<Kubelet> {
  const said = await box.run([path, ...runWord(path), "--version"], {
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  return { label, path, ...readVersion(said) };
}

/** Understands `Kubernetes v1.36.2+nodelet.0.1.0` and the like; throws for anything else. */
export function readVersion(said: string): Pick<Kubelet, "version" | "minor" | "isNodelet"> {
  const [, version, minor] = /^Kubernetes (v1\.(\d+)\.\S+)$/m.exec(said) ?? [];
  if (version === undefined || minor === undefined)
    throw new Error(`this is no kubelet, it says of itself: ${said.trim().slice(0, 200)}`);
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
    ...(minor >= 27 ? { containerRuntimeEndpoint: SOCKET } : {}),
    ...(minor >= 31 ? { failCgroupV1: false } : {}),
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

/** A kubelet that runs in a box. */
export class RunningKubelet {
  /** As the machine counts. */
  readonly pid: number;
  readonly startedAtMs: number;
  /** Address of its pods inside the box. */
  readonly podsAddress = `http://127.0.0.1:${API_PORT}/pods`;
  readonly #process: BoxProcess;
  readonly #manifests: string;

  private constructor(process: BoxProcess, pid: number, parts: [number, string]) {
    this.#process = process;
    this.pid = pid;
    [this.startedAtMs, this.#manifests] = parts;
  }

  /** Starts the agent; its API need not answer yet. Output goes to the box's log `<label>.log`. */
  static async start(
    box: Box,
    kubelet: Kubelet,
    cpuProfile: string | undefined,
  ): Promise<RunningKubelet> {
    const manifests = join(box.folder, "manifests");
    mkdirSync(manifests);
    mkdirSync(join(box.folder, "staging"));
    const config = join(box.folder, "bench-config.json");
    writeFileSync(config, JSON.stringify(benchConfig(kubelet.minor, manifests)));
    const env = profileEnvironment(kubelet, cpuProfile);
    const startedAtMs = monotonicMs();
    const running = box.spawnLogged(kubelet.label, kubeletArgv(kubelet, config), { env });
    return new RunningKubelet(running, await running.pid(), [startedAtMs, manifests]);
  }

  /** Throws when the agent has ended. */
  assertRunning(): void {
    if (this.#process.running) return;
    throw new Error("the kubelet ended by itself");
  }

  /** What the agent was started with, as the kernel says: proof that the process measured is the right one. */
  commandLine(): string {
    return readFileSync(`/proc/${this.pid}/cmdline`, "utf8").split("\0").join(" ").trim();
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

  /** Ends the agent; its pods run on. */
  async stop(): Promise<void> {
    await this.#process.kill("SIGTERM");
    await this.#process.exited;
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
