import { existsSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism, networkInterfaces, hostname as nodeHostname } from "node:os";
import { smallest } from "../../kit/limits/lists.ts";
import { parseMeminfo } from "../../kit/proc/meminfo.ts";
import { type InterfaceAddress, rankAddresses } from "./default-route.ts";
import type { HostFacts } from "./host.ts";

/** Names of architectures as the API spells them (Go's), where they differ from Node's. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "amd64",
  ia32: "386",
  loong64: "loong64",
  ppc64: "ppc64le",
};

/** Places of the firmware's machine number, in cAdvisor's order. */
const SYSTEM_UUID_FILES = [
  "/sys/class/dmi/id/product_uuid",
  "/proc/device-tree/system-id",
  "/proc/device-tree/vm,uuid",
  "/etc/machine-id",
] as const;

/** The facts of the machine below `root` ("" is the machine itself); missing values are "" or 0. */
export function readHostFacts(root = ""): HostFacts {
  const text = (path: string) => readTrimmed(`${root}${path}`);
  const memory = parseMeminfo(text("/proc/meminfo"));
  const cpuCount =
    countListed(text("/sys/devices/system/cpu/online")) ||
    countProcessors(text("/proc/cpuinfo")) ||
    availableParallelism();
  return {
    hostname: text("/proc/sys/kernel/hostname") || nodeHostname(),
    cpuCount,
    ...readTopology(root, cpuCount),
    memoryBytes: memory.get("MemTotal") ?? 0,
    swapBytes: memory.get("SwapTotal") ?? 0,
    kernelVersion: text("/proc/sys/kernel/osrelease"),
    osImage: osImage(text("/etc/os-release") || text("/usr/lib/os-release")),
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    bootId: text("/proc/sys/kernel/random/boot_id"),
    machineId: text("/etc/machine-id") || text("/var/lib/dbus/machine-id"),
    systemUuid: SYSTEM_UUID_FILES.map(text).find((uuid) => uuid !== "") ?? "",
    pageBytes: readPageBytes(),
    pidMax: smallestPositive([
      text("/proc/sys/kernel/pid_max"),
      text("/proc/sys/kernel/threads-max"),
    ]),
    hugepages: readHugepages(`${root}/sys/kernel/mm/hugepages`),
    thermalThrottleFolders: thermalThrottleFolders(root),
    inUserNamespace: isMapped(text("/proc/self/uid_map")),
  };
}

/** Every id is itself in the machine's first user namespace; where the kernel has no such namespaces there is no map. */
function isMapped(uidMap: string): boolean {
  return uidMap !== "" && !/^\s*0\s+0\s+4294967295\s*$/.test(uidMap);
}

/** Key of the page size in the auxiliary vector (getauxval(3)). */
const AT_PAGESZ = 6n;
const USUAL_PAGE_BYTES = 4096;

/** Bytes of a memory page, from the auxiliary vector of this process. */
function readPageBytes(): number {
  try {
    const words = new BigUint64Array(new Uint8Array(readFileSync("/proc/self/auxv")).buffer);
    for (let at = 0; at + 1 < words.length; at += 2) {
      if (words[at] === AT_PAGESZ) return Number(words[at + 1]);
    }
  } catch {
    // A kernel without it has the usual pages.
  }
  return USUAL_PAGE_BYTES;
}

function readTrimmed(path: string): string {
  try {
    // Texts of the device tree end with a NUL.
    return readFileSync(path, "utf8").replaceAll("\0", "").trim();
  } catch {
    return "";
  }
}

/** How many numbers a kernel list such as `0-3,8` holds; 0 when it is none. */
export function countListed(list: string): number {
  let count = 0;
  for (const part of list.split(",")) {
    const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return 0;
    count += Number(last ?? first) - Number(first) + 1;
  }
  return count;
}

function countProcessors(cpuinfo: string): number {
  return cpuinfo.match(/^processor\s*:/gm)?.length ?? 0;
}

/** `PRETTY_NAME` of an os-release(5), "Linux" when it has none. */
export function osImage(osRelease: string): string {
  const value = /^PRETTY_NAME=(.*)$/m.exec(osRelease)?.[1]?.trim() ?? "";
  return value.replace(/^(["'])(.*)\1$/, "$2").replace(/\\(["'`$\\])/g, "$1") || "Linux";
}

/** Cores and packages of the processors that are online; a machine that does not report them has one package. */
function readTopology(
  root: string,
  cpuCount: number,
): Pick<HostFacts, "physicalCores" | "cpuSockets"> {
  const cores = new Set<string>();
  const sockets = new Set<string>();
  for (const name of namesIn(`${root}${CPU_FOLDER}`)) {
    if (!/^cpu\d+$/.test(name)) continue;
    const folder = `${root}${CPU_FOLDER}/${name}/topology`;
    const socket = readTrimmed(`${folder}/physical_package_id`);
    const core = readTrimmed(`${folder}/core_id`);
    if (socket === "" || core === "") continue;
    sockets.add(socket);
    cores.add(`${socket}/${core}`);
  }
  return { physicalCores: cores.size || cpuCount, cpuSockets: sockets.size || 1 };
}

function smallestPositive(texts: readonly string[]): number {
  const values = texts.map(Number).filter((value) => Number.isSafeInteger(value) && value > 0);
  return values.length === 0 ? 0 : smallest(values);
}

function readHugepages(folder: string): HostFacts["hugepages"] {
  const sizes: { sizeBytes: number; pages: number }[] = [];
  for (const name of namesIn(folder)) {
    const kibibytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    if (kibibytes === undefined) continue;
    const pages = Number(readTrimmed(`${folder}/${name}/nr_hugepages`)) || 0;
    sizes.push({ sizeBytes: Number(kibibytes) * 1024, pages });
  }
  return sizes.sort((a, b) => a.sizeBytes - b.sizeBytes);
}

const CPU_FOLDER = "/sys/devices/system/cpu";

/** `thermal_throttle` of each processor that has it, by number. */
function thermalThrottleFolders(root: string): readonly string[] {
  return namesIn(`${root}${CPU_FOLDER}`)
    .flatMap((name) => /^cpu(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
    .map((cpu) => `${CPU_FOLDER}/cpu${cpu}/thermal_throttle`)
    .filter((folder) => existsSync(`${root}${folder}`));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Tables that change with every address, IPv4 and IPv6, and with IPv4's default route (IPv6's counts packets). */
const ADDRESS_TABLES = ["/proc/net/fib_trie", "/proc/net/if_inet6", "/proc/net/route"] as const;

/**
 * See `Host.addresses`. Listing the interfaces of a node with 250 pods takes 10 ms of CPU, which is too much to do again
 * and again; the tables take 0.3 ms, and show when it is needed.
 */
export function createAddressReader(): () => readonly string[] {
  let known: { readonly tables: string; readonly addresses: readonly string[] } | undefined;
  return () => {
    const [ipv4 = "", ...others] = ADDRESS_TABLES.map(readTrimmed);
    const tables = [ipv4, ...others].join("\n");
    // A kernel may keep the first one from us.
    if (known === undefined || ipv4 === "" || known.tables !== tables)
      known = { tables, addresses: readAddresses() };
    return known.addresses;
  };
}

function readAddresses(): readonly string[] {
  return rankAddresses(interfaceAddresses(), {
    v4: readTrimmed("/proc/net/route"),
    v6: readTrimmed("/proc/net/ipv6_route"),
  });
}

function interfaceAddresses(): readonly InterfaceAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address }) => ({ interface: name, address })),
  );
}
