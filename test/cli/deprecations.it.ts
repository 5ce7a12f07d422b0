// What a newer containerd says of its own settings: shown where the node is asked about, and nowhere else.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bareMachine } from "./node-box.ts";

/** Credentials in containerd's own configuration, which containerd 1.7 and newer report as deprecated. */
const DEPRECATED = `[plugins."io.containerd.grpc.v1.cri".registry.auths."https://registry.test"]
username = "user"
password = "secret"
`;
const WARNING = /`auths` property .*deprecated/;

for (const containerd of ["1.7", "2.1"] as const)
  test(`containerd ${containerd}: a deprecated setting is a warning of the node, not of its pods`, async () => {
    const options = { containerd, network: true, containerdConfig: DEPRECATED } as const;
    await using node = await bareMachine(options);
    const check = await node.run("up", "--check");
    assert.match(check, new RegExp(`^warn +deprecated +.*${WARNING.source}`, "m"));
    const up = await node.nodelet(["up", "--demo", "--detach", "--until-ready"]);
    assert.equal(up.code, 0, up.stdout + up.stderr);
    assert.match(await node.run("why", "--node"), /ready\n +the container runtime warns: .*auths/);
    assert.doesNotMatch(await node.run("why", "hello"), WARNING);
    assert.doesNotMatch(await node.run("describe", "node"), WARNING);
    await node.run("down");
  });
