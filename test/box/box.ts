/**
 * A node in a box: own mounts, processes, network, cgroups and containerd, so that tests on the real
 * thing neither see nor leave anything on the machine, and several run side by side.
 *
 * Inside, `/` is the machine's, but /etc, /opt and /var take no writes to the machine, /run and the
 * node's folders (/var/lib/kubelet, /var/lib/containerd, /var/log/pods, …) start empty on one file
 * system of limited size, the box's cgroups are the roots of all hierarchies, and `eth0` has
 * `nodeAddress`. /tmp and the checkout, wherever it lies, are the machine's. A box with a `root` has that system's
 * files, and a /tmp of its own.
 *
 * A box ends with `dispose`, or with the process that started it; `sweep` removes what a killed one left.
 */
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { type CgroupDriver, KUBEPODS, literalPath } from "../../src/subsystems/cgroups/names.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";
import {
  BoxProcess,
  type BoxTarget,
  type ExecOptions,
  type ExecResult,
  execInBox,
  type ProcessOptions,
} from "./box-process.ts";
import {
  accepts,
  besideContainerd,
  type ContainerdVersion,
  cniConfig,
  containerdConfig,
  containerdPrograms,
  usualContainerd,
} from "./containerd.ts";
import { archiveFile, type ImageSpec, standardImages } from "./images.ts";
import {
  initOf,
  joinPaths,
  NODE,
  NODE_IPV6,
  type OuterOptions,
  PREFIX,
  SCRIPTS,
  type StartedOuter,
  startOuter,
  sweepBoxes,
} from "./outer.ts";
import { boxObstacle, cgroupRoots } from "./prerequisites.ts";
import { type RuncVersion, runcProgram } from "./runc.ts";

export type { BoxProcess, ExecOptions, ExecResult, Exit, ProcessOptions } from "./box-process.ts";
export type { ContainerdVersion } from "./containerd.ts";

/** What a box is to have; all of it has a default. */
export interface BoxOptions extends OuterOptions {
  /** Default what `usualContainerd` says; `none` starts no containerd and imports nothing. */
  readonly containerd?: ContainerdVersion | "none";
  /** Default: what belongs to the containerd. */
  readonly runc?: RuncVersion;
  /** Lines to append to containerd's configuration (TOML). */
  readonly containerdConfig?: string;
  /** Images to import in addition to pause and test image. */
  readonly images?: readonly ImageSpec[];
  /** Without, containerd has no network configuration and the node stays NetworkUnready. Default true. */
  readonly network?: boolean;
}

const SOCKET = "/run/containerd/containerd.sock";
/** ctr's filter for what the CRI plugin has taken into its store. */
const MANAGED_IMAGES = 'labels."io.cri-containerd.image"==managed';
const START_TIMEOUT_MS = 30_000 * TIMEOUT_FACTOR;

/** Makes a box, hands it to `use`, and removes it whatever happens. */
export async function withBox<T>(options: BoxOptions, use: (box: Box) => Promise<T>): Promise<T> {
  await using box = await startBox(options);
  return await use(box);
}

/** Makes a box and waits until its containerd serves and has the images. Sweeps first. */
export async function startBox(options: BoxOptions = {}): Promise<Box> {
  const obstacle = boxObstacle();
  if (obstacle) throw new Error(`cannot make a box: ${obstacle}`);
  await sweepBoxes();
  const box = await Box.open(options);
  try {
    await box.prepare();
    return box;
  } catch (error) {
    const logs = box.logs();
    await box.dispose();
    throw new Error(`box did not start\n${logs}`, { cause: error });
  }
}

/** A running box. */
export class Box implements AsyncDisposable {
  readonly id: string;
  readonly options: BoxOptions;
  /** The node's own address, on `eth0` inside the box. */
  readonly nodeAddress: string;
  /** Present with the option `ipv6`. */
  readonly nodeAddress6: string | undefined;
  /** A folder that has the same path inside and outside; removed with the box. */
  readonly folder: string;
  /** The first process of the box, as the machine counts. */
  readonly initPid: number;
  /** Where to run programs. */
  readonly target: BoxTarget;
  readonly #outer: ChildProcess;
  readonly #outerClosed: Promise<void>;
  readonly #running = new Set<BoxProcess>();
  readonly #relays = new Map<string, Promise<string>>();
  #containerd: BoxProcess | undefined;
  #disposed: Promise<void> | undefined;

  private constructor(options: BoxOptions, started: StartedOuter) {
    this.id = started.id;
    this.options = options;
    this.folder = started.folder;
    this.initPid = started.initPid;
    this.nodeAddress = options.address ?? NODE.address;
    this.nodeAddress6 = options.ipv6 ? NODE_IPV6 : undefined;
    this.target = { initPid: started.initPid, cgroupProcs: joinPaths(started.id) };
    this.#outer = started.process;
    this.#outerClosed = new Promise((resolve) => started.process.once("close", () => resolve()));
  }

  /** Only the namespaces and mounts; `startBox` is what tests call. */
  static async open(options: BoxOptions): Promise<Box> {
    return new Box(options, await startOuter(options));
  }

  /** Configuration, containerd, images. */
  async prepare(): Promise<void> {
    const { network = true, ipv6 = false } = this.options;
    const config = containerdConfig(
      { ...this.runtimePaths, cgroupDriver: this.cgroupDriver },
      this.options.containerdConfig,
    );
    this.write("/etc/containerd/config.toml", config);
    if (network) this.write("/etc/cni/net.d/10-box.conflist", cniConfig({ ipv6 }));
    if (this.containerd === "none") return;
    await this.startContainerd();
    await this.importImages([...standardImages(), ...(this.options.images ?? [])]);
  }

  /** Which containerd it has. */
  get containerd(): ContainerdVersion | "none" {
    return this.options.containerd ?? usualContainerd();
  }

  /** Path of its runc, and the folder of its CNI plugins. */
  get runtimePaths(): { readonly runc: string; readonly cniPlugins: string } {
    const { runc, cniPlugins } = besideContainerd(this.containerd);
    return { runc: runcProgram(this.options.runc ?? runc), cniPlugins };
  }

  /** Where a file of the box is found from outside. Absolute symlinks inside would lead astray. */
  path(inside: string): string {
    return `/proc/${this.initPid}/root${inside}`;
  }

  /** Writes a file inside the box; the folder must exist. */
  write(inside: string, content: string | Uint8Array): void {
    writeFileSync(this.path(inside), content);
  }

  /** containerd's socket, for a client outside of the box. Inside it is /run/containerd/containerd.sock. */
  get criSocket(): string {
    return this.path(SOCKET);
  }

  /**
   * A cgroup folder of the box as the machine sees it; `path` is what the box calls it, like
   * `/kubepods`; a path of pods is spelled for cgroupfs whatever the driver. Version 1 needs a controller, version 2
   * ignores it.
   */
  cgroupPath(path: string, controller = "memory"): string {
    const { version } = cgroupRoots();
    const root = version === 2 ? "/sys/fs/cgroup" : `/sys/fs/cgroup/${controller}`;
    return join(root, `${PREFIX}${this.id}`, this.#spelled(path));
  }

  /** Who makes the groups of pods and containers: with systemd as the first process systemd does. */
  get cgroupDriver(): CgroupDriver {
    return initOf(this.options) === "systemd" ? "systemd" : "cgroupfs";
  }

  #spelled(path: string): string {
    const name = path.split("/").filter((part) => part !== "");
    return name[0] === KUBEPODS ? literalPath(name, this.cgroupDriver) : path;
  }

  /** Runs a program in the box to its end. */
  exec(argv: readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return execInBox(this.target, argv, options);
  }

  /** Like `exec`, but throws with the output when the code is not 0; gives standard output. */
  async run(argv: readonly string[], options: ExecOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.exec(argv, options);
    if (code !== 0) throw new Error(`${argv.join(" ")} ended with ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Starts a program that goes on until it ends, is killed, or the box is disposed of. */
  spawn(argv: readonly string[], options: ProcessOptions = {}): BoxProcess {
    const started = new BoxProcess(this.target, argv, options);
    this.#running.add(started);
    const forget = () => this.#running.delete(started);
    started.exited.then(forget, forget);
    return started;
  }

  /** Like `spawn` with both outputs appended to `<name>.log`, which `logs()` shows. */
  spawnLogged(name: string, argv: readonly string[], options: ProcessOptions = {}): BoxProcess {
    const log = openSync(join(this.folder, `${name}.log`), "a");
    try {
      return this.spawn(argv, { ...options, output: log });
    } finally {
      closeSync(log);
    }
  }

  /** Starts containerd and waits until it serves. */
  async startContainerd(): Promise<void> {
    const { containerd } = this;
    if (containerd === "none") throw new Error("this box has no containerd");
    const programs = containerdPrograms(containerd);
    const running = this.spawnLogged("containerd", [programs.daemon], {
      env: {
        PATH: `${programs.folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      },
    });
    this.#containerd = running;
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!(await accepts(this.criSocket))) {
      if (!running.running) throw new Error("containerd ended");
      if (performance.now() > deadline) throw new Error("containerd does not serve");
      await sleep(20);
    }
  }

  /** Ends containerd; running containers go on without it. */
  async killContainerd(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    await this.#containerd?.kill(signal);
    await this.#containerd?.exited;
  }

  /** Ends containerd and starts it again. */
  async restartContainerd(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.killContainerd(signal);
    await this.startContainerd();
  }

  /** Output of `ctr` in the namespace of the CRI. */
  ctr(...args: readonly string[]): Promise<string> {
    const { containerd } = this;
    const { ctr } = containerdPrograms(containerd === "none" ? "machine" : containerd);
    return this.run([ctr, "--namespace", "k8s.io", ...args]);
  }

  /** Imports images and waits until the CRI plugin has taken notice. */
  async importImages(images: readonly ImageSpec[]): Promise<void> {
    await this.ctr("images", "import", archiveFile(images));
    const names = images.flatMap((image) => image.names);
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (performance.now() < deadline) {
      const managed = await this.ctr("images", "list", "-q", MANAGED_IMAGES);
      const known = new Set(managed.split("\n"));
      if (names.every((name) => known.has(name))) return;
      await sleep(20);
    }
    throw new Error("the CRI plugin does not see the imported images");
  }

  /** A socket outside of the box that leads to a TCP port inside; `host` defaults to the node address. */
  forward(port: number, host: string = this.nodeAddress): Promise<string> {
    const key = `${host}-${port}`;
    const known = this.#relays.get(key);
    if (known !== undefined) return known;
    const made = this.#startRelay(join(this.folder, `to-${key}.sock`), host, port);
    this.#relays.set(key, made);
    return made;
  }

  /** Names of the logs in its folder. */
  logFiles(): string[] {
    return readdirSync(this.folder).filter((name) => name.endsWith(".log"));
  }

  /** All logs of the box, for a failing test. */
  logs(): string {
    return this.logFiles()
      .map((name) => `--- ${name}\n${readFileSync(join(this.folder, name), "utf8")}`)
      .join("\n");
  }

  /** Ends everything in the box and removes it. May be called again. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#close();
    return this.#disposed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #close(): Promise<void> {
    this.#outer.stdin?.end();
    await this.#outerClosed;
    await Promise.allSettled([...this.#running].map((process) => process.exited));
  }

  async #startRelay(path: string, host: string, port: number): Promise<string> {
    const script = join(SCRIPTS, "relay.mjs");
    const relay = this.spawn([process.execPath, script, path, host, `${port}`]);
    const lines = relay.stdout ? createInterface(relay.stdout) : [];
    for await (const line of lines) if (line === "ready") return path;
    throw new Error(`no relay to ${host}:${port}`);
  }
}
