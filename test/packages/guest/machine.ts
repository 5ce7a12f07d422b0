/** An emulated machine that boots from a disk, and answers commands over a serial port of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { EMULATION, guestParts, KERNEL_ARGUMENTS, QEMU } from "../../../tools/guest/guest.mjs";

const MEMORY_MIB = 4096;
const COMMAND_MS = 300_000;
const CONNECT_TRIES = 200;

/** See the head of this file. */
export class Machine {
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly #socket: Socket;
  readonly #answers = new Map<string, (output: string) => void>();
  #count = 0;
  /** Boot ids in the order in which they announced themselves. */
  readonly boots: string[] = [];
  /** Lines that programs of the machine have written with `say`. */
  readonly reported: string[] = [];

  private constructor(folder: string, child: ChildProcess, socket: Socket) {
    this.#folder = folder;
    this.#process = child;
    this.#socket = socket;
    createInterface({ input: socket }).on("line", (line) => this.#take(line.trim()));
    socket.on("error", () => {});
  }

  /** Switches the machine on; `folder` holds what belongs to it. */
  static async start(disk: string, folder: string): Promise<Machine> {
    const { kernel, initramfs } = guestParts();
    const channel = join(folder, "channel.sock");
    const child = spawn(
      QEMU,
      [
        ...EMULATION,
        ...["-m", `${MEMORY_MIB}`, "-kernel", kernel, "-initrd", initramfs],
        ...["-append", `${KERNEL_ARGUMENTS} rw systemd.show_status=0`],
        ...["-nodefaults", "-display", "none", "-vga", "none", "-monitor", "none", "-net", "none"],
        // What the machine has written survives its end; only what it holds back is lost.
        ...["-drive", `file=${disk},format=raw,if=virtio,cache=unsafe`],
        ...["-chardev", `file,id=console,path=${join(folder, "console.log")},append=on`],
        ...["-serial", "chardev:console"],
        ...["-chardev", `socket,id=channel,path=${channel},server=on,wait=on`],
        ...["-serial", "chardev:channel"],
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const socket = await dial(channel);
    return new Machine(folder, child, socket);
  }

  /** Resolves when the machine has booted for the `count`th time since it was switched on. */
  async booted(count: number, limitMs: number): Promise<void> {
    await this.#until(`boot ${count}`, limitMs, () => this.boots.length >= count);
  }

  /** What a shell command prints; rejects unless it ends with 0. */
  async run(command: string, limitMs = COMMAND_MS): Promise<string> {
    this.#count += 1;
    const number = String(this.#count);
    const text = Buffer.from(`(\n${command}\n)\necho "code $?"`).toString("base64");
    let answer: string | undefined;
    this.#answers.set(number, (output) => {
      answer = Buffer.from(output, "base64").toString();
    });
    this.#socket.write(`${number} ${text}\n`);
    await this.#until(command, limitMs, () => answer !== undefined);
    const [, output = "", code] = /^([\s\S]*?)code (\d+)\n$/.exec(answer ?? "") ?? [];
    if (code !== "0") throw new Error(`code ${code}: ${command}\n${answer}`);
    return output;
  }

  /** Waits until a command prints what matches; resolves with that. */
  async until(command: string, pattern: RegExp, limitMs: number): Promise<string> {
    const began = performance.now();
    for (;;) {
      const output = await this.run(`${command} || true`);
      if (pattern.test(output)) return output;
      if (performance.now() - began > limitMs)
        throw new Error(`not within ${limitMs} ms: ${command}\n${output}`);
      await sleep(1_000);
    }
  }

  /** Takes the power away: what was not written to the disk is lost. */
  async cutPower(): Promise<void> {
    const gone = new Promise((resolve) => this.#process.once("close", resolve));
    this.#process.kill("SIGKILL");
    await gone;
    this.#socket.destroy();
  }

  /** What is on its console. */
  console(): string {
    return readFileSync(join(this.#folder, "console.log"), "utf8");
  }

  #take(line: string): void {
    const [first = "", second = "", ...others] = line.split(" ");
    if (first === "boot") this.boots.push(second);
    else if (first === "say") this.reported.push([second, ...others].join(" "));
    else this.#answers.get(first)?.(second);
  }

  async #until(what: string, limitMs: number, test: () => boolean): Promise<void> {
    const began = performance.now();
    while (!test()) {
      if (this.#process.exitCode !== null) throw new Error(`the machine is off: ${what}`);
      if (performance.now() - began > limitMs)
        throw new Error(`not within ${limitMs} ms: ${what}\n${this.console().slice(-4000)}`);
      await sleep(50);
    }
  }
}

async function dial(path: string): Promise<Socket> {
  for (let tries = 1; ; tries += 1) {
    const socket = connect(path);
    const connected = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    if (connected) return socket;
    if (tries === CONNECT_TRIES) throw new Error(`nothing answers at ${path}`);
    await sleep(50);
  }
}
