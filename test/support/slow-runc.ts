/** A runc that takes its time, as one does on a machine that is short of processors. */
import type { Box } from "../box/box.ts";

const REAL = "/run/tmp/runc";

/**
 * Puts a script in runc's place that runs `wait`, a line of shell, before it makes a container (not a sandbox), or
 * before it runs another command in one.
 */
export async function slowRunc(box: Box, verb: "create" | "exec", wait: string): Promise<void> {
  const own = box.runtimePaths.runc;
  const isContainer = `grep -q 'container-type":"container"' "$each/config.json"`;
  const work = {
    create: `for each; do [ -f "$each/config.json" ] && ${isContainer} && { ${wait}; }; done`,
    exec: wait,
  }[verb];
  const script = `#!/bin/sh
case " $* " in *" ${verb} "*) ${work} ;; esac
exec ${REAL} "$@"
`;
  await box.run(["cp", own, REAL]);
  box.write(`${REAL}-slow`, script);
  await box.run(["chmod", "+x", `${REAL}-slow`]);
  await box.run(["mount", "--bind", `${REAL}-slow`, own]);
}
