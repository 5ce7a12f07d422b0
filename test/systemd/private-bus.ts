// A D-Bus daemon of our own on a socket of our own, so that nothing of the machine's buses is touched.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accepts } from "../box/containerd.ts";
import { findProgram } from "../box/prerequisites.ts";

/** Why no bus can be had here, in words for a skipped test; `false` when one can. */
export function busObstacle(): string | false {
  return findProgram("dbus-daemon") === undefined && "needs dbus-daemon (package dbus-daemon)";
}

export const busConfig = (
  socket: string,
) => `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>custom</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
    <allow user="*"/>
  </policy>
</busconfig>
`;

/** The socket is there before the daemon listens on it. */
export async function untilAccepts(socket: string): Promise<void> {
  while (!(await accepts(socket))) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A running bus; can be ended and started again on the same socket. */
export class PrivateBus implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "private-bus-"));
  #daemon: ChildProcess | undefined;

  static async start(): Promise<PrivateBus> {
    const bus = new PrivateBus();
    await bus.start();
    return bus;
  }

  get address(): string {
    return `unix:path=${this.#socket}`;
  }

  get #socket(): string {
    return join(this.folder, "bus");
  }

  async start(): Promise<void> {
    const file = join(this.folder, "bus.conf");
    writeFileSync(file, busConfig(this.#socket));
    rmSync(this.#socket, { force: true });
    const program = findProgram("dbus-daemon") ?? "";
    this.#daemon = spawn(program, ["--nofork", `--config-file=${file}`], { stdio: "ignore" });
    await untilAccepts(this.#socket);
  }

  async kill(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = undefined;
    if (!daemon || daemon.exitCode !== null) return;
    const ended = once(daemon, "exit");
    daemon.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
