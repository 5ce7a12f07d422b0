/** A bare machine in a box, with the command line as it is shipped, and a picture of what is on it. */
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Box,
  type BoxOptions,
  type BoxProcess,
  type ExecResult,
  startBox,
} from "../box/box.ts";
import { differences, machinePicture } from "../support/picture.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

const PROGRAM = join(resolve(import.meta.dirname, "../.."), "bin/nodelet");
const COMMAND_MS = 120_000 * TIMEOUT_FACTOR;
const WAIT_MS = 60_000 * TIMEOUT_FACTOR;
const POLL_MS = 50;
/** How long processes of a command that has ended may take to exit. */
const EXIT_MS = 5_000 * TIMEOUT_FACTOR;

/** A box and the command in it. */
export class NodeBox implements AsyncDisposable {
  readonly box: Box;
  readonly #program: string;

  constructor(box: Box, program = PROGRAM) {
    this.box = box;
    this.#program = program;
  }

  /** Runs `nodelet` to its end. */
  nodelet(
    argv: readonly string[],
    env: Record<string, string> = {},
    stdin = "",
  ): Promise<ExecResult> {
    return this.box.exec([this.#program, ...argv], { env, stdin, timeoutMs: COMMAND_MS });
  }

  /** Like `nodelet`, but fails when the code is not 0; gives standard output. */
  async run(...argv: readonly string[]): Promise<string> {
    return await this.box.run([this.#program, ...argv], { timeoutMs: COMMAND_MS });
  }

  /** Starts `nodelet` and gathers what it writes. */
  start(argv: readonly string[], env: Record<string, string> = {}): Running {
    return new Running(this.box.spawn([this.#program, ...argv], { env }));
  }

  /** Starts `nodelet` on a terminal of its own. */
  startOnTerminal(command: string, env: Record<string, string> = {}): Running {
    // In place of the shell: that would take the Ctrl-C for its own.
    const line = command.replace(/^nodelet/, `exec ${this.#program}`);
    return new Running(
      this.box.spawn(["script", "-qec", line, "/dev/null"], { env: { TERM: "xterm", ...env } }),
    );
  }

  /** Runs `nodelet` again and again until it prints what matches. */
  async printed(argv: readonly string[], pattern: RegExp): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const { stdout } = await this.nodelet(argv);
      if (pattern.test(stdout)) return;
      if (performance.now() > deadline)
        throw new Error(`${argv.join(" ")} prints no ${pattern}:\n${stdout}`);
      await sleep(POLL_MS);
    }
  }

  /** Process ids of the program, in the box's own counting. */
  async pids(name: string): Promise<readonly string[]> {
    const { stdout } = await this.box.exec(["pgrep", "-x", name]);
    return stdout.split("\n").filter((line) => line !== "");
  }

  /** Everything on the machine that `down` has to take back, one thing a line. */
  picture(): Promise<readonly string[]> {
    return machinePicture(this.box);
  }

  /**
   * What is on the machine now and was not in the picture `before`, and the other way round. Processes are waited for: a
   * file worker exits when it sees that its command has, which takes a moment on a busy machine.
   */
  async changesSince(before: readonly string[]): Promise<readonly string[]> {
    const deadline = performance.now() + EXIT_MS;
    for (;;) {
      const found = differences(before, await this.picture());
      const isExiting = found.some((line) => line.startsWith("new: process "));
      if (!isExiting || performance.now() > deadline) return found;
      await sleep(POLL_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box.dispose();
  }
}

/** A bare machine: no containerd, no network for pods. The program is that of the checkout unless another is named. */
export async function bareMachine(options: BoxOptions = {}, program?: string): Promise<NodeBox> {
  return new NodeBox(await startBox({ containerd: "none", network: false, ...options }), program);
}

/** A command that runs. */
export class Running {
  readonly process: BoxProcess;
  #text = "";

  constructor(process: BoxProcess) {
    this.process = process;
    for (const stream of [process.stdout, process.stderr])
      stream?.on("data", (chunk: Buffer) => {
        this.#text += chunk.toString("utf8");
      });
  }

  /** All that it has written to both outputs. */
  get text(): string {
    return this.#text;
  }

  /** Waits until it has written what matches, from `from` on. */
  async reported(pattern: RegExp, from = 0): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while (!pattern.test(this.#text.slice(from))) {
      if (!this.process.running) throw new Error(`it ended without ${pattern}:\n${this.#text}`);
      if (performance.now() > deadline)
        throw new Error(`it does not say ${pattern}:\n${this.#text}`);
      await sleep(POLL_MS);
    }
  }

  /** Types something. */
  type(text: string): void {
    this.process.stdin?.write(text);
  }

  /** Sends SIGINT and resolves with the exit code. */
  async interrupt(): Promise<number | null> {
    await this.process.kill("SIGINT");
    return (await this.process.exited).code;
  }
}
