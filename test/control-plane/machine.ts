/** A bare machine with what kubeadm asks for: its images in a registry on loopback, and kubeadm itself. */
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { goObstacle } from "../../tools/go/go-command.mjs";
import type { Box, BoxOptions, ExecResult } from "../box/box.ts";
import { bareMachine, type NodeBox, type Running } from "../cli/node-box.ts";
import { clusterImages, componentPrograms } from "./images.ts";

const REGISTRY = resolve(import.meta.dirname, "../../tools/conformance/lab/registry.ts");
const REGISTRY_PORT = 5555;
const COMMAND_MS = 900_000;

/** Why no control plane can be made here; undefined when one can. */
export const controlPlaneObstacle = goObstacle;

/**
 * What a namespace of the test does not let kube-proxy set, and deadlines for a machine that is busy with other things; a file for
 * `--kubeadm-config`.
 */
export const KUBEADM_CONFIG = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
timeouts: {controlPlaneComponentHealthCheck: 8m, kubernetesAPICall: 5m, kubeletHealthCheck: 8m, etcdAPICall: 5m}
`;

/** Host name and address of a machine. */
export type MachinePlace = Pick<BoxOptions, "hostname" | "address">;

/** A machine in a box that can be made a control plane. */
export class ClusterMachine implements AsyncDisposable {
  readonly node: NodeBox;
  readonly #programs: string;

  constructor(node: NodeBox, programs: string) {
    this.node = node;
    this.#programs = programs;
  }

  /** Runs `nodelet up --control-plane` to its end. */
  up(...more: readonly string[]): Promise<ExecResult> {
    return this.nodelet(this.upCommand(...more));
  }

  /** Its words. */
  upCommand(...more: readonly string[]): readonly string[] {
    return [
      ...["up", "--control-plane", "--timeout=6m", `--kubeadm=${this.#programs}`],
      ...["--kubeadm-config=/run/tmp/kubeadm.yaml"],
      // The kernel of the machine has no list of its configuration in the box.
      ...["--ignore-preflight-errors=SystemVerification", ...more],
    ];
  }

  /** Runs a command of nodelet that may take its time. */
  nodelet(argv: readonly string[]): Promise<ExecResult> {
    const program = resolve(import.meta.dirname, "../../bin/nodelet");
    return this.node.box.exec([program, ...argv], { timeoutMs: COMMAND_MS });
  }

  /** Brings the cluster to the latest version. */
  upgrade(...more: readonly string[]): Promise<ExecResult> {
    return this.nodelet(this.upgradeCommand(...more));
  }

  /** The words for that. */
  upgradeCommand(...more: readonly string[]): readonly string[] {
    // kubeadm's trial Job has the pause image print its version, which that of the lab does not do.
    const ignored = "--ignore-preflight-errors=SystemVerification,CreateJob";
    const kubeadm = `--kubeadm=${this.#programs}`;
    return ["upgrade", kubeadm, ignored, "--timeout=6m", ...more];
  }

  /** Standard output of kubeadm; throws when it fails. */
  kubeadm(...argv: readonly string[]): Promise<string> {
    const kubeadm = join(this.#programs, "kubeadm");
    return this.node.box.run([kubeadm, ...argv], { timeoutMs: COMMAND_MS });
  }

  /** Runs `nodelet join` with the words of a line that kubeadm has printed. */
  join(...words: readonly string[]): Promise<ExecResult> {
    return this.nodelet(this.joinCommand(words));
  }

  /** Starts the same. */
  startJoin(...words: readonly string[]): Running {
    return this.node.start(this.joinCommand(words));
  }

  /** The words for both. */
  joinCommand(words: readonly string[]): readonly string[] {
    const more = [`--kubeadm=${this.#programs}`, "--timeout=4m"];
    return ["join", ...words, ...more, "--ignore-preflight-errors=SystemVerification"];
  }

  /** The words to join with, of the line that kubeadm prints. */
  async joinWords(): Promise<readonly string[]> {
    const line = await this.kubeadm(
      ...["token", "create", "--print-join-command", "--kubeconfig=/etc/nodelet/kubeconfig"],
    );
    const [, words = ""] = /^kubeadm join (.*)$/m.exec(line) ?? [];
    return words.trim().split(/\s+/);
  }

  /** The key with which further control planes get the certificates of this one. */
  async certificateKey(): Promise<string> {
    const printed = await this.kubeadm("init", "phase", "upload-certs", "--upload-certs");
    return /^[0-9a-f]{64}$/m.exec(printed)?.[0] ?? "";
  }

  /** Standard output of kubectl; throws when it fails. */
  kubectl(...argv: readonly string[]): Promise<string> {
    const kubectl = join(this.#programs, "kubectl");
    return this.node.box.run([kubectl, "--kubeconfig=/etc/nodelet/kubeconfig", ...argv], {
      timeoutMs: COMMAND_MS,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node.box.dispose();
  }
}

/** A bare machine with a registry that has all images, and those of other stores, and kubeadm in a folder. */
export async function clusterMachine(
  place: MachinePlace = { hostname: "one" },
  moreStores: readonly string[] = [],
  init: "sh" | "systemd" = "sh",
): Promise<ClusterMachine> {
  const programs = await componentPrograms();
  const node = await bareMachine({ storeMib: 0, init, ...place });
  try {
    const { box } = node;
    const folder = join(box.folder, "programs");
    mkdirSync(folder);
    for (const name of ["kubeadm", "kubectl"])
      symlinkSync(programs.get(name) ?? "", join(folder, name));
    await box.run(["mkdir", "-p", "/run/tmp"]);
    box.write("/run/tmp/kubeadm.yaml", KUBEADM_CONFIG);
    await startRegistry(box, [clusterImages(programs), ...moreStores]);
    return new ClusterMachine(node, folder);
  } catch (error) {
    await node.box.dispose();
    throw error;
  }
}

/** Starts a registry that serves the stores on the machine's loopback, for whatever host an image's name has. */
export async function startRegistry(box: Box, stores: readonly string[]): Promise<void> {
  const folder = "/etc/containerd/certs.d/_default";
  await box.run(["mkdir", "-p", folder]);
  const address = `http://127.0.0.1:${REGISTRY_PORT}`;
  const hosts = `server = "${address}"\n[host."${address}"]\ncapabilities = ["pull", "resolve"]\n`;
  box.write(`${folder}/hosts.toml`, hosts);
  const argv = [process.execPath, REGISTRY, `${REGISTRY_PORT}`, ...stores];
  const running = box.spawnLogged("registry", argv);
  const log = join(box.folder, "registry.log");
  while (!readFileSync(log, "utf8").includes("ready")) {
    if (!running.running) throw new Error(`the registry ended\n${readFileSync(log, "utf8")}`);
    await sleep(50);
  }
}
