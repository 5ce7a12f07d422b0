/** The systemd units of the agent: what `nodelet service install` writes, and what packages ship. */
import { lastExitPath } from "../../node/last-exit.ts";

export interface UnitOptions {
  /** The agent's command: absolute path of the program, then its arguments. */
  readonly command: readonly string[];
  /** Names of variables whose words are further arguments. */
  readonly variables?: readonly string[];
  /** Variables of the agent. */
  readonly env?: Readonly<Record<string, string>>;
  /** Files with further variables; one that is missing is none. */
  readonly envFiles?: readonly string[];
  /** Further units that are started before it. */
  readonly after?: readonly string[];
  /** The agent's root folder, for the note of how it ended. */
  readonly rootFolder: string;
}

/** Name of the unit. */
export const UNIT_NAME = "nodelet.service";
/** systemd ends an agent that has not shown for so long that it is well. */
const WATCHDOG_SECONDS = 60;
/** Between two starts; systemd of Debian 12 cannot raise it by itself. */
const RESTART_SECONDS = 5;
/** How long the agent has for closing its files; pods keep running. */
const STOP_SECONDS = 30;
const MAX_OPEN_FILES = 1_048_576;
/**
 * Of the agent, its file workers and the programs that it starts; containers are in groups of their own. The agent, whose heap
 * has a limit of 512 MiB, restarts itself at four fifths of the lower one.
 */
const MEMORY_HIGH = "1G";
const MEMORY_MAX = "1280M";
/** As `oomScoreAdj` of the configuration: the kernel ends pods before the agent. */
const OOM_SCORE = -999;

/** Before it the network is there, since pods may need it, and after it containers can still be ended. */
const AFTER = ["network-online.target", "containerd.service", "dbus.service"];

/**
 * Rights that the agent has no use for. What would put it into a mount namespace of its own (ProtectSystem=, PrivateTmp=
 * and their like) is left out: volumes that it mounts have to be seen by the container runtime.
 */
const HARDENING = [
  "NoNewPrivileges=yes",
  "LockPersonality=yes",
  "RestrictRealtime=yes",
  "SystemCallArchitectures=native",
  "SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap",
  "SystemCallErrorNumber=EPERM",
  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
  "CapabilityBoundingSet=~CAP_SYS_MODULE CAP_SYS_RAWIO CAP_SYS_TIME CAP_SYS_PACCT CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_LEASE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_SYS_TTY_CONFIG",
];

/** Of a service whose containers outlive it, and which has to outlive pods when memory is short. */
const OUTLIVED = [
  "Restart=always",
  `RestartSec=${RESTART_SECONDS}`,
  "# Containers keep running: only the process of the service is ended, and their groups are theirs.",
  "KillMode=process",
  "Delegate=yes",
  `OOMScoreAdjust=${OOM_SCORE}`,
  `LimitNOFILE=${MAX_OPEN_FILES}`,
  "LimitNPROC=infinity",
  "LimitCORE=0",
  "TasksMax=infinity",
];

/** Lines of the section `[Service]`, for a unit of its own and for a drop-in. */
function serviceLines(options: UnitOptions): readonly string[] {
  const { command, variables = [], env = {}, envFiles = [], rootFolder } = options;
  return [
    "Type=notify",
    "# The messages are sent by a program that the agent starts.",
    "NotifyAccess=all",
    ...environmentLines(env),
    ...envFiles.map((file) => `EnvironmentFile=-${file}`),
    `ExecStart=${[...command.map(word), ...variables.map((name) => `$${name}`)].join(" ")}`,
    "# For `nodelet why --agent`.",
    `ExecStopPost=-/bin/sh -c ${quoted(noteOf(rootFolder))}`,
    "# A runtime that is not there yet, or a certificate that is not signed, is waited for.",
    "TimeoutStartSec=infinity",
    `TimeoutStopSec=${STOP_SECONDS}`,
    `WatchdogSec=${WATCHDOG_SECONDS}`,
    `MemoryHigh=${MEMORY_HIGH}`,
    `MemoryMax=${MEMORY_MAX}`,
    ...OUTLIVED,
    ...HARDENING,
  ];
}

/** The text of the unit file. */
export function renderUnit(options: UnitOptions): string {
  const after = [...AFTER, ...(options.after ?? [])].join(" ");
  return [
    "# Written by nodelet; change it with `systemctl edit nodelet`.",
    "[Unit]",
    "Description=nodelet, the Kubernetes node agent",
    `Wants=${["network-online.target", ...(options.after ?? [])].join(" ")}`,
    `After=${after}`,
    "# It is started again for as long as it takes, at the pace of RestartSec=.",
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    ...serviceLines(options),
    "",
    "[Install]",
    "WantedBy=multi-user.target",
    "",
  ].join("\n");
}

/** Name of the unit of the containerd that `nodelet up` made where it found none to use. */
export const RUNTIME_UNIT_NAME = "nodelet-containerd.service";

/** The unit of that containerd: containers outlive it as they outlive the agent. */
export function renderRuntimeUnit(config: string): string {
  return [
    "# Written by nodelet; change it with `systemctl edit nodelet-containerd`.",
    "[Unit]",
    "Description=containerd of nodelet",
    "After=network.target local-fs.target",
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "Type=notify",
    `ExecStart=containerd --config ${word(config)}`,
    ...OUTLIVED,
    "",
    "[Install]",
    "WantedBy=multi-user.target",
    "",
  ].join("\n");
}

/** A drop-in that has the unit of another kubelet start nodelet; without the file it starts its own again. */
export function renderDropIn(options: UnitOptions): string {
  return [
    "# Written by nodelet: this unit starts nodelet in place of the kubelet until this file is removed.",
    "[Unit]",
    `After=${AFTER.join(" ")}`,
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "ExecStart=",
    ...serviceLines(options),
    "",
  ].join("\n");
}

/** First line of the unit of a cluster's node. */
const NODE_UNIT_HEAD = "# Written by nodelet; `nodelet down` and `nodelet leave` remove it.";

/** Whether the text of a unit or drop-in is that of a cluster's node. */
export function isNodeUnit(text: string): boolean {
  return text.startsWith(NODE_UNIT_HEAD);
}

/** The supervisor of a cluster's node as a service. */
export interface SupervisorUnit {
  /** Its command: absolute path of the program, then its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The unit `kubelet` of a node that `nodelet up --control-plane` or `nodelet join` makes: it runs the supervisor, which keeps
 * agent and containerd running, and kubeadm stops and starts it by its name. As a drop-in it takes the place of what the
 * unit of a kubelet's package starts.
 */
export function renderNodeUnit({ command, env }: SupervisorUnit, as: "unit" | "drop-in"): string {
  const isUnit = as === "unit";
  return [
    NODE_UNIT_HEAD,
    "[Unit]",
    ...(isUnit ? ["Description=nodelet, the Kubernetes node agent"] : []),
    "Wants=network-online.target",
    `After=${AFTER.join(" ")}`,
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "Type=exec",
    ...environmentLines(env),
    ...(isUnit ? [] : ["ExecStart="]),
    `ExecStart=${command.map(word).join(" ")}`,
    `TimeoutStopSec=${STOP_SECONDS}`,
    ...OUTLIVED,
    ...(isUnit ? ["", "[Install]", "WantedBy=multi-user.target"] : []),
    "",
  ].join("\n");
}

function environmentLines(env: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`);
}

/** Writes how the agent ended, as `parseLastExit` reads it. */
function noteOf(rootFolder: string): string {
  const line = '"$$SERVICE_RESULT $$EXIT_CODE $$EXIT_STATUS $$(date +%s)"';
  return `echo ${line} > '${lastExitPath(rootFolder)}'`;
}

/** An argument of a command as systemd reads it, with nothing for it to expand. */
function word(text: string): string {
  const whole = quoted(text.replaceAll("$", "$$$$"));
  return /^"[A-Za-z0-9_./:=,@%+$-]+"$/.test(whole) ? whole.slice(1, -1) : whole;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;
}
