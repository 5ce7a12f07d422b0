import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { benchConfig, kubeletArgv, readVersion } from "./kubelet.ts";
import { parseBenchOptions, UsageProblem } from "./options.ts";
import { benchPod } from "./pods.ts";
import { busyTicksOf, cpuTicksOf, memoryOf, processFigures, wakingsOf } from "./process-figures.ts";
import { missedTargets, renderReport } from "./report.ts";
import type { BenchResult, Round } from "./result.ts";
import { median, quantile, spread } from "./statistics.ts";
import { renderTable, short } from "./table.ts";
import { judgeAll, TARGETS } from "./targets.ts";

test("quantile takes what lies between neighbours in proportion", () => {
  const vectors: readonly [readonly number[], number, number][] = [
    [[7], 0.5, 7],
    [[3, 1], 0.5, 2],
    [[5, 1, 3], 0.5, 3],
    [[4, 3, 2, 1], 0.25, 1.75],
    [[0, 100], 0.99, 99],
    [[2, 9, 4], 1, 9],
    [[2, 9, 4], 0, 2],
  ];
  for (const [values, share, expected] of vectors)
    assert.equal(quantile(values, share), expected, `${values} at ${share}`);
  assert.throws(() => quantile([], 0.5), RangeError);
});

test("median does not depend on the order, and as many figures lie below it as above", () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 30 }), (values) => {
      const middle = median(values);
      assert.equal(median(values.toReversed()), middle);
      const below = values.filter((value) => value < middle).length;
      const above = values.filter((value) => value > middle).length;
      assert.ok(below <= values.length / 2 && above <= values.length / 2);
    }),
  );
});

test("spread of nothing is nothing", () => {
  assert.equal(spread([]), undefined);
  assert.deepEqual(spread([3, 1, 2]), { median: 2, min: 1, max: 3 });
});

test("renderTable pads to the widest cell of each column, headings aside", () => {
  const text = renderTable([
    ["", "a", "long"],
    ["a heading wider than all of them together"],
    ["x", "10", "1"],
    ["yy", "", ""],
  ]);
  assert.equal(
    text,
    ["     a  long", "a heading wider than all of them together", "x   10     1", "yy"].join("\n"),
  );
});

test("short keeps three digits", () => {
  const vectors: readonly [number, string][] = [
    [1234.5, "1235"],
    [99.96, "100.0"],
    [42.25, "42.3"],
    [1.005, "1.00"],
    [0, "0.00"],
    [Number.NaN, "–"],
  ];
  for (const [value, expected] of vectors) assert.equal(short(value), expected);
});

test("parseBenchOptions: defaults, quick, and what is reported beside it", () => {
  const plain = parseBenchOptions([]);
  assert.deepEqual(plain.subjects, [{ kind: "checkout", label: "nodelet" }]);
  assert.deepEqual([plain.rounds, plain.pods, plain.singles, plain.idleSeconds], [3, 50, 9, 30]);
  const quick = parseBenchOptions(["--quick", "--pods", "7", "--strict"]);
  assert.deepEqual([quick.rounds, quick.pods, quick.strict], [1, 7, true]);
  assert.equal(parseBenchOptions(["--json", "x.json", "--probes"]).json, "x.json");
  assert.ok(!plain.guest && parseBenchOptions(["--guest", "--kubelet", "go"]).guest);
});

test("parseBenchOptions: kubelets by word, path and label", () => {
  const { subjects } = parseBenchOptions(
    [
      "nodelet",
      "go",
      "go-1.36",
      "old=/opt/kubelet",
      "./kubelet",
      "a=b=c",
      "mine=nodelet",
      "peer=go",
    ].flatMap((each) => ["--kubelet", each]),
  );
  assert.deepEqual(subjects, [
    { kind: "checkout", label: "nodelet" },
    { kind: "go", label: "go", program: "kubelet" },
    { kind: "go", label: "go-1.36", program: "kubelet-1.36" },
    { kind: "binary", label: "old", path: "/opt/kubelet" },
    { kind: "binary", label: "kubelet", path: resolve("kubelet") },
    { kind: "binary", label: "a", path: resolve("b=c") },
    { kind: "checkout", label: "mine" },
    { kind: "go", label: "peer", program: "kubelet" },
  ]);
});

test("parseBenchOptions refuses what it does not understand", () => {
  const vectors: readonly [readonly string[], RegExp][] = [
    [["--rounds", "0"], /--rounds 0: a number from 1 to 100/],
    [["--pods", "1e2"], /--pods 1e2/],
    [["--pods", "251"], /from 1 to 250/],
    [["--kubelet", "a=/x", "--kubelet", "a=/y"], /two kubelets are called a/],
    [["--kubelet", ""], /expects a path/],
    [["--containerd", "3"], /--containerd 3: machine, 1.7, 2.1, 2.4 are known/],
    [["--guest", "--cluster"], /--guest and --cluster: only one/],
    [["--guest", "--json", "x.json"], /--guest and --json: only one/],
    [["--guest", "--kubelet", "/x"], /--guest --kubelet \/x: the guest has no other programs/],
    [["--unknown"], /--unknown[\s\S]*usage:/],
    [["word"], /word[\s\S]*usage:/],
  ];
  for (const [argv, message] of vectors) {
    assert.throws(
      () => parseBenchOptions(argv),
      (error) => error instanceof UsageProblem && message.test(error.message),
      argv.join(" "),
    );
  }
});

test("readVersion knows kubelets and refuses everything else", () => {
  assert.deepEqual(readVersion("Kubernetes v1.20.2\n"), {
    version: "v1.20.2",
    minor: 20,
    isNodelet: false,
  });
  const own = readVersion("Kubernetes v1.36.2+nodelet.0.1.0\n");
  assert.deepEqual([own.minor, own.isNodelet], [36, true]);
  assert.throws(() => readVersion("GNU bash, version 5.2"), /no kubelet/);
});

test("flags and configuration follow the release", () => {
  const of = (minor: number) => ({
    argv: kubeletArgv({ path: "/k/kubelet", minor }, "/c.json").slice(1).join(" "),
    fields: Object.keys(benchConfig(minor, "/m")),
  });
  const endpoint = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock";
  assert.equal(of(20).argv, `--config=/c.json --container-runtime=remote ${endpoint}`);
  assert.equal(of(26).argv, `--config=/c.json ${endpoint}`);
  assert.equal(of(36).argv, "--config=/c.json");
  for (const [minor, endpointField, failField] of [
    [20, false, false],
    [27, true, false],
    [31, true, true],
  ] as const) {
    assert.equal(of(minor).fields.includes("containerRuntimeEndpoint"), endpointField);
    assert.equal(of(minor).fields.includes("failCgroupV1"), failField);
  }
  assert.deepEqual(kubeletArgv({ path: "/n/nodelet", minor: 36 }, "/c.json"), [
    "/n/nodelet",
    "run",
    "--config=/c.json",
  ]);
});

test("benchPod has two probes a second only where they are asked for", () => {
  const probesOf = (probes: boolean) => {
    const [container] = benchPod("p", "image", { probes }).spec?.containers ?? [];
    return [container?.readinessProbe, container?.livenessProbe].map((each) => each?.periodSeconds);
  };
  assert.deepEqual(probesOf(true), [1, 1]);
  assert.deepEqual(probesOf(false), [undefined, undefined]);
});

test("cpuTicksOf and memoryOf read what the kernel writes", () => {
  const stat = "12 (a (b) c) S 1 1 1 0 -1 4194560 9 8 0 0 100 20 3 4 20 0 1 0 77 1000 200 18446744";
  assert.deepEqual(cpuTicksOf(stat), { own: 120, children: 7 });
  assert.throws(() => cpuTicksOf("12 (a) S 1"), /not a stat line/);
  const rollup =
    "00400000-7ffe rollup\nRss:   2048 kB\nPss:  9 kB\nPrivate_Clean: 768 kB\nPrivate_Dirty: 256 kB\nAnonymous:    512 kB\n";
  assert.deepEqual(memoryOf(rollup), { rssMib: 2, privateMib: 1, anonymousMib: 0.5 });
  assert.throws(() => memoryOf("Rss: 1 MB"), /no Rss/);
});

test("busyTicksOf leaves out idle, waiting and guests", () => {
  assert.equal(busyTicksOf("cpu  1 2 4 1000 500 8 16 32 1 1\ncpu0 7 7 7 7 7 7 7 7 7 7\n"), 63);
  assert.throws(() => busyTicksOf("intr 1"), /not as expected/);
});

test("wakingsOf counts what the kernel calls voluntary context switches", () => {
  const switches = "voluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n";
  assert.equal(wakingsOf(`Name:\tnodelet\n${switches}`), 17);
  assert.equal(wakingsOf("Name:\tnodelet\n"), 0);
});

test("processFigures sees this very process work", async () => {
  const before = processFigures(process.pid);
  const own = process.cpuUsage();
  const used = () => process.cpuUsage(own).user + process.cpuUsage(own).system;
  while (used() < 50_000) Math.sqrt(used());
  for (let i = 0; i < 10; i += 1) await sleep(2);
  const after = processFigures(process.pid);
  assert.ok(after.cpuMs - before.cpuMs >= 40, `${after.cpuMs - before.cpuMs} ms`);
  assert.ok(after.rssMib > after.anonymousMib && after.anonymousMib > 1);
  assert.ok(after.wakings - before.wakings >= 10, `${after.wakings - before.wakings} wakings`);
});

/** A round with the given figures; the floor is 100 ms for one pod, 1000 ms for the last of many. */
function aRound(figures: {
  readonly single: number;
  readonly last: number;
  readonly middle?: number;
  readonly pods?: number;
  readonly seconds?: number;
  readonly elsewhereCores?: number;
}): Round {
  const { single, last, middle = last / 2, pods = 50, seconds = 30 } = figures;
  const { elsewhereCores = 0.1 } = figures;
  const times = (ms: number) => ({ runningMs: ms, readyMs: ms + 1 });
  const many = Array.from({ length: pods }, (_, i) => (i < pods - 1 ? middle : last));
  const floorMany = (end: number) => Array.from({ length: pods }, () => end);
  return {
    floor: {
      single: { runningMs: Array(7).fill(100), stoppedMs: Array(7).fill(2000) },
      together: [
        { parallel: 4, runningMs: floorMany(1000), stoppedMs: floorMany(3000) },
        { parallel: pods, runningMs: floorMany(1200), stoppedMs: floorMany(3000) },
      ],
    },
    startUpMs: 400,
    single: { pods: Array(7).fill(times(single)), stoppedMs: Array(7).fill(2100) },
    together: { pods: many.map(times), startCpuMs: 500, stoppedMs: many, stopCpuMs: 250 },
    steady: [
      { pods: 0, seconds, cpuMilli: 4, wakings: 3, elsewhereCores, rssMib: 80, anonymousMib: 30 },
      {
        pods,
        seconds: seconds / 2,
        cpuMilli: 6,
        wakings: 5,
        elsewhereCores,
        rssMib: 90,
        anonymousMib: 40,
      },
    ],
    probing: undefined,
  };
}

test("judgeAll: the median of the rounds decides, exactly the limit is kept", () => {
  const verdicts = (rounds: readonly Round[]) => judgeAll({ rounds }).map(({ met }) => met);
  assert.deepEqual(
    verdicts([aRound({ single: 130, last: 1400, middle: 840 })]),
    Array(6).fill(true),
  );
  const [single, last, middle] = verdicts([
    aRound({ single: 120, last: 1300 }),
    aRound({ single: 131, last: 1401 }),
    aRound({ single: 500, last: 9000 }),
  ]);
  assert.deepEqual([single, last, middle], [false, false, true]);
  assert.equal(verdicts([aRound({ single: 100, last: 1000, middle: 601 })])[2], false);
});

test("judgeAll does not judge by a few pods or a short window", () => {
  const few = judgeAll({ rounds: [aRound({ single: 900, last: 9000, pods: 5, seconds: 2 })] });
  assert.deepEqual(
    few.map(({ met }) => met),
    // One pod was made often enough.
    [false, undefined, undefined, undefined, undefined, undefined],
  );
});

function aResult(rounds: readonly Round[]): BenchResult {
  return {
    format: 1,
    startedAt: "2026-01-02T03:04:05.000Z",
    endedAt: "2026-01-02T03:14:05.000Z",
    machine: {
      cpus: 2,
      cpuModel: "Some CPU",
      memoryGib: 24,
      kernel: "6.1",
      node: "v26",
      runtime: "containerd 1.6",
      loadBefore: 0.1,
      loadAfter: 3,
    },
    options: { rounds: rounds.length, pods: 50, singles: 7, idleSeconds: 30, probes: false },
    subjects: [
      { label: "nodelet", version: "v1.36.2+nodelet.1", isNodelet: true, rounds },
      { label: "go", version: "v1.20.2", isNodelet: false, rounds },
    ],
  };
}

test("renderReport shows figures, ratios and every target", () => {
  const text = renderReport(aResult([aRound({ single: 150, last: 1100 })]));
  assert.match(text, /^ {2}create → running +100 +150 +×1\.50 +150 +×1\.50$/m);
  assert.match(text, /^ {2}create → running, last +1000 +1100 +×1\.10/m);
  assert.match(text, /^ {2}start +10\.0/m);
  assert.match(text, /^ {2}50 pods: resident memory, MiB +90\.0/m);
  assert.match(text, /4 in parallel: median pod runs after 1000 ms, the last after 1000 ms/);
  assert.match(text, /^one pod, create → running, to the floor +≤ 1\.3 × +1\.50 NOT MET/m);
  for (const { name } of TARGETS) assert.ok(text.includes(name), name);
  assert.match(text, /others used 0\.10 – 0\.10 cores while no pods ran$/m);
});

test("renderReport says how far rounds differ, and when the machine was busy", () => {
  const busy = aRound({ single: 200, last: 1100, elsewhereCores: 1.5 });
  const text = renderReport(aResult([aRound({ single: 100, last: 1000 }), busy]));
  assert.match(text, /^ {2}create → running +100 +150 \(100 – 200\) +×1\.50/m);
  assert.match(text, /others used 0\.10 – 1\.50 cores while no pods ran: A BUSY MACHINE/);
});

test("missedTargets judges nodelet only", () => {
  assert.deepEqual(missedTargets(aResult([aRound({ single: 100, last: 1000 })]).subjects), []);
  assert.deepEqual(missedTargets(aResult([aRound({ single: 150, last: 1000 })]).subjects), [
    "nodelet: one pod, create → running, to the floor",
  ]);
});
