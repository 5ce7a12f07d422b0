// An agent in a box with targets to probe, and what tests ask it about its probes.
import { request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { CoreEvent, CoreEventList } from "../../src/api/generated/types.ts";
import type { ProbeReport } from "../../src/subsystems/probes/probes.ts";
import { type Box, type BoxProcess, startBox } from "../box/box.ts";
import { type AgentOptions, BoxedAgent } from "../support/agent.ts";

const TARGETS = join(import.meta.dirname, "box-targets.ts");

/** A node with targets on its own address. */
export class ProbedNode implements AsyncDisposable {
  readonly box: Box;
  readonly agent: BoxedAgent;
  readonly #targets: BoxProcess;
  readonly #output: AsyncIterator<string>;

  private constructor(
    box: Box,
    agent: BoxedAgent,
    targets: { readonly process: BoxProcess; readonly reported: AsyncIterator<string> },
  ) {
    this.box = box;
    this.agent = agent;
    this.#targets = targets.process;
    this.#output = targets.reported;
  }

  static async start(options: AgentOptions = {}): Promise<ProbedNode> {
    const box = await startBox({});
    try {
      const process_ = box.spawn([process.execPath, TARGETS, box.nodeAddress]);
      if (!process_.stdout) throw new Error("the targets have no output");
      const reported = createInterface(process_.stdout)[Symbol.asyncIterator]();
      const agent = await BoxedAgent.start(box, options);
      const node = new ProbedNode(box, agent, { process: process_, reported });
      await node.#until("ready");
      return node;
    } catch (error) {
      await box.dispose();
      throw error;
    }
  }

  /** Takes a target away, or brings it back; resolves when that is done. */
  async target(word: "up" | "down", name: string): Promise<void> {
    this.#targets.stdin?.write(`${word} ${name}\n`);
    await this.#until(`${word} ${name}`);
  }

  /** What the agent says on its socket. */
  async ask<T>(path: string): Promise<T> {
    const socketPath = this.box.path("/run/nodelet/agent.sock");
    const text = await new Promise<string>((resolve, reject) => {
      request({ socketPath, path, agent: false }, (reply) => {
        let body = "";
        reply.setEncoding("utf8");
        reply.on("data", (part: string) => {
          body += part;
        });
        reply.on("end", () => resolve(body));
        reply.on("error", reject);
      })
        .on("error", reject)
        .end();
    });
    return (text.startsWith("{") ? JSON.parse(text) : text) as T;
  }

  async probes(): Promise<readonly ProbeReport[]> {
    return (await this.ask<{ readonly items: readonly ProbeReport[] }>("/nodelet/v1/probes")).items;
  }

  async probe(container: string, kind: ProbeReport["kind"]): Promise<ProbeReport> {
    const found = (await this.probes()).find(
      (probe) => probe.container === container && probe.kind === kind,
    );
    if (!found) throw new Error(`there is no ${kind} probe of ${container}`);
    return found;
  }

  async events(): Promise<readonly CoreEvent[]> {
    return (await this.ask<CoreEventList>("/nodelet/v1/events")).items;
  }

  /** Bytes of memory that the agent holds, and those it held at most. */
  async agentMemory(): Promise<{ readonly now: number; readonly peak: number }> {
    const status = await this.box.run(["cat", `/proc/${await this.agentPid()}/status`]);
    const kib = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN);
    return { now: kib("VmRSS") * 1024, peak: kib("VmHWM") * 1024 };
  }

  /** Milliseconds of CPU that the agent has used. */
  async agentCpuMs(): Promise<number> {
    const stat = await this.box.run(["cat", `/proc/${await this.agentPid()}/stat`]);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** The agent's process number inside the box. */
  async agentPid(): Promise<number> {
    return Number(
      (await this.box.run(["pgrep", "-f", "dist/nodelet.cjs run"])).trim().split("\n")[0],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box.dispose();
  }

  async #until(wanted: string): Promise<void> {
    for (;;) {
      const { done, value } = await this.#output.next();
      if (done) throw new Error("the targets have ended");
      if (value === wanted) return;
    }
  }
}
