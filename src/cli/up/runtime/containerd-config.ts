// pure
import type { ContainerdPaths } from "../paths.ts";
import type { OciHandlers, OciRuntime } from "./oci-runtimes.ts";

interface ContainerdConfigOptions {
  readonly sandboxImage: string;
  readonly handlers: OciHandlers;
  /** Folder of network configurations; default our own. */
  readonly cniConfigs?: string;
  /** Folder of the CNI plugins. */
  readonly cniPlugins: string;
  /** File from which containerd makes the pods' network once the cluster has given the node its addresses. */
  readonly cniTemplate?: string | undefined;
  readonly snapshotter: "overlayfs" | "native";
  /** Without CAP_SYS_RESOURCE nothing may be given a lower `oom_score_adj` than it has. */
  readonly mayLowerOomScore: boolean;
}

/** Plugins that have nothing to do here: they only take time at start and fill the log with refusals. */
const UNUSED_PLUGINS = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp",
];

/**
 * The restart monitor (its name to 1.7, and from 2.0) obeys labels of containers, and containerd once took labels of images
 * over to them: an image could have a program of the node run by root (CVE-2026-53488). The agent restarts containers.
 */
const UNSAFE_PLUGINS = [
  "io.containerd.internal.v1.restart",
  "io.containerd.monitor.container.v1.restart",
];

/**
 * containerd's configuration file (TOML, layout version 2, which 1.6 to 2.x read). Cgroups by file
 * system, as the agent makes them.
 */
export function containerdConfig(paths: ContainerdPaths, options: ContainerdConfigOptions): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const { sandboxImage, handlers, cniPlugins, cniTemplate, snapshotter } = options;
  const { cniConfigs = paths.cniConfigs } = options;
  const { mayLowerOomScore } = options;
  return `# Written by "nodelet up" at every start; changes are lost.
version = 2
root = ${quoted(paths.root)}
state = ${quoted(paths.state)}
oom_score = ${mayLowerOomScore ? -999 : 0}
disabled_plugins = [${[...UNUSED_PLUGINS, ...UNSAFE_PLUGINS].map(quoted).join(", ")}]

[grpc]
address = ${quoted(paths.socket)}

[ttrpc]
address = ${quoted(ttrpcSocket(paths.socket))}

[plugins."io.containerd.internal.v1.opt"]
path = ${quoted(`${paths.root}/opt`)}

[plugins."io.containerd.nri.v1.nri"]
socket_path = ${quoted(`${paths.state}/nri.sock`)}

[${cri}]
netns_mounts_under_state_dir = true
sandbox_image = ${quoted(sandboxImage)}
restrict_oom_score_adj = ${!mayLowerOomScore}
stream_server_address = "127.0.0.1"
stream_server_port = "0"

[${cri}.containerd]
snapshotter = ${quoted(snapshotter)}
default_runtime_name = ${quoted(handlers.chosen)}

${handlers.runtimes.map((runtime) => handlerSection(cri, runtime, `${paths.state}/oci`)).join("")}[${cri}.cni]
bin_dir = ${quoted(cniPlugins)}
conf_dir = ${quoted(cniConfigs)}
${cniTemplate === undefined ? "" : `conf_template = ${quoted(cniTemplate)}\n`}
[${cri}.registry]
config_path = "/etc/containerd/certs.d"
`;
}

/**
 * A handler with the shim and, where that takes them, the program to call and the folder of its state: crun leaves a cache of
 * its own in that, which goes with the folder.
 */
function handlerSection(cri: string, { name, type, path }: OciRuntime, state: string): string {
  const section = `${cri}.containerd.runtimes.${name}`;
  const lines = [`BinaryName = ${quoted(path ?? "")}`, `Root = ${quoted(state)}`];
  const options =
    path === undefined
      ? ""
      : `[${section}.options]\n${lines.join("\n")}\nSystemdCgroup = false\n\n`;
  return `[${section}]\nruntime_type = ${quoted(type)}\n\n${options}`;
}

/** Socket on which shims and others call containerd by ttrpc. */
export function ttrpcSocket(socket: string): string {
  return `${socket}.ttrpc`;
}

/** A TOML basic string; what JSON escapes, TOML escapes in the same way. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
