// pure

import type { DeviceFigures, DiskWork, FsFigures, NodeFigures } from "../../api/figures/figures.ts";
import type { MetricFamily, Sample } from "../../kit/metric-text.ts";
import { counter, type Described, gauge, type MetricRow } from "./metric-rows.ts";
import { deviceOfNumber } from "./parse.ts";

const MILLIS = 1_000;

/** Work on devices by group, and file systems and disks of the machine. `deviceName` is `/dev/sda` for `8:0`. */
export function storageMetrics(
  rows: readonly MetricRow[],
  node: NodeFigures,
  deviceName: (device: string) => string,
): readonly MetricFamily[] {
  return [
    ...groupStorage(rows, deviceName),
    ...filesystems(rows, node, deviceName),
    ...disks(rows, node, deviceName),
  ];
}

function groupStorage(
  rows: readonly MetricRow[],
  deviceName: (device: string) => string,
): readonly MetricFamily[] {
  const one = (
    name: string,
    help: string,
    of: (device: DeviceFigures) => number,
  ): MetricFamily => ({
    ...counter(name, help),
    samples: rows.flatMap(({ labels, group }) =>
      group.devices.map(
        (figures): Sample => ({
          base: labels,
          labels: { device: deviceName(figures.device) },
          value: of(figures),
          timestampMs: group.atMs,
        }),
      ),
    ),
  });
  const usage = rows.flatMap(({ labels, group }) =>
    group.devices.flatMap(({ device, readBytes, writtenBytes }): readonly Sample[] => {
      const [major = "", minor = ""] = device.split(":");
      const at = { device: deviceName(device), major, minor };
      return [
        {
          base: labels,
          labels: { ...at, operation: "Read" },
          value: readBytes,
          timestampMs: group.atMs,
        },
        {
          base: labels,
          labels: { ...at, operation: "Write" },
          value: writtenBytes,
          timestampMs: group.atMs,
        },
      ];
    }),
  );
  return [
    {
      ...counter("container_blkio_device_usage_total", "Blkio Device bytes usage"),
      samples: usage,
    },
    one("container_fs_reads_bytes_total", "Cumulative count of bytes read", (d) => d.readBytes),
    one("container_fs_reads_total", "Cumulative count of reads completed", (d) => d.reads),
    one(
      "container_fs_writes_bytes_total",
      "Cumulative count of bytes written",
      (d) => d.writtenBytes,
    ),
    one("container_fs_writes_total", "Cumulative count of writes completed", (d) => d.writes),
  ];
}

/** The file systems of node, images and layers, each once, on the row of the machine (`id="/"`), as cAdvisor. */
function filesystems(
  [machine]: readonly MetricRow[],
  { fs, imageFs, containerFs }: NodeFigures,
  deviceName: (device: string) => string,
): readonly MetricFamily[] {
  const found = new Map<string, FsFigures>();
  for (const one of [fs, imageFs, containerFs])
    if (one?.device !== undefined && !found.has(deviceOfNumber(one.device)))
      found.set(deviceOfNumber(one.device), one);
  const one = (
    name: string,
    help: string,
    of: (figures: FsFigures) => number | undefined,
  ): MetricFamily => ({
    ...gauge(`container_fs_${name}`, help),
    samples: [...found].flatMap(([device, figures]): readonly Sample[] => {
      const value = of(figures);
      if (value === undefined) return [];
      const labels = { ...machine?.labels, device: deviceName(device) || device };
      return [{ labels, value, timestampMs: figures.atMs }];
    }),
  });
  return [
    one(
      "limit_bytes",
      "Number of bytes that can be consumed by the container on this filesystem.",
      ({ capacityBytes }) => capacityBytes,
    ),
    // Of the whole file system: `usedBytes` of images counts images only.
    one(
      "usage_bytes",
      "Number of bytes that are consumed by the container on this filesystem.",
      ({ capacityBytes, availableBytes }) =>
        capacityBytes === undefined || availableBytes === undefined
          ? undefined
          : capacityBytes - availableBytes,
    ),
    one("inodes_free", "Number of available Inodes", ({ inodesFree }) => inodesFree),
    one("inodes_total", "Number of Inodes", ({ inodes }) => inodes),
  ];
}

/** Counters of a disk that the kernel keeps for the whole machine only. cAdvisor divides its times, which are in ms, by 10^9. */
const WORK: readonly (readonly [Described, of: (work: DiskWork) => number])[] = [
  [
    gauge("container_fs_io_current", "Number of I/Os currently in progress"),
    ({ inProgress }) => inProgress,
  ],
  [
    counter("container_fs_io_time_seconds_total", "Cumulative count of seconds spent doing I/Os"),
    ({ busyMs }) => busyMs / MILLIS,
  ],
  [
    counter(
      "container_fs_io_time_weighted_seconds_total",
      "Cumulative weighted I/O time in seconds",
    ),
    ({ weightedMs }) => weightedMs / MILLIS,
  ],
  [
    counter("container_fs_read_seconds_total", "Cumulative count of seconds spent reading"),
    ({ readMs }) => readMs / MILLIS,
  ],
  [
    counter("container_fs_reads_merged_total", "Cumulative count of reads merged"),
    ({ readsMerged }) => readsMerged,
  ],
  [
    counter("container_fs_sector_reads_total", "Cumulative count of sector reads completed"),
    ({ sectorsRead }) => sectorsRead,
  ],
  [
    counter("container_fs_sector_writes_total", "Cumulative count of sector writes completed"),
    ({ sectorsWritten }) => sectorsWritten,
  ],
  [
    counter("container_fs_write_seconds_total", "Cumulative count of seconds spent writing"),
    ({ writeMs }) => writeMs / MILLIS,
  ],
  [
    counter("container_fs_writes_merged_total", "Cumulative count of writes merged"),
    ({ writesMerged }) => writesMerged,
  ],
];

/** The disks of those file systems that have one. */
function disks(
  [machine]: readonly MetricRow[],
  { fs, imageFs, containerFs, disks: work }: NodeFigures,
  deviceName: (device: string) => string,
): readonly MetricFamily[] {
  const devices = new Set(
    [fs, imageFs, containerFs].flatMap((one) =>
      one?.device === undefined ? [] : [deviceOfNumber(one.device)],
    ),
  );
  return WORK.map(([described, of]) => ({
    ...described,
    samples: [...devices].flatMap((device): readonly Sample[] => {
      const done = work?.get(device);
      if (done === undefined) return [];
      const labels = { ...machine?.labels, device: deviceName(device) || device };
      return [
        {
          labels,
          value: of(done),
          ...(machine ? { timestampMs: machine.group.atMs } : {}),
        },
      ];
    }),
  }));
}
