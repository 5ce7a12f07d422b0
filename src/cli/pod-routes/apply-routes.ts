/** Sets the routes to the pods of other nodes, and the rules that go with them. */
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { messageOf } from "../../kit/errors.ts";
import { lastLine } from "../../present/text.ts";
import { searchPath } from "../../process/programs.ts";
import { PODS_CHAIN, type PodRoute, podRules, routeChanges, routesIn } from "./plan-routes.ts";

const run = promisify(execFile);

/** Who has made a route (rtnetlink(7), rtm_protocol): a number that nobody else has. */
const PROTOCOL = "110";

/**
 * Makes these routes and removes others of ours. Resolves with what could not be set, by the node. A route that somebody else
 * has made to the same pods, such as a network plugin, is left alone.
 */
export async function applyRoutes(
  wanted: readonly PodRoute[],
): Promise<ReadonlyMap<string, string>> {
  const failed = new Map<string, string>();
  const made = routesIn(await ip(["-4", "route", "show", "proto", PROTOCOL]));
  const { add, remove } = routeChanges(made, wanted);
  for (const pods of remove) await ip(["route", "delete", pods, "proto", PROTOCOL]).catch(() => {});
  for (const { pods, via, node } of add) {
    try {
      await ip(["route", "add", pods, "via", via, "proto", PROTOCOL]);
    } catch (error) {
      const why = lastLine(messageOf(error));
      if (!/File exists/.test(why)) failed.set(node, why);
    }
  }
  await setRules(wanted);
  return failed;
}

/** Removes all of it. */
export async function removeRoutes(): Promise<void> {
  const made = routesIn(await ip(["-4", "route", "show", "proto", PROTOCOL]).catch(() => ""));
  for (const pods of made.keys())
    await ip(["route", "delete", pods, "proto", PROTOCOL]).catch(() => {});
}

async function setRules(wanted: readonly PodRoute[]): Promise<void> {
  await withInput(["iptables-restore", "-w", "10", "--noflush"], podRules(wanted));
  const jump = ["POSTROUTING", "-j", PODS_CHAIN];
  await iptables(["-C", ...jump]).catch(() => iptables(["-I", ...jump]));
}

async function ip(words: readonly string[]): Promise<string> {
  return (await run("ip", words, { env: { PATH: searchPath() } })).stdout;
}

async function iptables(words: readonly string[]): Promise<void> {
  await run("iptables", ["-w", "10", "-t", "nat", ...words], { env: { PATH: searchPath() } });
}

async function withInput([program, ...words]: readonly [string, ...string[]], input: string) {
  const child = spawn(program, words, {
    env: { PATH: searchPath() },
    stdio: ["pipe", "ignore", "pipe"],
  });
  const errors: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${program}: ${Buffer.concat(errors).toString("utf8").trim()}`);
}
