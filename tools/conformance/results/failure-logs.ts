/** For every spec that failed, a folder with what the spec and the node said meanwhile. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SpecOutcome } from "./result.ts";

const NODE_LOGS = ["kubelet.log", "containerd.log", "services.log"];
const NAME_CHARACTERS = 80;
/** klog's `I1129 07:46:51.277320` and logrus' `time="2026-11-29T07:46:51`. */
const TIME_OF_DAY = /^(?:[IWEF]\d{4} |time="\d{4}-\d\d-\d\dT)(\d\d:\d\d:\d\d)/;

/** Writes the folders below `target` from the logs in `folder`. */
export function writeFailureLogs(
  folder: string,
  outcomes: readonly SpecOutcome[],
  target: string,
): void {
  rmSync(target, { recursive: true, force: true });
  const failed = outcomes.filter(({ outcome }) => outcome === "failed");
  const logs = NODE_LOGS.filter((name) => existsSync(join(folder, name))).map(
    (name) => [name, readFileSync(join(folder, name), "utf8").split("\n")] as const,
  );
  for (const [index, spec] of failed.entries()) {
    const readable = spec.name.replace(/[^\w.-]+/g, "-").slice(0, NAME_CHARACTERS);
    const place = join(target, `${String(index + 1).padStart(3, "0")}-${readable}`);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "spec.log"), `${spec.name}\n${spec.message}\n\n${spec.output}`);
    for (const [name, lines] of logs)
      writeFileSync(join(place, name), linesBetween(lines, spec.began, spec.ended).join("\n"));
  }
}

/** Lines of those times of the day; what has no time of its own belongs to the line before. */
export function linesBetween(lines: readonly string[], began: string, ended: string): string[] {
  const from = began.slice(11, 19);
  const to = ended.slice(11, 19);
  let inside = false;
  return lines.filter((line) => {
    const [, time] = TIME_OF_DAY.exec(line) ?? [];
    if (time !== undefined)
      inside = from <= to ? time >= from && time <= to : time >= from || time <= to;
    return inside;
  });
}
