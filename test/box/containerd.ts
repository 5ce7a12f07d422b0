/** containerd of a box: which one, with what configuration, started and stopped. */
import { connect } from "node:net";
import { dirname, join } from "node:path";
import type { CgroupDriver } from "../../src/subsystems/cgroups/names.ts";
import { fetchPackages } from "../../tools/debian-suite.mjs";
import { builtProgram } from "../../tools/go/build-programs.mjs";
import { PAUSE_IMAGE } from "./images.ts";
import { cniPlugins, findProgram, hasCapability } from "./prerequisites.ts";
import type { RuncVersion } from "./runc.ts";

/**
 * The machine's own, a newer one fetched from another Debian suite into the cache, or today's, which is built from its
 * module and has today's runc and CNI plugins beside it.
 */
export const CONTAINERD_VERSIONS = ["machine", "1.7", "2.1", "2.4"] as const;
export type ContainerdVersion = (typeof CONTAINERD_VERSIONS)[number];

export function isContainerdVersion(text: string): text is ContainerdVersion {
  return CONTAINERD_VERSIONS.some((version) => version === text);
}

/** The containerd of a box that asks for none; a whole run of the tests sets the variable where there is Go. */
export function usualContainerd(): ContainerdVersion {
  const named = process.env["NODELET_BOX_CONTAINERD"] || "machine";
  if (isContainerdVersion(named)) return named;
  throw new Error(`NODELET_BOX_CONTAINERD is ${named}, not ${CONTAINERD_VERSIONS.join(", ")}`);
}

/** What a box with that containerd has beside it when it asks for nothing else. */
export function besideContainerd(version: ContainerdVersion | "none"): {
  readonly runc: RuncVersion;
  readonly cniPlugins: string;
} {
  if (version !== "2.4") return { runc: "machine", cniPlugins: cniPlugins() ?? "" };
  return { runc: "1.5", cniPlugins: dirname(built("bridge")) };
}

/** The Debian suites that carry the newer versions. */
const SUITE = { "1.7": "trixie", "2.1": "sid" } as const;

/** Programs of one containerd installation; the shim stands beside the daemon. */
export interface ContainerdPrograms {
  readonly daemon: string;
  readonly ctr: string;
  /** To be searched first by the daemon, so that it finds its own shim. */
  readonly folder: string;
}

/** Finds the programs; fetches them when another Debian suite has them. */
export function containerdPrograms(version: ContainerdVersion): ContainerdPrograms {
  const daemon = daemonOf(version);
  const folder = dirname(daemon);
  return { daemon, ctr: join(folder, "ctr"), folder };
}

function daemonOf(version: ContainerdVersion): string {
  switch (version) {
    case "machine": {
      const own = findProgram("containerd");
      if (own === undefined) throw new Error("containerd is not installed");
      return own;
    }
    case "2.4":
      return built("containerd");
    case "1.7":
    case "2.1":
      return fetched(SUITE[version]);
    default:
      return version satisfies never;
  }
}

function built(name: string): string {
  const path = builtProgram(name);
  if (path === undefined)
    throw new Error(`there is no ${name} yet: node tools/testing/provisions.mjs "containerd 2"`);
  return path;
}

function fetched(suite: string): string {
  const say = (text: string) => process.stderr.write(`test box: ${text}\n`);
  const [folder] = fetchPackages(suite, ["containerd"], { say });
  return join(folder ?? "", "usr/bin/containerd");
}

/** containerd's configuration file; `extra` is appended as it is (TOML). */
export function containerdConfig(
  /** Path of runc, the folder of the CNI plugins, and who makes groups. */
  paths: {
    readonly runc: string;
    readonly cniPlugins: string;
    readonly cgroupDriver: CgroupDriver;
  },
  extra = "",
): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = [${UNUSED_PLUGINS.map((name) => JSON.stringify(name)).join(", ")}]

[grpc]
address = "/run/containerd/containerd.sock"

[${cri}]
sandbox_image = "${PAUSE_IMAGE}"
restrict_oom_score_adj = ${!hasCapability("CAP_SYS_RESOURCE")}
stream_server_address = "127.0.0.1"
stream_server_port = "0"

[${cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[${cri}.containerd.runtimes.runc.options]
BinaryName = "${paths.runc}"
SystemdCgroup = ${paths.cgroupDriver === "systemd"}

[${cri}.cni]
bin_dir = "${paths.cniPlugins}"
conf_dir = "/etc/cni/net.d"

[${cri}.registry]
config_path = "/etc/containerd/certs.d"
${extra}`;
}

/** Plugins that only cost start time here. */
const UNUSED_PLUGINS = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp",
];

/** What the box's network is called. */
export const NETWORK_NAME = "box";

/** What the pods' network of a box is to be like. */
export interface CniOptions {
  readonly ipv6: boolean;
  /** Addresses of pods; default 10.88.0.0/16. */
  readonly subnet?: string;
  /** Whether pods have the node's address outside of it. Default true; false where others have routes to pods. */
  readonly masquerade?: boolean;
}

/** The CNI network of a box: a bridge with addresses of its own, and host ports. */
export function cniConfig(options: CniOptions): string {
  const ranges = [[{ subnet: options.subnet ?? "10.88.0.0/16" }]];
  const routes = [{ dst: "0.0.0.0/0" }];
  if (options.ipv6) {
    ranges.push([{ subnet: "2001:db8:88::/64" }]);
    routes.push({ dst: "::/0" });
  }
  const bridge = {
    type: "bridge",
    bridge: "cni0",
    isGateway: true,
    ipMasq: options.masquerade ?? true,
    hairpinMode: true,
    promiscMode: false,
    ipam: { type: "host-local", ranges, routes },
  };
  const portmap = { type: "portmap", capabilities: { portMappings: true }, snat: true };
  const network = { cniVersion: "0.4.0", name: NETWORK_NAME, plugins: [bridge, portmap] };
  return JSON.stringify(network, null, 2);
}

/** Whether something accepts connections on the socket. */
export function accepts(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
  });
}
