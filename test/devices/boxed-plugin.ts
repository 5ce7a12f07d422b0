// An agent with a device plugin in a box, and what tests see of both.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DeviceReport } from "../../src/subsystems/devices/devices.ts";
import type { Box, BoxProcess } from "../box/box.ts";
import { TEST_IMAGE } from "../box/images.ts";
import type { AgentOptions, Manifest } from "../support/agent.ts";
import { BoxedAgent, manifest, STAY } from "../support/agent.ts";
import { PROGRAM } from "../support/program.ts";
import { type PluginLanguage, pluginProgram } from "./programs.ts";

/** The box of these tests; pods of manifests carry the name of the node. */
export const BOX = { hostname: "box" } as const;
/** The resource of the plugin. */
export const RESOURCE = "nodelet.test/gpu";
const FOLDER = "/var/lib/kubelet/device-plugins";
const SOCKET = "/run/nodelet/agent.sock";
const MONITOR = join(import.meta.dirname, "monitor-main.ts");
const MONITOR_SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock";

/** What a container says of itself when it starts: its variable, device nodes, folders. */
const CHECK =
  "echo seen $DEVICES nodes $(cd /dev && ls -d dev* 2>/dev/null | tr '\\n' ',') folders $(cd /devices 2>/dev/null && cat */name | tr '\\n' ' ')";

/** Checks, then stays. */
export const CHECK_AND_STAY = ["sh", "-c", `${CHECK}; ${STAY[2]}`];
/** Checks, then fails after a moment. */
export const CHECK_AND_FAIL = ["sh", "-c", `${CHECK}; sleep 1; exit 1`];
/** Checks and is done. */
export const CHECK_ONCE = ["sh", "-c", CHECK];

/** A container that requests devices. */
export function container(name: string, amount: number, command: readonly string[]) {
  return {
    name,
    image: TEST_IMAGE,
    command: [...command],
    resources: { limits: { [RESOURCE]: String(amount) } },
  };
}

/** A pod with one container that requests devices. */
export function gpuPod(
  name: string,
  amount: number,
  command: readonly string[] = CHECK_AND_STAY,
): Manifest {
  return manifest(name, { containers: [container("main", amount, command)] });
}

/** What the log of one attempt says. */
export interface Seen {
  readonly variable: string;
  readonly nodes: string;
  readonly folders: string;
}

/** How the plugin of a node is. */
export interface PluginManner {
  /** How many it has; default 8. */
  readonly devices?: number;
  /** How long it takes over an Allocate, in milliseconds; only the one on Node. */
  readonly holdMs?: number;
  /** The NUMA node of its devices; default 0. Only the one on Node. */
  readonly numaNode?: number;
}

/** Agent and plugin. */
export class DeviceNode {
  readonly box: Box;
  readonly agent: BoxedAgent;
  readonly #language: PluginLanguage;
  readonly #manner: PluginManner;
  #plugin: BoxProcess | undefined;

  private constructor(agent: BoxedAgent, language: PluginLanguage, manner: PluginManner) {
    this.box = agent.box;
    this.agent = agent;
    this.#language = language;
    this.#manner = manner;
  }

  /** Starts both; resolves when the devices are offered. */
  static async start(
    box: Box,
    language: PluginLanguage,
    manner: PluginManner = {},
    options: AgentOptions = {},
  ): Promise<DeviceNode> {
    const node = new DeviceNode(await BoxedAgent.start(box, options), language, manner);
    node.startPlugin();
    await node.offered();
    return node;
  }

  startPlugin(): void {
    const { devices = 8, holdMs = 0, numaNode = 0 } = this.#manner;
    const log = join(this.box.folder, "calls.log");
    this.#plugin = this.box.spawnLogged("plugin", [
      ...pluginProgram(this.#language),
      ...[FOLDER, RESOURCE, String(devices), log, String(holdMs), String(numaNode)],
    ]);
  }

  /** `kill -9`. */
  async killPlugin(): Promise<void> {
    await this.#plugin?.kill("SIGKILL");
    await this.#plugin?.exited;
  }

  /** Resolves when all devices can be had or are had. */
  async offered(): Promise<void> {
    await this.agent.until(
      "the plugin is here",
      async () => {
        const resource = await this.resource();
        return resource?.plugin === "here" && resource.counts.unusable === 0;
      },
      60_000,
    );
  }

  /** `nodelet devices -o json`. */
  async resource(): Promise<DeviceReport["resources"][number] | undefined> {
    const argv = [process.execPath, PROGRAM, "devices", "-o", "json", "--socket", SOCKET];
    const { code, stdout } = await this.box.exec(argv);
    if (code !== 0) return undefined;
    const report = JSON.parse(stdout) as DeviceReport;
    return report.resources.find(({ resource }) => resource === RESOURCE);
  }

  /** Devices by pod name. */
  async owners(): Promise<ReadonlyMap<string, readonly string[]>> {
    const { devices = [] } = (await this.resource()) ?? {};
    const owned = devices.filter(({ owner }) => owner !== undefined);
    return new Map(
      [...Map.groupBy(owned, ({ owner }) => owner?.name.replace(/-box$/, "") ?? "")].map(
        ([name, list]) => [name, list.map(({ id }) => id)],
      ),
    );
  }

  /** What a monitor reads at the socket for monitors: devices by pod name, and those that can be had at all. */
  async monitored(): Promise<{
    readonly owners: ReadonlyMap<string, readonly string[]>;
    readonly allocatable: readonly string[];
  }> {
    const { pods, allocatable } = JSON.parse(
      await this.box.run([process.execPath, MONITOR, MONITOR_SOCKET, RESOURCE]),
    ) as { pods: [string, string[]][]; allocatable: string[] };
    return {
      owners: new Map(pods.map(([name, ids]) => [name.replace(/-box$/, ""), ids])),
      allocatable,
    };
  }

  /** What each attempt of a container reported, oldest first. */
  seen(pod: string, name = "main"): readonly Seen[] {
    const logs = this.box.path("/var/log/pods");
    const folder = readdirSync(logs).find((each) => each.startsWith(`default_${pod}-box_`));
    if (folder === undefined) return [];
    const at = join(logs, folder, name);
    if (!existsSync(at)) return [];
    return readdirSync(at)
      .sort()
      .flatMap((file) => {
        const line = /seen (\S*) nodes (\S*) folders (.*)/.exec(
          readFileSync(join(at, file), "utf8"),
        );
        const [, variable = "", nodes = "", folders = ""] = line ?? [];
        return line ? [{ variable, nodes, folders: folders.trim().split(" ").join(",") }] : [];
      });
  }

  /** What the plugin was asked. */
  calls(kind: string): readonly (readonly string[])[] {
    return readFileSync(join(this.box.folder, "calls.log"), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { call: string; ids?: readonly string[] })
      .flatMap(({ call, ids = [] }) => (call === kind ? [ids] : []));
  }
}
