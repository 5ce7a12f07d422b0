import assert from "node:assert/strict";
import { test } from "node:test";
import { SimClock } from "../../../test/sim/sim-clock.ts";
import { silentLog } from "../../kit/log.ts";
import { TaskScope } from "../../kit/scope.ts";
import type { Program, ProgramResult } from "../../outside/program.ts";
import { startIptables } from "./iptables.ts";

const CODES = { there: 0, absent: 1 };
/** Packets to the loopback from elsewhere are dropped by the last rule. */
const MADE = [
  "iptables -N KUBE-IPTABLES-HINT -t mangle",
  "iptables -N KUBE-FIREWALL -t filter",
  "iptables -I OUTPUT -t filter -j KUBE-FIREWALL",
  "iptables -I INPUT -t filter -j KUBE-FIREWALL",
  "iptables -A KUBE-FIREWALL -t filter -m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP",
  "iptables -N KUBE-KUBELET-CANARY -t mangle",
  "iptables -N KUBE-KUBELET-CANARY -t nat",
  "iptables -N KUBE-KUBELET-CANARY -t filter",
];

/** Programs that remember what they were called to make. */
class Tables {
  readonly made: string[] = [];
  readonly has = new Set<string>();
  code = 0;

  readonly run = async ({ path, args }: Program): Promise<ProgramResult> => {
    const [, , verb = "", ...rest] = args;
    const key = `${path} ${rest.join(" ")}`;
    const asks = verb === "-S" || verb === "-C";
    const found = this.has.has(key) ? CODES.there : CODES.absent;
    if (!asks && this.code === 0) {
      this.has.add(key);
      this.made.push(`${path} ${[verb, ...rest].join(" ")}`);
    }
    const stderr = this.code === 0 ? "" : "Permission denied (you must be root)";
    return { code: this.code || (asks ? found : 0), by: "", stdout: "", stderr };
  };
}

async function started(tables: Tables, makeIPTablesUtilChains = true) {
  const clock = new SimClock();
  const scope = new TaskScope("test", { clock, log: silentLog });
  const host = { runProgram: tables.run };
  startIptables({ makeIPTablesUtilChains }, { host, clock, log: silentLog, scope });
  await clock.advance(1_000);
  return { clock, scope };
}

const ofIpv4 = (made: readonly string[]) => made.filter((line) => line.startsWith("iptables "));

test("startIptables makes the chains of both families, once", async () => {
  const tables = new Tables();
  const { clock, scope } = await started(tables);
  assert.deepEqual(ofIpv4(tables.made), MADE);
  assert.ok(tables.made.includes("ip6tables -N KUBE-IPTABLES-HINT -t mangle"));
  assert.ok(!tables.made.some((line) => /^ip6tables .*KUBE-FIREWALL/.test(line)));
  const { length } = tables.made;
  await clock.advance(300_000);
  assert.equal(tables.made.length, length);
  await scope[Symbol.asyncDispose]();
});

test("startIptables recreates its rules after they were flushed", async () => {
  const tables = new Tables();
  const { clock, scope } = await started(tables);
  tables.made.length = 0;
  tables.has.clear();
  await clock.advance(61_000);
  assert.deepEqual(ofIpv4(tables.made).toSorted(), MADE.toSorted());
  await scope[Symbol.asyncDispose]();
});

test("startIptables gives up where it may not, and does nothing where it shall not", async () => {
  const forbidden = new Tables();
  forbidden.code = 4;
  const first = await started(forbidden);
  await first.clock.advance(120_000);
  assert.deepEqual(forbidden.made, []);
  const unwanted = new Tables();
  const second = await started(unwanted, false);
  assert.deepEqual(unwanted.made, []);
  for (const { scope } of [first, second]) await scope[Symbol.asyncDispose]();
});
