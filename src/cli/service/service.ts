/** `nodelet service`: the agent as a service of systemd. */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { SOCKET_VARIABLE } from "../../client/socket.ts";
import { parseFlags } from "../../config/flags/flags.ts";
import { DEFAULT_FLAGS } from "../../config/flags/kubelet-flags.ts";
import { isOutside, messageOf } from "../../kit/errors.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import { runProgram } from "../../outside/host/run-program.ts";
import type { ProgramResult } from "../../outside/program.ts";
import { CliError } from "../../present/cli-error.ts";
import { EXIT_NOT_FOUND, EXIT_OK } from "../../present/exit-codes.ts";
import {
  API_FOLDER_VARIABLE,
  API_KUBECONFIG_VARIABLE,
  API_VOLUMES_VARIABLE,
} from "../../process/own-api.ts";
import { type Io, writeLines } from "../io.ts";
import type { UpPaths } from "../up/paths.ts";
import { readSupervisor } from "../up/supervise/supervisor-note.ts";
import {
  isNodeUnit,
  RUNTIME_UNIT_NAME,
  renderDropIn,
  renderRuntimeUnit,
  renderUnit,
  UNIT_NAME,
  type UnitOptions,
} from "./unit.ts";

/** Folder of unit files; another one in tests. */
export interface ServicePlaces {
  /** `/etc/systemd/system`. */
  readonly units: string;
  /** Absolute path of the program. */
  readonly program: string;
  /** Runs systemctl with these arguments. */
  readonly systemctl: (args: readonly string[]) => Promise<ProgramResult>;
}

/** Which service is meant. */
export type ServiceKind =
  /** A unit of its own. */
  | { readonly kind: "own"; readonly flags: readonly string[]; readonly up?: UpPaths }
  /** The kubelet's unit, as kubeadm has set it up. */
  | { readonly kind: "kubeadm" };

/** Folder of the drop-ins of kubeadm's unit. */
const DROP_INS = "kubelet.service.d";
/** After kubeadm's own, `10-kubeadm.conf`. */
const DROP_IN = `${DROP_INS}/20-nodelet.conf`;
const KUBEADM_UNIT = "kubelet.service";

/** The unit of a node that `nodelet up --control-plane` or `nodelet join` has made, and its files below the folder of units. */
export const NODE_SERVICE = {
  unit: KUBEADM_UNIT,
  file: KUBEADM_UNIT,
  /** After kubeadm's own, and after that of `nodelet service install --kubeadm`. */
  dropIn: `${DROP_INS}/90-nodelet-node.conf`,
} as const;

const NO_CONFIG = "there is no configuration yet";

/** Command and environment of the unit. */
export function unitOptions(service: ServiceKind, program: string): UnitOptions {
  if (service.kind === "kubeadm") return KUBEADM(program);
  const { up, flags } = service;
  if (!up) return { command: [program, "run", ...flags], rootFolder: rootOf(flags) };
  return {
    rootFolder: up.agentRoot,
    command: [program, "run", `--config=${up.config}`, `--root-dir=${up.agentRoot}`, ...flags],
    env: {
      [SOCKET_VARIABLE]: up.agentSocket,
      [API_FOLDER_VARIABLE]: up.api,
      [API_KUBECONFIG_VARIABLE]: up.kubeconfig,
      [API_VOLUMES_VARIABLE]: up.volumes,
    },
  };
}

function rootOf(flags: readonly string[]): string {
  return parseFlags(flags).flags.rootDir;
}

/** The variables of kubeadm's drop-in `10-kubeadm.conf`, by the names and in the order that it has. */
const KUBEADM = (program: string): UnitOptions => ({
  command: [program, "run"],
  rootFolder: DEFAULT_FLAGS.rootDir,
  variables: [
    "KUBELET_KUBECONFIG_ARGS",
    "KUBELET_CONFIG_ARGS",
    "KUBELET_KUBEADM_ARGS",
    "KUBELET_EXTRA_ARGS",
  ],
  env: {
    KUBELET_KUBECONFIG_ARGS:
      "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf",
    KUBELET_CONFIG_ARGS: "--config=/var/lib/kubelet/config.yaml",
  },
  envFiles: [
    "/var/lib/kubelet/kubeadm-flags.env",
    "/etc/default/kubelet",
    "/etc/sysconfig/kubelet",
  ],
});

/** A file that makes a service, or a part of it. */
interface ServiceFile {
  readonly path: string;
  readonly text: string;
  /** The unit that it is of. */
  readonly unit: string;
}

/** The files that make the service; the agent's own is the last. */
export function serviceFiles(
  service: ServiceKind,
  { units, program }: Pick<ServicePlaces, "units" | "program">,
): readonly ServiceFile[] {
  const options = unitOptions(service, program);
  if (service.kind === "kubeadm")
    return [{ path: `${units}/${DROP_IN}`, text: renderDropIn(options), unit: KUBEADM_UNIT }];
  const runtime = service.up && usesOwnRuntime(service.up) ? service.up.containerd.config : "";
  const own = { path: `${units}/${UNIT_NAME}`, unit: UNIT_NAME };
  if (runtime === "") return [{ ...own, text: renderUnit(options) }];
  return [
    {
      path: `${units}/${RUNTIME_UNIT_NAME}`,
      text: renderRuntimeUnit(runtime),
      unit: RUNTIME_UNIT_NAME,
    },
    { ...own, text: renderUnit({ ...options, after: [RUNTIME_UNIT_NAME] }) },
  ];
}

/** Whether the agent of `up` runs pods on the containerd that `up` started: no other program starts that. */
function usesOwnRuntime({ config, containerd }: UpPaths): boolean {
  return existsSync(config) && readFileSync(config, "utf8").includes(containerd.socket);
}

/** All files of services that are installed there. */
function installedFiles({ units }: Pick<ServicePlaces, "units">): readonly ServiceFile[] {
  return [
    { path: `${units}/${UNIT_NAME}`, text: "", unit: UNIT_NAME },
    { path: `${units}/${RUNTIME_UNIT_NAME}`, text: "", unit: RUNTIME_UNIT_NAME },
    { path: `${units}/${DROP_IN}`, text: "", unit: KUBEADM_UNIT },
  ].filter(({ path }) => existsSync(path));
}

/** That of a cluster's node, where there is one. */
function nodeFiles({ units }: Pick<ServicePlaces, "units">): readonly ServiceFile[] {
  return [NODE_SERVICE.file, NODE_SERVICE.dropIn]
    .map((name) => ({ path: `${units}/${name}`, text: "", unit: NODE_SERVICE.unit }))
    .filter(({ path }) => existsSync(path) && isNodeUnit(readFileSync(path, "utf8")));
}

/** The agent would be started twice, or without what keeps it running. */
function refuseOnClusterNode(places: Pick<ServicePlaces, "units">): void {
  const [found] = nodeFiles(places);
  if (found === undefined) return;
  throw new CliError(`the service ${found.unit} runs nodelet on this node already: ${found.path}`, {
    fix: "nodelet service status shows it; nodelet down or nodelet leave removes it with the node",
  });
}

/** Writes the unit; with `starts` it is enabled and started. Resolves with the exit code. */
export async function installService(
  service: ServiceKind,
  places: ServicePlaces,
  { io, starts }: { readonly io: Io; readonly starts: boolean },
): Promise<number> {
  refuseOnClusterNode(places);
  if (service.kind === "own" && service.up) refuseSecond(service.up);
  const files = serviceFiles(service, places);
  for (const file of files)
    writeLines(io.stdout, [`${writeUnit(file) ? "wrote" : "unchanged"} ${file.path}`]);
  const units = files.map(({ unit }) => unit);
  if (!starts) {
    // The kubelet's unit is enabled, and may run.
    const start = service.kind === "kubeadm" ? "restart" : "enable --now";
    const names = units.join(" ");
    writeLines(io.stdout, [`start it: systemctl daemon-reload && systemctl ${start} ${names}`]);
    return EXIT_OK;
  }
  await mustSystemctl(places, ["daemon-reload"]);
  await mustSystemctl(places, ["enable", ...units]);
  await mustSystemctl(places, ["restart", "--no-block", ...units]);
  writeLines(io.stdout, [`started ${units.join(" and ")}; see: nodelet service status`]);
  return EXIT_OK;
}

/** Replaces the file in one step; false when it is there already as it should be. */
function writeUnit({ path, text }: ServiceFile): boolean {
  if (existsSync(path) && readFileSync(path, "utf8") === text) return false;
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeFileSync(`${path}.new`, text, { mode: 0o644 });
  renameSync(`${path}.new`, path);
  return true;
}

/** Two supervisors would start two agents. */
function refuseSecond(up: UpPaths): void {
  if (!existsSync(up.config)) {
    throw new CliError(`${NO_CONFIG}: ${up.config} is missing`, {
      fix: "run sudo nodelet up --detach once, then sudo nodelet stop; or give the agent's flags: nodelet service install -- --config=FILE",
    });
  }
  const running = readSupervisor(up);
  if (!running) return;
  throw new CliError(`nodelet up (process ${running.supervisor.pid}) runs the agent`, {
    fix: "stop it first, pods are started again after that: sudo nodelet stop",
  });
}

/** Stops the service and removes its file; pods keep running. */
export async function removeService(places: ServicePlaces, io: Io): Promise<number> {
  const found = installedFiles(places);
  if (found.length === 0) {
    const [ofNode] = nodeFiles(places);
    writeLines(io.stdout, [
      ofNode === undefined
        ? "no service of nodelet is installed"
        : `${ofNode.path} is of this node, which nodelet down or nodelet leave removes`,
    ]);
    return EXIT_OK;
  }
  for (const { path, unit } of found) {
    // The kubelet's unit stays: it only starts the kubelet again.
    if (unit !== KUBEADM_UNIT) await places.systemctl(["disable", "--now", unit]);
    rmSync(path, { force: true });
    writeLines(io.stdout, [`removed ${path}; pods keep running`]);
    await places.systemctl(["daemon-reload"]);
    if (unit !== KUBEADM_UNIT) continue;
    rmIfEmpty(dirname(path));
    writeLines(io.stdout, [`start the kubelet in its place: systemctl restart ${unit}`]);
  }
  return EXIT_OK;
}

function rmIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It holds files of others.
  }
}

/** Shows which service is installed and what systemd says of it. */
export async function showService(places: ServicePlaces, io: Io): Promise<number> {
  const files = [...installedFiles(places), ...nodeFiles(places)];
  if (files.length === 0) {
    writeLines(io.stdout, ["not installed; install it: sudo nodelet service install"]);
    return EXIT_NOT_FOUND;
  }
  for (const { path, unit } of files) {
    writeLines(io.stdout, [`installed: ${path}`]);
    const { stdout } = await places.systemctl(["show", unit, `--property=${SHOWN.join(",")}`]);
    writeLines(io.stdout, describeService(stdout));
  }
  return EXIT_OK;
}

const SHOWN = ["ActiveState", "SubState", "MainPID", "StatusText", "NRestarts", "Result"];

/** Properties, as `systemctl show` prints them, in words. */
export function describeService(shown: string): readonly string[] {
  const of = new Map(
    shown
      .split("\n")
      .filter((line) => line.includes("="))
      .map((line): [string, string] => {
        const at = line.indexOf("=");
        return [line.slice(0, at), line.slice(at + 1)];
      }),
  );
  const state = of.get("ActiveState");
  if (state === undefined) return ["systemd does not answer"];
  const result = of.get("Result") ?? "success";
  return [
    `state: ${state} (${of.get("SubState")})${of.get("MainPID") === "0" ? "" : `, process ${of.get("MainPID")}`}`,
    ...(of.get("StatusText") ? [`agent: ${of.get("StatusText")}`] : []),
    `restarts: ${of.get("NRestarts")}${result === "success" ? "" : `, last end: ${result}`}`,
  ];
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

async function mustSystemctl(
  { systemctl }: Pick<ServicePlaces, "systemctl">,
  args: readonly string[],
): Promise<void> {
  const { code, stderr } = await systemctl(args);
  if (code === 0) return;
  throw new CliError(`systemctl ${args.join(" ")}: ${stderr.trim() || `code ${code}`}`, {
    fix: "where systemd does not run, start the agent with nodelet up --detach",
  });
}

/** Exit code of shells for a program that is not there. */
const NO_PROGRAM = 127;

/** The machine's own systemctl. One that cannot be run has failed. */
export async function runSystemctl(args: readonly string[]): Promise<ProgramResult> {
  const program = {
    path: "systemctl",
    args,
    env: {},
    input: "",
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
  };
  try {
    return await runProgram(program, NEVER_ABORTED);
  } catch (error) {
    if (!isOutside(error)) throw error;
    return { code: NO_PROGRAM, by: "", stdout: "", stderr: messageOf(error) };
  }
}
