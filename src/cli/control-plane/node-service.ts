/** The unit `kubelet` of systemd, by which a cluster's node starts after a reboot and kubeadm restarts the agent. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { CliError } from "../../present/cli-error.ts";
import { NODE_SERVICE, runSystemctl } from "../service/service.ts";
import { renderNodeUnit, type SupervisorUnit } from "../service/unit.ts";
import { type HostLedger, type OpenLedger, readLedger, type ServiceNote } from "../up/ledger.ts";
import type { UpPaths } from "../up/paths.ts";

const UNITS = "/etc/systemd/system";
/** The name by which kubeadm stops and starts the agent. */
const NODE_UNIT = NODE_SERVICE.unit;
const UNIT_FILE = `${UNITS}/${NODE_SERVICE.file}`;
const DROP_IN_FILE = `${UNITS}/${NODE_SERVICE.dropIn}`;

/** Whether systemd is the machine's first process, as sd_booted(3) finds out. */
export function hasSystemd(): boolean {
  return existsSync("/run/systemd/system");
}

/** Writes the unit, or a drop-in where a package has brought one, enables and starts it. Throws `CliError`. */
export async function startNodeService(ledger: OpenLedger, unit: SupervisorUnit): Promise<void> {
  const note = ledger.now.service ?? (await serviceBefore());
  ledger.expectFolders([dirname(note.file)]);
  ledger.change(() => ({ service: note }));
  mkdirSync(dirname(note.file), { recursive: true, mode: 0o755 });
  const text = renderNodeUnit(unit, note.file === UNIT_FILE ? "unit" : "drop-in");
  ledger.writeFile(note.file, text, 0o644);
  await systemctl("daemon-reload");
  await systemctl("enable", NODE_UNIT);
  await systemctl("restart", NODE_UNIT);
}

/** Stops the supervisor, and with it the agent, where it is a service; containers keep running. Throws `CliError`. */
export async function stopNodeService({ ledger }: Pick<UpPaths, "ledger">): Promise<void> {
  if (hasSystemd() && readLedger(ledger)?.service) await systemctl("stop", NODE_UNIT);
}

/** Takes the service back, with `removeFile` between its two halves: the unit of a package is as before. Throws `CliError`. */
export async function removeNodeService(
  { service }: Pick<HostLedger, "service">,
  removeFile: () => void,
): Promise<void> {
  const note = hasSystemd() ? service : undefined;
  // Links to a unit without a file would be left behind.
  if (note?.enabled === false) await systemctl("disable", NODE_UNIT);
  removeFile();
  if (note === undefined) return;
  await systemctl("daemon-reload");
  if (note.started) await systemctl("start", "--no-block", NODE_UNIT);
}

async function serviceBefore(): Promise<ServiceNote> {
  const names = ["FragmentPath", "UnitFileState", "ActiveState"] as const;
  const text = await systemctl("show", NODE_UNIT, `--property=${names.join(",")}`);
  const [path, enabled, active] = names.map(
    (name) => new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1] ?? "",
  );
  return {
    file: path === "" || path === UNIT_FILE ? UNIT_FILE : DROP_IN_FILE,
    enabled: enabled === "enabled",
    started: active !== "inactive" && active !== "failed",
  };
}

/** Standard output of systemctl; throws `CliError` with what it says when it fails. */
async function systemctl(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runSystemctl(args);
  if (code === 0) return stdout;
  throw new CliError(`systemctl ${args.join(" ")}: ${stderr.trim() || `code ${code}`}`, {
    fix: `see: systemctl status ${NODE_UNIT}; journalctl -u ${NODE_UNIT}`,
  });
}
