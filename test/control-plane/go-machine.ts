/** A machine with containerd and the Go kubelet, as their packages install them: it joins by the real `kubeadm join`. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildPrograms } from "../../tools/go/build-programs.mjs";
import { type Box, startBox } from "../box/box.ts";
import { cniConfig } from "../box/containerd.ts";
import { clusterImages, componentPrograms } from "./images.ts";
import { type MachinePlace, startRegistry } from "./machine.ts";

const JOIN_MS = 600_000;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The unit of the kubelet with kubeadm's drop-in, in place of systemd. */
const systemctl = (log: string) => `#!/bin/sh
pid=/run/kubelet.pid
stop() {
  [ -e $pid ] || return 0
  kill "$(cat $pid)"
  rm $pid
}
case $1 in
  stop) stop ;;
  start | restart)
    stop
    . /var/lib/kubelet/kubeadm-flags.env
    setsid kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \\
      --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS </dev/null >>${log} 2>&1 &
    echo $! >$pid ;;
esac
`;

/** A node of a cluster, as others see it. */
export interface NodePlace {
  readonly name: string;
  readonly address: string;
  readonly podCidr: string;
}

/** A machine in a box. */
class GoMachine implements AsyncDisposable {
  readonly box: Box;
  readonly #programs: string;

  constructor(box: Box, programs: string) {
    this.box = box;
    this.#programs = programs;
  }

  /** Runs `kubeadm join` with the words of a line that kubeadm has printed; throws when it fails. */
  async join(words: readonly string[]): Promise<string> {
    const argv = ["join", ...words, "--ignore-preflight-errors=SystemVerification"];
    return await this.box.run([join(this.#programs, "kubeadm"), ...argv], {
      env: { PATH: `${this.#programs}:${PATH}` },
      timeoutMs: JOIN_MS,
    });
  }

  /** What a network plugin does that knows the nodes: a network for the pods here, and routes to those of other nodes. */
  async connectPods(nodes: readonly NodePlace[]): Promise<void> {
    for (const { address, podCidr } of nodes) {
      if (address !== this.box.nodeAddress)
        await this.box.run(["ip", "route", "add", podCidr, "via", address]);
      else {
        const network = cniConfig({ ipv6: false, subnet: podCidr, masquerade: true });
        this.box.write("/etc/cni/net.d/10-pods.conflist", network);
      }
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.box.dispose();
  }
}

/** Starts containerd on a machine that has kubeadm and the kubelet. */
export async function goMachine(place: MachinePlace): Promise<GoMachine> {
  const programs = await componentPrograms();
  const [kubelet = ""] = await buildPrograms(["kubelet"]);
  const box = await startBox({ containerd: "2.4", network: false, storeMib: 0, ...place });
  try {
    const folder = join(box.folder, "programs");
    mkdirSync(folder);
    symlinkSync(programs.get("kubeadm") ?? "", join(folder, "kubeadm"));
    symlinkSync(kubelet, join(folder, "kubelet"));
    const script = systemctl(join(box.folder, "kubelet.log"));
    writeFileSync(join(folder, "systemctl"), script, { mode: 0o755 });
    await startRegistry(box, [clusterImages(programs)]);
    return new GoMachine(box, folder);
  } catch (error) {
    await box.dispose();
    throw error;
  }
}
