/** The machine's static busybox as the content of an image: a shell, a web server and all small tools. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { CliError } from "../../present/cli-error.ts";
import type { TarEntry } from "./tar.ts";
import { isStaticElf } from "./tiny-elf.ts";

const PLACES = ["/bin/busybox", "/usr/bin/busybox", "/usr/local/bin/busybox"];

/** Path of a busybox that needs no shared libraries; `undefined` when the machine has none. */
export function findStaticBusybox(): string | undefined {
  return PLACES.find((path) => existsSync(path) && isStaticElf(readFileSync(path)));
}

/** `bin/busybox` and a link for every applet. Throws `CliError` when there is no static busybox. */
export function busyboxEntries(): TarEntry[] {
  const program = findStaticBusybox();
  if (program === undefined) {
    throw new CliError("there is no static busybox on this machine to build an image from", {
      fix: "apt-get install busybox-static, or your distribution's equivalent",
    });
  }
  const applets = execFileSync(program, ["--list"], { encoding: "utf8" }).trim().split("\n");
  return [
    { kind: "file", path: "bin/busybox", content: readFileSync(program), mode: 0o755 },
    ...applets
      .filter((name) => name !== "busybox")
      .map((name): TarEntry => ({ kind: "symlink", path: `bin/${name}`, target: "busybox" })),
  ];
}
