/** The Go kubelet as a node of the control plane in a box, for tests of what passes between it and nodelet. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { benchConfig, kubeletArgv, readVersion } from "../../tools/bench/kubelet.ts";
import { builtProgram } from "../../tools/go/build-programs.mjs";
import type { Box, BoxProcess } from "../box/box.ts";
import { NODE } from "../kube/cluster-node.ts";

const MANIFESTS = "/etc/nodelet/manifests";
const CONFIG = "/run/tmp/go-kubelet.json";

/** Path of a Go kubelet: what `GO_KUBELET` names, or what was built from its module. */
export function goKubelet(): string | undefined {
  const named = process.env["GO_KUBELET"];
  if (named && !existsSync(named))
    throw new Error(`GO_KUBELET names ${named}, which does not exist`);
  return named || builtProgram("kubelet");
}

/** Why there is none, in words for a skipped test. */
export function goKubeletObstacle(): string | undefined {
  if (goKubelet() !== undefined) return undefined;
  return "needs a Go kubelet: node tools/go/build-programs.mjs kubelet, or GO_KUBELET";
}

/** A Go kubelet in a box. */
export class GoKubelet {
  readonly version: string;
  readonly minor: number;
  readonly #box: Box;
  readonly #argv: readonly string[];
  #process: BoxProcess | undefined;

  /** `kubeconfig` and `clientCaFile` are paths as the box sees them. */
  constructor(box: Box, files: { readonly kubeconfig: string; readonly clientCaFile: string }) {
    const path = goKubelet() ?? "";
    const { version, minor } = readVersion(execFileSync(path, ["--version"], { encoding: "utf8" }));
    this.version = version;
    this.minor = minor;
    this.#box = box;
    const { readOnlyPort, address, ...config } = benchConfig(minor, MANIFESTS);
    const authentication = {
      x509: { clientCAFile: files.clientCaFile },
      anonymous: { enabled: false },
      webhook: { enabled: false },
    };
    box.write(CONFIG, JSON.stringify({ ...config, authentication }));
    this.#argv = [
      ...kubeletArgv({ path, minor }, CONFIG),
      `--kubeconfig=${files.kubeconfig}`,
      `--hostname-override=${NODE}`,
    ];
  }

  /** Starts it; it goes to work by itself. */
  start(): void {
    this.#process = this.#box.spawnLogged("go-kubelet", this.#argv);
  }

  /** Ends it; its pods keep running. */
  async stop(): Promise<void> {
    await this.#process?.kill("SIGTERM");
    await this.#process?.exited;
  }
}
