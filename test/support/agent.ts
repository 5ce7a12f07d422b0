// The agent as users run it, inside a box.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DecisionRecord } from "../../src/api/decisions.ts";
import type { Pod, PodStatus } from "../../src/api/generated/types.ts";
import type { Box, BoxProcess } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import { PROGRAM } from "./program.ts";
import { STAY as STAY_SCRIPT } from "./stay.ts";
import { TIMEOUT_FACTOR } from "./timeout-factor.ts";

/** What is waited for mostly takes a second; a limit that a busy machine reaches proves nothing. */
const LIMIT_MS = 60_000;
/** An agent is slow to start while several control planes do. */
const START_LIMIT_MS = 90_000;
const MANIFESTS = "/etc/nodelet/manifests";
const STATE = "/var/lib/kubelet/nodelet";
const STATUSES = "pod-statuses.jsonl";
const CONFIG = "/etc/nodelet/config.yaml";
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

export interface AgentOptions {
  /** Lines of KubeletConfiguration beside the usual ones. */
  readonly config?: string;
  /** Authorities of those who may ask at the HTTPS port; default the machine's own. */
  readonly clientCaFile?: string;
  /** Default true; with false the configuration says nothing of who may ask but what `config` says. */
  readonly usualAuthentication?: boolean;
  /** Flags beside `--config`. */
  readonly flags?: readonly string[];
  /** Flags of the Node that runs it. */
  readonly nodeFlags?: readonly string[];
  /** What runs as the agent in place of this version. */
  readonly program?: string;
  /** Variables beside those of every program in a box. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A pod's spec for tests; JSON is YAML. */
export type Manifest = Pick<Pod, "metadata" | "spec">;

/** A shell command that runs until it is asked to end, and ends at once then. */
export const STAY = ["sh", "-c", STAY_SCRIPT] as const;

/** One pod of the test image. */
export function manifest(name: string, spec: Partial<NonNullable<Pod["spec"]>> = {}): Manifest {
  const containers = spec.containers ?? [{ name: "main", image: TEST_IMAGE, command: [...STAY] }];
  return { metadata: { name }, spec: { terminationGracePeriodSeconds: 2, ...spec, containers } };
}

/** An agent in a box, with what tests ask of it. */
export class BoxedAgent {
  readonly box: Box;
  readonly #options: AgentOptions;
  #process: BoxProcess | undefined;

  private constructor(box: Box, options: AgentOptions) {
    this.box = box;
    this.#options = options;
  }

  /** Writes the configuration and starts the agent; resolves when it says that it runs. */
  static async start(box: Box, options: AgentOptions = {}): Promise<BoxedAgent> {
    await box.run(["mkdir", "-p", MANIFESTS]);
    const agent = new BoxedAgent(box, options);
    await agent.start();
    return agent;
  }

  async start(): Promise<void> {
    this.box.write(
      CONFIG,
      [
        "apiVersion: kubelet.config.k8s.io/v1beta1",
        "kind: KubeletConfiguration",
        `staticPodPath: ${MANIFESTS}`,
        "failCgroupV1: false",
        `cgroupDriver: ${this.box.cgroupDriver}`,
        "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock",
        "logging: {verbosity: 3}",
        ...(this.#options.usualAuthentication === false
          ? []
          : [
              `authentication: {x509: {clientCAFile: ${this.#options.clientCaFile ?? AUTHORITIES}}}`,
            ]),
        this.#options.config ?? "",
      ].join("\n"),
    );
    const running = this.log().split("agent is running").length;
    const { nodeFlags = [], flags = [], env = {}, program: main = PROGRAM } = this.#options;
    const program = [process.execPath, ...nodeFlags, main];
    this.#process = this.box.spawnLogged(
      "agent",
      [...program, "run", "--config", CONFIG, ...flags],
      { env },
    );
    await this.until(
      "the agent runs",
      () => {
        if (this.log().split("agent is running").length > running) return true;
        if (!this.running) throw new Error(`the agent has stopped\n${this.log()}`);
        return false;
      },
      START_LIMIT_MS,
    );
  }

  /** `kill -9`; containers run on. */
  async kill(): Promise<void> {
    await this.#process?.kill("SIGKILL");
    await this.#process?.exited;
  }

  /** SIGTERM; containers run on. */
  async stop(): Promise<void> {
    await this.#process?.kill("SIGTERM");
    await this.#process?.exited;
  }

  get running(): boolean {
    return this.#process?.running ?? false;
  }

  /** What a command of nodelet prints in the box; rejects when it fails. */
  async command(...words: readonly string[]): Promise<string> {
    return await this.box.run([process.execPath, PROGRAM, ...words]);
  }

  /** The agent's process id as the machine counts. */
  async pid(): Promise<number> {
    if (!this.#process) throw new Error("the agent was not started");
    return await this.#process.pid();
  }

  log(): string {
    try {
      return readFileSync(join(this.box.folder, "agent.log"), "utf8");
    } catch {
      return "";
    }
  }

  /** Puts a manifest in place, in one step as careful tools do. */
  apply(file: string, content: Manifest | string): void {
    const text =
      typeof content === "string"
        ? content
        : JSON.stringify({ apiVersion: "v1", kind: "Pod", ...content });
    writeFileSync(this.box.path(`${MANIFESTS}/${file}`), text);
  }

  remove(file: string): void {
    rmSync(this.box.path(`${MANIFESTS}/${file}`));
  }

  /** Statuses the agent keeps, by pod uid. */
  statuses(): ReadonlyMap<string, PodStatus> {
    return keptStatuses(textOf(this.box.path(`${STATE}/${STATUSES}`)));
  }

  /** The one status there is. */
  status(): PodStatus | undefined {
    return [...this.statuses().values()][0];
  }

  /** What was decided, as it was written down, without what became of it. */
  decisions(): readonly DecisionRecord[] {
    const folder = this.box.path(`${STATE}/journal`);
    const lines = list(folder).flatMap((name) =>
      readFileSync(join(folder, name), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as DecisionRecord),
    );
    return lines.filter(({ kind }) => (kind as string) !== "outcome");
  }

  /** Waits until `test` holds; the error shows the agent's last words. */
  async until(
    what: string,
    test: () => boolean | Promise<boolean>,
    limitMs = LIMIT_MS,
  ): Promise<number> {
    const began = performance.now();
    for (;;) {
      if (await test()) return performance.now() - began;
      if (performance.now() - began > limitMs * TIMEOUT_FACTOR) {
        const state = JSON.stringify([...this.statuses().values()]).slice(0, 2000);
        throw new Error(
          `not within ${limitMs} ms: ${what}\n${state}\n${this.log().split("\n").slice(-25).join("\n")}`,
        );
      }
      await sleep(20);
    }
  }

  /** Waits until every one of `count` pods is Ready. */
  async untilReady(count = 1, limitMs = LIMIT_MS): Promise<number> {
    const areReady = () => {
      const statuses = [...this.statuses().values()];
      return (
        statuses.length === count &&
        statuses.every((status) => conditionOf(status, "Ready") === "True")
      );
    };
    return this.until(`${count} pods are Ready`, areReady, limitMs);
  }
}

export function conditionOf(status: PodStatus | undefined, type: string): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** What a node has of pods: each list must be empty when no pod is left. */
export async function podTraces(box: Box): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = async (script: string) =>
    (await box.run(["sh", "-c", script])).split("\n").filter((line) => line !== "");
  return {
    containers: await lines("ctr -n k8s.io containers list -q 2>/dev/null || true"),
    mounts: await lines(
      "grep -E '/var/lib/kubelet/pods|/run/containerd/io.containerd|/netns/' /proc/self/mounts || true",
    ),
    cgroups: await lines(
      "find /sys/fs/cgroup -type d '(' -name 'pod*' -o -name '*-pod*.slice' ')' 2>/dev/null || true",
    ),
    folders: await lines("ls -d /var/lib/kubelet/pods/* /var/log/pods/* 2>/dev/null || true"),
    statuses: [...keptStatuses(textOf(box.path(`${STATE}/${STATUSES}`))).keys()],
    namespaces: await lines("ls -d /var/run/netns/* 2>/dev/null || true"),
    processes: await lines("pgrep -f '[c]ontainerd-shim' || true"),
  };
}

/** The statuses by pod UID in the text of their file: of each pod the last line counts, and a line may be incomplete. */
function keptStatuses(text = ""): ReadonlyMap<string, PodStatus> {
  const statuses = new Map<string, PodStatus>();
  for (const line of text.split("\n")) {
    const kept = lineOf(line);
    if (kept?.value) statuses.set(kept.key, kept.value.status);
    else if (kept) statuses.delete(kept.key);
  }
  return statuses;
}

function lineOf(
  line: string,
): { readonly key: string; readonly value?: { readonly status: PodStatus } } | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The file's text; undefined when it was removed since it was listed. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
