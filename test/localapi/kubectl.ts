/** Ordinary kubectls in a box. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CACHE_DIR, fetchPackages } from "../../tools/debian-suite.mjs";
import { builtProgram, pinnedVersion } from "../../tools/go/build-programs.mjs";
import type { NodeBox } from "../cli/node-box.ts";
import { TIMEOUT_FACTOR } from "../support/timeout-factor.ts";

/** What `nodelet up` writes for administrators. */
export const KUBECONFIG = "/etc/nodelet/kubeconfig";

interface KubectlProgram {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly path: () => string;
}

/**
 * Programs to try, by version, oldest first. Debian's are fetched once and cached; today's is there when it was built for
 * a control plane, which a whole run does before.
 */
export const PROGRAMS: readonly KubectlProgram[] = [
  fromDebian("1.20", "bookworm", "kubernetes-client"),
  fromDebian("1.36", "sid", "kubectl"),
  ...builtFromModules(),
];

function builtFromModules(): readonly KubectlProgram[] {
  const path = builtProgram("kubectl");
  if (path === undefined) return [];
  const [, name = ""] = /^v(\d+\.\d+)\./.exec(pinnedVersion("kubectl")) ?? [];
  return [{ name, isThere: () => true, path: () => path }];
}

function fromDebian(name: string, suite: string, packageName: string): KubectlProgram {
  return {
    name,
    isThere: () => existsSync(join(CACHE_DIR, "packages", suite, packageName)),
    path: () => join(fetchPackages(suite, [packageName])[0] ?? "", "usr/bin/kubectl"),
  };
}

/** Where that version is; `undefined` when it is not to be had. */
export function programOf({ path }: KubectlProgram): string | undefined {
  try {
    const found = path();
    return existsSync(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** kubectl in a box with a local API, and all that was reported. */
export class Kubectl {
  readonly #node: NodeBox;
  readonly #program: string;
  readonly transcript: string[] = [];

  constructor(node: NodeBox, program: string) {
    this.#node = node;
    this.#program = program;
  }

  async run(
    args: readonly string[],
    options: { code?: number; stdin?: string } = {},
  ): Promise<string> {
    const { code = 0, stdin = "" } = options;
    const result = await this.#node.box.exec([this.#program, ...args], {
      env: { KUBECONFIG, HOME: "/root", KUBE_EDITOR: 'sed -i s/edited:.*/edited:\\ \\"yes\\"/' },
      stdin,
      timeoutMs: 60_000 * TIMEOUT_FACTOR,
    });
    const reported = `${result.stdout}${result.stderr}`;
    this.transcript.push(`$ kubectl ${args.join(" ")}`, reported.trimEnd());
    assert.equal(result.code, code, `kubectl ${args.join(" ")}: ${reported}`);
    return reported;
  }

  /** Runs a command again, for 30 s at most where nothing is emulated, until it reports what is expected. */
  async until(args: readonly string[], expected: RegExp): Promise<string> {
    const deadline = performance.now() + 30_000 * TIMEOUT_FACTOR;
    for (;;) {
      const reported = await this.run(args);
      if (expected.test(reported)) return reported;
      assert.ok(performance.now() < deadline, `kubectl ${args.join(" ")}: ${reported}`);
      await sleep(200);
    }
  }

  spawn(args: readonly string[]) {
    return this.#node.box.spawn([this.#program, ...args], { env: { KUBECONFIG, HOME: "/root" } });
  }
}
