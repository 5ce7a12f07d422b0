/** Images of what a cluster itself runs as pods: kube-proxy and CoreDNS. */
import { readFileSync } from "node:fs";
import { type ImageSpec, layer } from "../../../src/cli/local-images/image-archive.ts";
import { pinnedVersion } from "../../go/build-programs.mjs";
import { debianFiles } from "./debian-files.ts";
import { accountFiles, file, link, merged } from "./root-files.ts";

export const KUBE_PROXY_IMAGE = `registry.k8s.io/kube-proxy:${pinnedVersion("kube-proxy")}`;
export const COREDNS_IMAGE = `registry.k8s.io/coredns/coredns:${pinnedVersion("coredns")}`;
/** Names by which kube-proxy calls Debian's one program, the one that the CNI plugins call on the node too. */
const TABLES = ["iptables", "ip6tables"].flatMap((name) =>
  ["", "-save", "-restore"].map((end) => `${name}${end}`),
);

/** Both images, made of Go programs and Debian's iptables. */
export function clusterImages(program: (name: string) => string): ImageSpec[] {
  const root = (name: string) => layer([file(name, readFileSync(program(name)), 0o755)]);
  const say = () => {};
  const tables = merged(
    [...debianFiles(["iptables"], say).values()],
    accountFiles(),
    TABLES.map((name) => link(`usr/sbin/${name}`, "xtables-nft-multi")),
  );
  return [
    {
      names: [KUBE_PROXY_IMAGE],
      layers: [layer(tables), root("kube-proxy")],
      config: { entrypoint: ["/kube-proxy"] },
    },
    {
      names: [COREDNS_IMAGE],
      layers: [layer(accountFiles()), root("coredns")],
      config: { entrypoint: ["/coredns"] },
    },
  ];
}
