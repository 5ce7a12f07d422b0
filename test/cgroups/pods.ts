import { TEST_IMAGE } from "../box/images.ts";
import { type Manifest, manifest } from "../support/agent.ts";

/** A pod of the given requests and limits that runs a shell command. */
export function pod(
  name: string,
  command: readonly string[],
  resources: Readonly<Record<"requests" | "limits", Record<string, string>>> | undefined,
  restartPolicy = "Always",
): Manifest {
  const container = { name: "main", image: TEST_IMAGE, command, ...(resources && { resources }) };
  const { metadata, spec } = manifest(name, { restartPolicy, containers: [container] });
  return { metadata: { ...metadata, uid: name }, ...(spec && { spec }) };
}

/** A command that does nothing, not even read the clock. */
export const QUIET = ["sleep", "600"] as const;
