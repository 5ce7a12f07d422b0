// Where the programs of a control plane run: on the machine's loopback, or inside a box.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Box } from "../box/box.ts";

/** A program that was started and goes on. */
export interface Running {
  readonly running: boolean;
  /** Sends the signal and waits until the program has ended. */
  end(signal: NodeJS.Signals): Promise<void>;
}

export interface Place {
  /** Address the API server serves on, as programs of the place see it. */
  readonly host: string;
  /** Own folder; the same path for programs of the place and for the test. */
  readonly folder: string;
  freePort(preferred: number): Promise<number>;
  /** Starts a program with both outputs appended to `<name>.log` in the folder. */
  start(name: string, argv: readonly string[]): Running;
  /** Runs a program to its end; throws with its output when it fails. */
  run(argv: readonly string[], options?: RunOptions): Promise<string>;
  /** Connects the test process to a port of the place. */
  dial(port: number): Promise<Socket>;
  dispose(): Promise<void>;
}

export interface RunOptions {
  readonly stdin?: string;
  readonly timeoutMs?: number;
}

/** Text of a log that may not exist yet. */
export function readLog(place: Place, name: string): string {
  try {
    return readFileSync(join(place.folder, `${name}.log`), "utf8");
  } catch {
    return "";
  }
}

/** Inside a box: the API server serves on the node's address, so that pods and agent reach it. */
export function boxPlace(box: Box): Place {
  return {
    host: box.nodeAddress,
    folder: mkdtempSync(join(box.folder, "control-plane-")),
    freePort: async (preferred) => preferred,
    start: (name, argv) => {
      const process = box.spawnLogged(`control-plane-${name}`, argv);
      return {
        get running() {
          return process.running;
        },
        end: async (signal) => {
          await process.kill(signal);
          await process.exited;
        },
      };
    },
    run: (argv, { stdin, timeoutMs } = {}) =>
      box.run(argv, {
        ...(stdin === undefined ? {} : { stdin }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      }),
    dial: async (port) => connected(connect(await box.forward(port))),
    // Everything in a box ends with it.
    dispose: async () => {},
  };
}

/** On the machine's loopback, in a folder of its own; programs end with the test process at the latest. */
export function loopbackPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), "nodelet-kube-"));
  return {
    host: "127.0.0.1",
    folder,
    freePort,
    start: (name, argv) => startHere(join(folder, `${name}.log`), argv),
    run: runHere,
    dial: (port) => connected(connect(port, "127.0.0.1")),
    dispose: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

function startHere(log: string, argv: readonly string[]): Running {
  const output = openSync(log, "a");
  const child = spawn("setpriv", ["--pdeathsig", "KILL", ...argv], {
    detached: true,
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  const closed = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
    child.once("error", () => resolve());
  });
  return {
    get running() {
      return isRunning(child);
    },
    end: async (signal) => {
      if (isRunning(child)) child.kill(signal);
      await closed;
    },
  };
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function runHere(argv: readonly string[], options: RunOptions = {}): Promise<string> {
  const [program = "", ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      args,
      { timeout: options.timeoutMs ?? 30_000, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (!error) resolve(stdout);
        else reject(new Error(`${argv.join(" ")} failed\n${stdout}${stderr}`, { cause: error }));
      },
    );
    child.stdin?.end(options.stdin ?? "");
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

function connected(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}
