/**
 * Runs systemd-logind inside a box, on a system bus of the box's own, with the manager of `machine-logind.ts`. Makes the
 * file LOGIND_READY when it answers, and DOWN when it lets the machine go down. Ends with the box.
 */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createClient } from "dbus-native";
import { exportSystemd, LOGIND, LOGIND_READY, untilOwned } from "./machine-logind.ts";
import { busConfig, untilAccepts } from "./private-bus.ts";

const SOCKET = "/run/dbus/system_bus_socket";
const DOWN = "/run/machine-is-down";

mkdirSync("/run/dbus", { recursive: true });
mkdirSync("/run/systemd", { recursive: true });
mkdirSync("/run/user", { recursive: true });
writeFileSync("/run/dbus/bus.conf", busConfig(SOCKET));
spawn("dbus-daemon", ["--nofork", "--config-file=/run/dbus/bus.conf"], { stdio: "inherit" });
await untilAccepts(SOCKET);
const client = createClient({ busAddress: `unix:path=${SOCKET}`, variants: "wrap" });
client.connection.on("error", () => {});
exportSystemd(client, {
  onStart: () => writeFileSync(DOWN, ""),
  onReload: () => logind.kill("SIGHUP"),
});
await client.ownName("org.freedesktop.systemd1");
const logind = spawn(LOGIND, [], { stdio: "inherit" });
await untilOwned(client, logind);
writeFileSync(LOGIND_READY, "");
