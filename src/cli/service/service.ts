/** `nodelet service`: the agent as a service of systemd. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseFlags } from "../../config/flags/flags.ts";
import { DEFAULT_FLAGS } from "../../config/flags/kubelet-flags.ts";
import { NEVER_ABORTED } from "../../kit/within.ts";
import { runProgram } from "../../outside/host/run-program.ts";
import { CliError } from "../cli-error.ts";
import { EXIT_NOT_FOUND, EXIT_OK } from "../exit-codes.ts";
import { type Io, writeLines } from "../io.ts";
import { API_FOLDER_VARIABLE, API_KUBECONFIG_VARIABLE, API_VOLUMES_VARIABLE } from "../own-api.ts";
import { SOCKET_VARIABLE } from "../socket.ts";
import type { UpPaths } from "../up/paths.ts";
import { readSupervisor } from "../up/supervise/supervisor-note.ts";
import { renderDropIn, renderUnit, UNIT_NAME, type UnitOptions } from "./unit.ts";

/** Where units are; another folder in tests. */
export interface ServicePlaces {
  /** `/etc/systemd/system`. */
  readonly units: string;
  /** Absolute path of the program. */
  readonly program: string;
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
const NO_CONFIG = "there is no configuration yet";

/** What the unit runs. */
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

/** Text and path of the file that makes the service. */
export function serviceFile(
  service: ServiceKind,
  { units, program }: ServicePlaces,
): { readonly path: string; readonly text: string; readonly unit: string } {
  const options = unitOptions(service, program);
  return service.kind === "kubeadm"
    ? { path: `${units}/${DROP_IN}`, text: renderDropIn(options), unit: KUBEADM_UNIT }
    : { path: `${units}/${UNIT_NAME}`, text: renderUnit(options), unit: UNIT_NAME };
}

/** Writes the unit; with `starts` it is enabled and started. Resolves with the exit code. */
export async function installService(
  service: ServiceKind,
  places: ServicePlaces,
  { io, starts }: { readonly io: Io; readonly starts: boolean },
): Promise<number> {
  if (service.kind === "own" && service.up) refuseSecond(service.up);
  const { path, text, unit } = serviceFile(service, places);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  const isSame = existsSync(path) && readFileSync(path, "utf8") === text;
  if (!isSame) {
    writeFileSync(`${path}.new`, text, { mode: 0o644 });
    renameSync(`${path}.new`, path);
  }
  writeLines(io.stdout, [`${isSame ? "unchanged" : "wrote"} ${path}`]);
  if (!starts) {
    writeLines(io.stdout, [`start it: systemctl daemon-reload && systemctl enable --now ${unit}`]);
    return EXIT_OK;
  }
  await systemctl(["daemon-reload"]);
  await systemctl(["enable", unit]);
  await systemctl(["restart", "--no-block", unit]);
  writeLines(io.stdout, [`started ${unit}; see: nodelet service status`]);
  return EXIT_OK;
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
  const own = serviceFile({ kind: "own", flags: [] }, places);
  const dropIn = serviceFile({ kind: "kubeadm" }, places);
  const found = [own, dropIn].filter(({ path }) => existsSync(path));
  if (found.length === 0) {
    writeLines(io.stdout, ["no service of nodelet is installed"]);
    return EXIT_OK;
  }
  for (const { path, unit } of found) {
    // The kubelet's unit stays: it only starts the kubelet again.
    if (path === own.path) await systemctl(["disable", "--now", unit], "may fail");
    rmSync(path, { force: true });
    writeLines(io.stdout, [`removed ${path}; pods keep running`]);
    await systemctl(["daemon-reload"], "may fail");
    if (path !== dropIn.path) continue;
    rmIfEmpty(dirname(path));
    writeLines(io.stdout, [`start the kubelet in its place: systemctl restart ${unit}`]);
  }
  return EXIT_OK;
}

function rmIfEmpty(folder: string): void {
  try {
    rmSync(folder, { recursive: false });
  } catch {
    // It holds files of others.
  }
}

/** Shows which service is installed and what systemd says of it. */
export async function showService(places: ServicePlaces, io: Io): Promise<number> {
  const files = [
    serviceFile({ kind: "own", flags: [] }, places),
    serviceFile({ kind: "kubeadm" }, places),
  ].filter(({ path }) => existsSync(path));
  if (files.length === 0) {
    writeLines(io.stdout, ["not installed; install it: sudo nodelet service install"]);
    return EXIT_NOT_FOUND;
  }
  for (const { path, unit } of files) {
    writeLines(io.stdout, [`installed: ${path}`]);
    const { stdout } = await systemctl(["show", unit, `--property=${SHOWN.join(",")}`], "may fail");
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

async function systemctl(args: readonly string[], failure?: "may fail") {
  const program = {
    path: "systemctl",
    args,
    env: {},
    input: "",
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
  };
  const result = await runProgram(program, NEVER_ABORTED);
  if (result.code !== 0 && failure === undefined) {
    throw new CliError(
      `systemctl ${args.join(" ")}: ${result.stderr.trim() || `code ${result.code}`}`,
      {
        fix: "where systemd does not run, start the agent with nodelet up --detach",
      },
    );
  }
  return result;
}
