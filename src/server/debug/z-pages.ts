// pure
import { rfc3339 } from "../../api/text/timestamps.ts";
import type { WallMs } from "../../kit/clock.ts";

/** Which form of `/statusz` and `/flagz` a caller accepts. */
export type PageForm =
  | { readonly kind: "text" }
  /** `version` is that of the group config.k8s.io. */
  | { readonly kind: "object"; readonly version: string }
  | { readonly kind: "none" };

const GROUP = "config.k8s.io";
const VERSIONS: readonly string[] = ["v1beta1", "v1alpha1"];
const COMPONENT = "kubelet";
const TEXT_TYPES: ReadonlySet<string> = new Set(["*/*", "text/*", "text/plain"]);

/** Reads an `Accept` header: the first form that is served counts. `kind` is `Statusz` or `Flagz`. */
export function pageFormOf(accept: string | undefined, kind: string): PageForm {
  if (accept === undefined || accept.trim() === "") return { kind: "text" };
  for (const clause of accept.split(",")) {
    const [type = "", ...parameters] = clause.split(";").map((part) => part.trim());
    if (TEXT_TYPES.has(type)) return { kind: "text" };
    const asked = new Map(parameters.map((text) => splitAt(text, "=")));
    const version = asked.get("v") ?? "";
    const isServed =
      type === "application/json" &&
      asked.get("as") === kind &&
      asked.get("g") === GROUP &&
      VERSIONS.includes(version);
    if (isServed) return { kind: "object", version };
  }
  return { kind: "none" };
}

function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** Content of `/statusz`. */
export interface StatusPage {
  readonly startedAt: WallMs;
  readonly now: WallMs;
  /** Of what it is written in, where Go components have `go1.23.2`. */
  readonly engineVersion: string;
  readonly binaryVersion: string;
  /** Paths of the server for inspecting the component. */
  readonly paths: readonly string[];
}

const MS_PER_SECOND = 1_000;
const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_HOUR = 3_600;

/** `/statusz` as text (statusz of k8s.io/apiserver). */
export function statusText(page: StatusPage): string {
  const seconds = uptimeSeconds(page);
  const hours = Math.floor(seconds / SECONDS_PER_HOUR);
  const minutes = Math.floor((seconds % SECONDS_PER_HOUR) / SECONDS_PER_MINUTE);
  const lines = [
    `Started: ${unixDate(page.startedAt)}`,
    `Up: ${hours} hr ${two(minutes)} min ${two(seconds % SECONDS_PER_MINUTE)} sec`,
    `Go version: ${page.engineVersion}`,
    `Binary version: ${page.binaryVersion}`,
    `Paths: ${page.paths.join(" ")}`,
  ];
  return `${header("statusz")}${lines.join("\n")}\n`;
}

/** `/statusz` as an object of config.k8s.io. */
export function statusObject(page: StatusPage, version: string): object {
  return {
    kind: "Statusz",
    apiVersion: `${GROUP}/${version}`,
    metadata: { name: COMPONENT },
    startTime: rfc3339(page.startedAt),
    uptimeSeconds: uptimeSeconds(page),
    goVersion: page.engineVersion,
    binaryVersion: page.binaryVersion,
    paths: page.paths,
  };
}

/** `/flagz` as text: one flag a line. */
export function flagsText(flags: Readonly<Record<string, string>>): string {
  const lines = Object.entries(flags).map(([name, value]) => `${name}=${value}\n`);
  return `${header("flagz")}${lines.join("")}`;
}

/** `/flagz` as an object of config.k8s.io. */
export function flagsObject(flags: Readonly<Record<string, string>>, version: string): object {
  return {
    kind: "Flagz",
    apiVersion: `${GROUP}/${version}`,
    metadata: { name: COMPONENT },
    flags,
  };
}

function header(page: string): string {
  return `\n${COMPONENT} ${page}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n\n`;
}

function uptimeSeconds({ startedAt, now }: StatusPage): number {
  return Math.max(0, Math.floor((now - startedAt) / MS_PER_SECOND));
}

/** `Wed Oct 16 21:03:43 UTC 2024`, as Go's `time.UnixDate`. */
function unixDate(wall: WallMs): string {
  const text = rfc3339(wall);
  const [year, month, day] = text.slice(0, 10).split("-").map(Number);
  const weekday = WEEKDAYS[weekdayOf(wall)];
  return `${weekday} ${MONTHS[(month ?? 1) - 1]} ${String(day).padStart(2)} ${text.slice(11, 19)} UTC ${year}`;
}

const MS_PER_DAY = 86_400_000;
/** The first of January 1970 was a Thursday. */
const EPOCH_WEEKDAY = 4;
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function weekdayOf(wall: WallMs): number {
  return (((Math.floor(wall / MS_PER_DAY) + EPOCH_WEEKDAY) % 7) + 7) % 7;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
