// Text of the kernel, of containers and of the system: /proc, cgroups, logs, resolv.conf, environment files.

import { expandVariables } from "../../../src/api/env/expand.ts";
import { parseCriLogLine } from "../../../src/api/text/cri-log.ts";
import { parseListeners } from "../../../src/cli/up/taken-ports.ts";
import { UsageError } from "../../../src/kit/errors.ts";
import { parseMeminfo } from "../../../src/kit/proc/meminfo.ts";
import { ownCgroup } from "../../../src/kit/proc/own-cgroup.ts";
import { type OomMessages, readOomLines } from "../../../src/node/oom/kernel-lines.ts";
import { parsePids } from "../../../src/outside/host/cgroups/cgroup-folders.ts";
import {
  parseDefaultRoutes,
  parseDefaultRoutes6,
} from "../../../src/outside/host/default-route.ts";
import {
  mountPointsWithin,
  parseMountinfo,
  parseMountinfoAbout,
} from "../../../src/outside/host/mounts/parse-mountinfo.ts";
import { parseProcessCgroups, parseProcessStat } from "../../../src/outside/host/processes.ts";
import { readEnvFile } from "../../../src/subsystems/environment/env-file.ts";
import { readHead } from "../../../src/subsystems/logs/fragments.ts";
import { parseProbeSettings } from "../../../src/subsystems/probes/settings.ts";
import { parseResolvConf } from "../../../src/subsystems/runtime/dns.ts";
import * as stats from "../../../src/subsystems/stats/parse.ts";
import { same } from "../check.ts";
import { bytesTarget, textTarget } from "../target.ts";

const NO_MESSAGES: OomMessages = { open: undefined, complete: false, done: [] };

/** Every decoder of such text. */
export const KERNEL_TARGETS = [
  textTarget({
    name: "log-lines",
    files: ["api/text/cri-log.ts"],
    words: ["2026-11-22T10:00:00.123456789Z ", "stdout ", "stderr ", "F ", "P ", "P:a ", "\t", " "],
    seeds: [
      "2026-11-22T10:00:00.123456789Z stdout F hello",
      "2026-11-22T10:00:00.1+01:00 stderr P part",
    ],
    run: (text) => void parseCriLogLine(text),
  }),
  bytesTarget({
    name: "log-heads",
    files: ["subsystems/logs/fragments.ts"],
    seeds: [
      Buffer.from("2026-11-22T10:00:00.123456789Z stdout F hello"),
      Buffer.from("2026-11-22T10:00:00Z stderr P: x"),
    ],
    run: (bytes) => void readHead(bytes),
  }),
  textTarget({
    name: "processes",
    files: ["outside/host/processes.ts", "cgroups/cgroup-folders.ts"],
    words: [") S 1", "(", ")", "0::/", "5:memory:/", "\n", ":"],
    seeds: [
      `42 (a) b) S 1 42 42 0 -1 4194560 ${"1 ".repeat(40)}`,
      "12:cpu,cpuacct:/kubepods/a\n0::/kubepods/a\n",
      "1\n22\n333\n",
    ],
    run: (text) => {
      parseProcessStat(text);
      parseProcessCgroups(text);
      parsePids(text);
    },
  }),
  textTarget({
    name: "mounts-and-routes",
    files: ["mounts/parse-mountinfo.ts", "outside/host/default-route.ts", "cli/up/taken-ports.ts"],
    words: [" - ", "\\040", "\\", "shared:1", "/", "00000000", "eth0\t", "0A", "\n"],
    seeds: [
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n",
      "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\n",
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 0 0 00000003 eth0\n",
      "  sl  local_address rem_address st\n   0: 0100007F:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 1\n",
    ],
    run: (text) => {
      const all = parseMountinfo(text);
      for (const path of ["/mnt1", "/mnt1/mnt 2", all[0]?.mountPoint ?? "/"])
        same(
          mountPointsWithin(parseMountinfoAbout(text, path), path),
          mountPointsWithin(all, path),
        );
      parseDefaultRoutes(text);
      parseDefaultRoutes6(text);
      parseListeners(text);
    },
  }),
  textTarget({
    name: "usage-files",
    files: ["subsystems/stats/parse.ts", "kit/proc/meminfo.ts"],
    words: [
      "max",
      "some avg10=",
      "full ",
      "total=",
      "8:0 ",
      "rbytes=",
      "usage_usec ",
      "eth0:",
      " kB",
      "\n",
      ".",
    ],
    seeds: [
      "anon 5000\ninactive_file 1048576\n",
      "some avg10=0.10 avg60=1.00 avg300=2.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
      "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n",
      "Inter-|\n face |\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  eth0: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0",
      "8:0 Read 5\n8:0 Write 6\nTotal 11\n",
      "MemTotal:  8388608 kB\nMemFree: 7340032 kB\n",
      "0.00 0.01 0.05 1/222 9\n",
      "cpu 1 2 3\nbtime 1790000000\n",
    ],
    run: (text) => {
      parseMeminfo(text);
      stats.parseNumber(text);
      stats.parseLimit(text);
      stats.parseKeyed(text);
      stats.keyedNumber(text, "anon");
      stats.parsePressure(text);
      stats.parseInterfaces(text);
      stats.parseDefaultInterface(text);
      stats.parseIoStat(text);
      stats.parseBlkio(text, text);
      stats.pidsOf(text);
      stats.parseDiskstats(text);
      stats.parseOpenFilesLimit(text);
      stats.parseTasks(text);
      stats.parseBootSecond(text);
      ownCgroup(text, "cpu");
    },
  }),
  textTarget({
    name: "oom-reports",
    files: ["node/oom/kernel-lines.ts"],
    words: [
      "oom-kill:constraint=",
      ",task_memcg=",
      ",task=",
      ",pid=",
      ",uid=0",
      "Killed process ",
      "anon-rss:1kB",
      "global_oom",
    ],
    seeds: [
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,oom_memcg=/k/a,task_memcg=/k/a/b,task=x,pid=5,uid=0\nMemory cgroup out of memory: Killed process 5 (x) total-vm:1kB, anon-rss:2kB, file-rss:0kB",
    ],
    run: (text) => void readOomLines(NO_MESSAGES, text.split("\n")),
  }),
  textTarget({
    name: "resolv-conf",
    files: ["subsystems/runtime/dns.ts"],
    words: ["nameserver ", "search ", "options ", "domain ", "ndots:5", "#", ";", ".", "\t"],
    seeds: ["nameserver 192.0.2.1\nsearch a.example b.example\noptions ndots:2 rotate\n# x\n"],
    refuses: [UsageError],
    run: (text) => void parseResolvConf(text),
  }),
  textTarget({
    name: "env-file",
    files: ["subsystems/environment/env-file.ts"],
    words: ["A='", "'", "\n", "=", "#", "\\'", "B=''", "export "],
    seeds: ["# x\nA='1'\n\nB='two\nlines'\nKEY='v'\n"],
    run: (text) => void readEnvFile(text, { key: "KEY", path: "env", optional: false }),
  }),
  textTarget({
    name: "variables",
    files: ["api/env/expand.ts"],
    words: ["$(A)", "$$", "$(", ")", "$(B)", "$$(A)"],
    seeds: ["a $(A) $$(B) $(C) $"],
    run: (text) => void expandVariables(text, (name) => (name === "A" ? "$(B)" : undefined)),
  }),
  textTarget({
    name: "probe-settings",
    layout: "json",
    files: ["subsystems/probes/settings.ts"],
    words: ["probes.nodelet.dev/period", "100ms", "main.liveness", "1ns"],
    seeds: ['{"nodelet.dev/probe-period":"main.liveness=100ms"}'],
    run: (text) => {
      const value: unknown = parsedStrings(text);
      parseProbeSettings(value as Readonly<Record<string, string>>, new Set(["main.liveness"]));
    },
  }),
];

/** The texts of an object, as annotations are. */
function parsedStrings(text: string): Readonly<Record<string, string>> {
  try {
    const value: unknown = JSON.parse(text);
    const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(entries.filter(([, each]) => typeof each === "string"));
  } catch {
    return {};
  }
}
