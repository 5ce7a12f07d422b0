/**
 * The machine's own systemd-logind on a bus of our own, in a mount namespace of its own: it asks systemd to take the
 * machine down, and there a manager of ours notes that and does nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, type MessageBus } from "dbus-native";
import { connectLogind } from "../../src/outside/systemd/connect-logind.ts";
import type { LogindUnderTest } from "../contracts/logind-contract.ts";
import { busObstacle, PrivateBus } from "./private-bus.ts";

/** What `run-logind.ts` makes in a box when logind answers. */
export const LOGIND_READY = "/run/logind-ready";
export const LOGIND = "/lib/systemd/systemd-logind";
const LOGIN = "org.freedesktop.login1";
const SYSTEMD = "org.freedesktop.systemd1";
const PATH = "/org/freedesktop/systemd1";
const MANAGER = `${SYSTEMD}.Manager`;
const JOB = `${PATH}/job/7`;
/** How systemd spells `reboot.target` in a path. */
const REBOOT_PATH = `${PATH}/unit/reboot_2etarget`;
const READY_MS = 10_000;

/** Why logind cannot be had here, in words for a skipped test; `false` when it can. */
export function logindObstacle(): string | false {
  const bus = busObstacle();
  if (bus !== false) return bus;
  if (process.getuid?.() !== 0) return "needs root, for a mount namespace";
  return !existsSync(LOGIND) && "needs systemd-logind (package systemd)";
}

/** Everything of the machine that logind writes to is hidden from it, and its configuration is in our folder. */
const SCRIPT = `set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd /run/user
mount -t tmpfs tmpfs /etc/systemd
mkdir -p /etc/systemd/logind.conf.d
cp "$1"/logind.conf.d/* /etc/systemd/logind.conf.d/ 2>/dev/null || true
exec "$2"`;

/** Starts bus, manager and logind; `address` is that of the bus. */
export async function startLogind(): Promise<LogindUnderTest & { readonly address: string }> {
  const bus = await PrivateBus.start();
  const folder = join(bus.folder, "logind.conf.d");
  mkdirSync(folder);
  let isDown = false;
  let child: ChildProcess | undefined;
  const client = createClient({ busAddress: bus.address, variants: "wrap" });
  client.connection.on("error", () => {});
  exportSystemd(client, {
    onStart: () => {
      isDown = true;
    },
    onReload: () => child?.kill("SIGHUP"),
  });
  await client.ownName(SYSTEMD);
  child = spawn("unshare", ["--mount", "sh", "-c", SCRIPT, "sh", bus.folder, LOGIND], {
    env: { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: bus.address },
    stdio: "ignore",
  });
  const process_ = child;
  await untilOwned(client, process_);
  return {
    address: bus.address,
    logind: connectLogind({ address: bus.address }),
    configureDelay: async (seconds) => {
      const text = `[Login]\nInhibitDelayMaxSec=${seconds}\n`;
      const place = `/proc/${process_.pid}/root/etc/systemd/logind.conf.d/99-kubelet.conf`;
      writeFileSync(place, text);
    },
    reboot: async () => {
      isDown = false;
      await client.invoke({
        destination: LOGIN,
        path: "/org/freedesktop/login1",
        interface: `${LOGIN}.Manager`,
        member: "Reboot",
        signature: "b",
        body: [false],
      });
    },
    cancel: async () => {
      client.sendSignal(PATH, MANAGER, "JobRemoved", "uoss", [7, JOB, "reboot.target", "canceled"]);
    },
    isDown: () => isDown,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    [Symbol.asyncDispose]: async () => {
      const ended = once(process_, "exit");
      if (process_.exitCode === null && process_.kill("SIGKILL")) await ended;
      await client.close();
      await bus[Symbol.asyncDispose]();
    },
  };
}

/** As much of systemd's manager as logind asks for when the machine goes down. */
export function exportSystemd(
  client: MessageBus,
  { onStart, onReload }: { readonly onStart: () => void; readonly onReload: () => void },
): void {
  client.exportInterface(
    {
      Subscribe: () => null,
      StartUnit: () => {
        onStart();
        return JOB;
      },
      KillUnit: () => {
        onReload();
        return null;
      },
    },
    PATH,
    {
      name: MANAGER,
      methods: {
        Subscribe: ["", "", [], []],
        StartUnit: ["ss", "o", [], []],
        KillUnit: ["ssi", "", [], []],
      },
      signals: { JobRemoved: ["uoss", "id", "job", "unit", "result"] },
    },
  );
  client.exportInterface({ LoadState: "loaded" }, REBOOT_PATH, {
    name: `${SYSTEMD}.Unit`,
    properties: { LoadState: "s" },
  });
}

export async function untilOwned(client: MessageBus, child: ChildProcess): Promise<void> {
  const until = Date.now() + READY_MS;
  while (Date.now() < until && child.exitCode === null) {
    const owned = await client.invoke<boolean>({
      destination: "org.freedesktop.DBus",
      path: "/org/freedesktop/DBus",
      interface: "org.freedesktop.DBus",
      member: "NameHasOwner",
      signature: "s",
      body: [LOGIN],
    });
    if (owned) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`systemd-logind has not started (exit code ${child.exitCode})`);
}
