// Generates the protocol buffer codecs beneath src/outside/: CRI v1 from the interface definition in its Go module, in the
// version of tools/go/kubernetes, all others from protos/<module> here.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

const OPTIONS = [
  "outputServices=generic-definitions",
  "outputJsonMethods=false",
  "outputPartialMethods=true",
  "forceLong=bigint",
  "oneof=unions-value",
  "importSuffix=.ts",
  "enumsAsLiterals=true",
  "useExactTypes=false",
  "unrecognizedEnum=false",
  "comments=false",
];

function generate(protoFile, outDir) {
  const work = mkdtempSync(join(tmpdir(), "nodelet-protos-"));
  mkdirSync(join(work, "in"));
  cpSync(protoFile, join(work, "in/api.proto"));
  writeFileSync(join(work, "buf.yaml"), "version: v2\nmodules: [{ path: in }]\n");
  writeFileSync(
    join(work, "buf.gen.yaml"),
    JSON.stringify({
      version: "v2",
      plugins: [
        { local: join(root, "node_modules/.bin/protoc-gen-ts_proto"), out: outDir, opt: OPTIONS },
      ],
    }),
  );
  execFileSync(join(root, "node_modules/.bin/buf"), ["generate"], { cwd: work, stdio: "inherit" });
}

/** Where the source of a Go module is, in the version that the control plane of the tests has. */
function moduleFolder(name) {
  const cwd = join(root, "tools/go/kubernetes");
  execFileSync("go", ["mod", "download", name], { cwd, stdio: "inherit" });
  const argv = ["list", "-m", "-f", "{{.Dir}}", name];
  return execFileSync("go", argv, { cwd, encoding: "utf8" }).trim();
}

const protos = join(root, "tools/generate/protos");
for (const module of readdirSync(protos)) {
  const outDir = join(root, "src/outside", module, "generated");
  for (const file of readdirSync(join(protos, module)))
    generate(join(protos, module, file), join(outDir, file.replace(".proto", "")));
  console.log(`codecs written to src/outside/${module}/generated`);
}

generate(
  join(moduleFolder("k8s.io/cri-api"), "pkg/apis/runtime/v1/api.proto"),
  join(root, "src/outside/cri/generated"),
);
console.log("CRI codecs written to src/outside/cri/generated");
