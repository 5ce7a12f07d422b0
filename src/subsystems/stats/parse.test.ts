import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deviceOfNumber,
  groupPath,
  keyedNumber,
  parseBlkio,
  parseBootSecond,
  parseDefaultInterface,
  parseDiskstats,
  parseInterfaces,
  parseIoStat,
  parseKeyed,
  parseLimit,
  parseNumber,
  parseOpenFilesLimit,
  parsePressure,
  parseTasks,
  pidsOf,
} from "./parse.ts";

test("numbers and limits: what is not a number or no limit is undefined", () => {
  assert.deepEqual(["42", "0", "max", "-1", "", undefined].map(parseNumber), [
    42,
    0,
    ...Array(4).fill(undefined),
  ]);
  for (const free of ["9223372036854771712", "9223372036854775807", "max", undefined])
    assert.equal(parseLimit(free), undefined);
  assert.equal(parseLimit("8589934592"), 8 * 2 ** 30);
});

test("parseKeyed takes names and numbers, and bears what is neither", () => {
  const stat = parseKeyed("cache 9428992\nrss 16187392\n\nodd\ntotal_rss 5");
  assert.deepEqual(
    [...stat],
    [
      ["cache", 9428992],
      ["rss", 16187392],
      ["total_rss", 5],
    ],
  );
  assert.equal(parseKeyed(undefined).size, 0);
});

test("keyedNumber finds the whole name only, wherever it stands", () => {
  const text = "rss 1\ntotal_rss 2\nrss_huge 3\ntotal_rss_huge 4";
  const find = (name: string) => keyedNumber(text, name);
  assert.deepEqual(["rss", "total_rss", "rss_huge", "total_rss_huge"].map(find), [1, 2, 3, 4]);
  assert.deepEqual(["huge", "total", "", "ss"].map(find), Array(4).fill(undefined));
  assert.equal(keyedNumber(undefined, "rss"), undefined);
});

test("parsePressure reads both lines; an old kernel has no full for the CPU", () => {
  const some = "some avg10=12.32 avg60=4.23 avg300=3.88 total=2017265909";
  const line = { avg10: 12.32, avg60: 4.23, avg300: 3.88, total: 2017265909 };
  const nothing = { avg10: 0, avg60: 0, avg300: 0, total: 0 };
  assert.deepEqual(parsePressure(some), { some: line, full: nothing });
  const full = "full avg10=0.50 avg60=0.00 avg300=0.00 total=7";
  assert.deepEqual(parsePressure(`${some}\n${full}`)?.full, { ...nothing, avg10: 0.5, total: 7 });
  assert.deepEqual([parsePressure(undefined), parsePressure("")], [undefined, undefined]);
});

test("parseInterfaces reads /proc/net/dev, also where a number touches the name", () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0
  eth0:1234567890 11 2 3 0 0 0 0 987 12 4 5 0 0 0 0`;
  const [lo, eth0] = parseInterfaces(text);
  assert.equal(lo?.name, "lo");
  assert.deepEqual(eth0, {
    name: "eth0",
    rxBytes: 1234567890,
    rxPackets: 11,
    rxErrors: 2,
    rxDropped: 3,
    txBytes: 987,
    txPackets: 12,
    txErrors: 4,
    txDropped: 5,
  });
});

test("devices: io.stat of version 2, two files of version 1", () => {
  const device = { device: "8:0", readBytes: 4096, writtenBytes: 8192, reads: 1, writes: 2 };
  const stat = "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n253:0 \nodd";
  assert.deepEqual(parseIoStat(stat)[0], device);
  const bytes = "8:0 Read 4096\n8:0 Write 8192\n8:0 Total 12288\nTotal 12288";
  assert.deepEqual(parseBlkio(bytes, "8:0 Read 1\n8:0 Write 2\nTotal 3"), [device]);
  assert.deepEqual([parseIoStat(undefined), parseBlkio(undefined, undefined)], [[], []]);
});

test("facts of the machine out of /proc", () => {
  const route = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n";
  const lines =
    "ens3\t0002A8C0\t00000000\t1\t0\t0\t0\t00FFFFFF\t0\nens3\t00000000\t0102A8C0\t3\t0\t0\t0\t00000000\t0";
  assert.equal(parseDefaultInterface(`${route}${lines}`), "ens3");
  assert.equal(parseDefaultInterface(route), undefined);
  assert.equal(parseTasks("0.96 0.53 1.35 3/345 12345"), 345);
  assert.equal(parseBootSecond("cpu 1 2\nbtime 1790000000\nprocesses 5"), 1790000000);
});

test("groupPath: a group however people write it, never above the root", () => {
  for (const [text, path] of [
    ["/system.slice/containerd.service", "/system.slice/containerd.service"],
    ["system.slice/", "/system.slice"],
    ["//a/./b/../c//", "/a/c"],
    ["../../etc", "/etc"],
    ["/", "/"],
    ["a\0b", "/ab"],
  ] as const)
    assert.equal(groupPath(text), path, text);
});

test("pidsOf leaves out processes of other namespaces", () => {
  assert.deepEqual(["0\n12\n13", "", undefined].map(pidsOf), [[12, 13], [], []]);
});

test("parseDiskstats takes each disk, of old kernels and new", () => {
  const disks = parseDiskstats(
    "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n 259 1 nvme0n1p1 1 0 8 0 0 0 0 0 0 4 4\n   7 0 loop0 1 2",
  );
  assert.deepEqual([...disks.keys()], ["8:0", "259:1"]);
  assert.deepEqual(disks.get("8:0"), {
    reads: 1,
    readsMerged: 2,
    sectorsRead: 3,
    readMs: 4,
    writes: 5,
    writesMerged: 6,
    sectorsWritten: 7,
    writeMs: 8,
    inProgress: 9,
    busyMs: 10,
    weightedMs: 11,
  });
  assert.equal(parseDiskstats(undefined).size, 0);
});

test("deviceOfNumber takes apart small and large numbers", () => {
  assert.deepEqual([0x801, 0x10300, 0x100055, 0x202fb0].map(deviceOfNumber), [
    "8:1",
    "259:0",
    "0:341",
    "47:688",
  ]);
});

test("parseOpenFilesLimit takes the soft limit", () => {
  const limits = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft.padEnd(20)} 1048576              files\n`;
  assert.deepEqual([limits("1024"), limits("unlimited"), "", undefined].map(parseOpenFilesLimit), [
    1024,
    -1,
    undefined,
    undefined,
  ]);
});
