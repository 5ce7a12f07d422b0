/** Mistakes that a programmer could make, each put into a copy of this checkout that is then built. */
import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const CHECKOUT = resolve(import.meta.dirname, "../..");
/** What a build reads; packages are linked. */
const COPIED = ["bin", "src", "tools", "package.json", "tsconfig.json"];

/** One mistake: a text that stands once in a source file, and what would stand there. */
export interface Defect {
  /** Short, for a command line. */
  readonly word: string;
  /** What the agent then does. */
  readonly about: string;
  readonly file: string;
  readonly text: string;
  readonly instead: string;
  /** Specs that are tried first, so that the whole part is played only for what these do not notice. */
  readonly first: RegExp;
}

export const DEFECTS: readonly Defect[] = [
  {
    word: "probe",
    about: "a probe counts one failure less",
    file: "src/subsystems/probes/target.ts",
    text: "failureThreshold: atLeastOne(probe.failureThreshold, 3),",
    instead: "failureThreshold: atLeastOne(probe.failureThreshold, 3) - 1,",
    first: /Probing container/,
  },
  {
    word: "ips",
    // Without podIPs alone nobody would see it: an API server makes them from podIP.
    about: "the addresses of a pod are missing in the status",
    file: "src/pipeline/status/derive.ts",
    text: "{ podIP: primary, podIPs: all }",
    instead: "{}",
    first: /Pod IPs/,
  },
  {
    word: "exit",
    about: "the exit code of containers is always 0 in the status",
    file: "src/pipeline/status/container-status.ts",
    text: "exitCode: attempt.exitCode,",
    instead: "exitCode: 0,",
    first: /terminated reason|expected status|Deleted pods/,
  },
  {
    word: "gates",
    about: "readiness gates are not read",
    file: "src/pipeline/status/pod-conditions.ts",
    text: "of pod.spec?.readinessGates ?? [])",
    instead: "of [] as { conditionType: string }[])",
    first: /readiness gates/,
  },
  {
    word: "variables",
    about: "variables in arguments are not replaced",
    file: "src/api/env/expand.ts",
    text: "result += lookup(name) ??",
    instead: 'result += lookup("") ??',
    first: /Variable Expansion/,
  },
  {
    word: "mode",
    about: "files of Secrets and ConfigMaps do not have the mode that is asked for",
    file: "src/subsystems/volumes/kinds/object-files.ts",
    text: "const keys = { items, defaultMode, optional: optional === true };",
    instead:
      "const keys = { items, defaultMode: defaultMode && 0o600, optional: optional === true };",
    first: /defaultMode|Item mode/,
  },
  {
    word: "changes",
    about: "files do not follow changes of their object",
    file: "src/subsystems/volumes/pod-volumes.ts",
    text: "entry.kind?.follows?.(request) ?? []",
    instead: "entry.kind?.follows?.(request).slice(0, 0) ?? []",
    first: /updates should be reflected/,
  },
  {
    word: "sidecars",
    about: "sidecars end in the order in which they have started",
    file: "src/pipeline/pods/plan/stop-order.ts",
    text: "sidecars.indexOf(name) > place;",
    instead: "(sidecars.includes(name) && sidecars.indexOf(name) < place);",
    first: /sidecars in reverse order/,
  },
  {
    word: "os",
    about: "a pod for another operating system is started",
    file: "src/pipeline/admission/rules.ts",
    text: 'if (os === undefined || os === "linux") return undefined;',
    instead: 'if (os === undefined || os !== "") return undefined;',
    first: /PodOSRejection/,
  },
  {
    word: "resize",
    about: "a container that goes on does not get its new limits",
    file: "src/subsystems/cgroups/resize.ts",
    text: "if (running) await updateContainer(running.id, resources);",
    instead: 'if (running && name === "") await updateContainer(running.id, resources);',
    first: /Resize .*no restart/,
  },
];

/** Why the defect does not fit the source as it is; undefined when it does. */
export function misfit({ file, text }: Defect): string | undefined {
  const count = readFileSync(join(CHECKOUT, file), "utf8").split(text).length - 1;
  return count === 1 ? undefined : `${file} has ${count} times: ${text}`;
}

/** Copies the checkout into `folder`, puts the defect in and builds; gives the path of the program. */
export async function buildWith({ file, text, instead }: Defect, folder: string): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of COPIED) cpSync(join(CHECKOUT, name), join(folder, name), { recursive: true });
  symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
  const path = join(folder, file);
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace(text, () => instead),
  );
  await promisify(execFile)(process.execPath, [join(folder, "tools/build.mjs")]);
  if (!readdirSync(join(folder, "dist")).includes("nodelet.cjs"))
    throw new Error(`the build left no program in ${folder}`);
  return join(folder, "bin/nodelet");
}
