/** Ordinary kubectls in a box. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CACHE_DIR, fetchPackages } from "../../tools/debian-suite.mjs";
import type { NodeBox } from "../cli/node-box.ts";

/** What `nodelet up` writes for administrators. */
export const KUBECONFIG = "/etc/nodelet/kubeconfig";

/** Programs to try, by version, oldest first. Debian's are fetched once and cached. */
export const PROGRAMS: readonly {
  readonly name: string;
  readonly isThere: () => boolean;
  readonly path: () => string;
}[] = [fromDebian("1.20", "bookworm", "kubernetes-client"), fromDebian("1.36", "sid", "kubectl")];

function fromDebian(name: string, suite: string, packageName: string) {
  return {
    name,
    isThere: () => existsSync(join(CACHE_DIR, "packages", suite, packageName)),
    path: () => join(fetchPackages(suite, [packageName])[0] ?? "", "usr/bin/kubectl"),
  };
}

/** Where that version is; `undefined` when it is not to be had. */
export function programOf({ path }: (typeof PROGRAMS)[number]): string | undefined {
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
      timeoutMs: 60_000,
    });
    const reported = `${result.stdout}${result.stderr}`;
    this.transcript.push(`$ kubectl ${args.join(" ")}`, reported.trimEnd());
    assert.equal(result.code, code, `kubectl ${args.join(" ")}: ${reported}`);
    return reported;
  }

  /** Runs a command again, for 30 s at most, until it reports what is expected. */
  async until(args: readonly string[], expected: RegExp): Promise<string> {
    const deadline = performance.now() + 30_000;
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
