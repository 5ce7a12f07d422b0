/** Mistakes that a programmer could make, each put into a copy of this checkout that is then built. */
import { execFileSync } from "node:child_process";
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
}

export const DEFECTS: readonly Defect[] = [
  {
    word: "probe",
    about: "a probe counts one failure less",
    file: "src/subsystems/probes/target.ts",
    text: "failureThreshold: atLeastOne(probe.failureThreshold, 3),",
    instead: "failureThreshold: atLeastOne(probe.failureThreshold, 3) - 1,",
  },
  {
    word: "ips",
    about: "podIPs is missing in the status",
    file: "src/pipeline/status/derive.ts",
    text: "{ podIP: primary, podIPs: all }",
    instead: "{ podIP: primary }",
  },
  {
    word: "exit",
    about: "the exit code of containers is always 0 in the status",
    file: "src/pipeline/status/container-status.ts",
    text: "exitCode: attempt.exitCode,",
    instead: "exitCode: 0,",
  },
  {
    word: "gates",
    about: "readiness gates are not read",
    file: "src/pipeline/status/pod-conditions.ts",
    text: "of pod.spec?.readinessGates ?? [])",
    instead: "of [] as { conditionType: string }[])",
  },
  {
    word: "variables",
    about: "variables in arguments are not replaced",
    file: "src/api/env/expand.ts",
    text: "result += lookup(name) ??",
    instead: 'result += lookup("") ??',
  },
  {
    word: "mode",
    about: "files of Secrets and ConfigMaps do not have the mode that is asked for",
    file: "src/subsystems/volumes/kinds/object-files.ts",
    text: "const keys = { items, defaultMode, optional: optional === true };",
    instead:
      "const keys = { items, defaultMode: defaultMode && 0o600, optional: optional === true };",
  },
  {
    word: "changes",
    about: "files do not follow changes of their object",
    file: "src/subsystems/volumes/pod-volumes.ts",
    text: "entry.kind?.follows?.(request) ?? []",
    instead: "entry.kind?.follows?.(request).slice(0, 0) ?? []",
  },
  {
    word: "sidecars",
    about: "sidecars end in the order in which they have started",
    file: "src/pipeline/pods/plan/stop-order.ts",
    text: "sidecars.indexOf(name) > place;",
    instead: "(sidecars.includes(name) && sidecars.indexOf(name) < place);",
  },
  {
    word: "os",
    about: "a pod for another operating system is started",
    file: "src/pipeline/admission/rules.ts",
    text: 'if (os === undefined || os === "linux") return undefined;',
    instead: 'if (os === undefined || os !== "") return undefined;',
  },
  {
    word: "resize",
    about: "a container that goes on does not get its new limits",
    file: "src/subsystems/cgroups/resize.ts",
    text: "if (running) await updateContainer(running.id, resources);",
    instead: 'if (running && name === "") await updateContainer(running.id, resources);',
  },
];

/** Why the defect does not fit the source as it is; undefined when it does. */
export function misfit({ file, text }: Defect): string | undefined {
  const count = readFileSync(join(CHECKOUT, file), "utf8").split(text).length - 1;
  return count === 1 ? undefined : `${file} has ${count} times: ${text}`;
}

/** Copies the checkout into `folder`, puts the defect in and builds; gives the path of the program. */
export function buildWith({ file, text, instead }: Defect, folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of COPIED) cpSync(join(CHECKOUT, name), join(folder, name), { recursive: true });
  symlinkSync(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
  const path = join(folder, file);
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace(text, () => instead),
  );
  execFileSync(process.execPath, [join(folder, "tools/build.mjs")], { stdio: "pipe" });
  if (!readdirSync(join(folder, "dist")).includes("nodelet.cjs"))
    throw new Error(`the build left no program in ${folder}`);
  return join(folder, "bin/nodelet");
}
