/** Answers token, subject access and self-subject reviews. Nothing is stored. */

import { decodeObject } from "../../api/decode/decode.ts";
import type { Tree } from "../../kit/json.ts";
import { isTree } from "../../kit/json.ts";
import { type Access, authorize, type Verdict } from "../access/authorize.ts";
import { readToken } from "../access/tokens.ts";
import { textOf, treeOf } from "../api-object.ts";
import type { Review } from "../kinds/offers.ts";
import type { User } from "../objects/object-request.ts";
import { badRequest, methodNotAllowed } from "../status-error.ts";
import { type ResourceCall, replyObject } from "./call.ts";
import { replyUsage } from "./connect.ts";
import { needBody } from "./resources.ts";
import { replyBinding } from "./subresources.ts";

/** Answers a review, or a binding made in the collection. */
export async function replyReview(call: ResourceCall, review: Review): Promise<void> {
  const { exchange, at, user } = call;
  if (review.group === "metrics.k8s.io") return await replyUsage(call);
  if (exchange.method !== "POST" || at.name !== "") throw methodNotAllowed();
  if (review.plural === "bindings") return await replyBinding(call, "");
  const body = await needBody(call);
  if (!isTree(body)) throw badRequest(`the body is not a valid ${review.kind}`);
  const answer = {
    kind: review.kind,
    apiVersion: `${review.group}/${review.version}`,
    metadata: { creationTimestamp: null },
    spec: treeOf(body["spec"]),
    status: statusOf(call, review, body),
  };
  const { spec: _, ...withoutSpec } = answer;
  const isSelf = review.plural === "selfsubjectreviews";
  await replyObject(exchange, 201, isSelf ? { ...withoutSpec, status: selfOf(user) } : answer);
}

function selfOf({ name, uid, groups, extra }: User): object {
  return {
    userInfo: { username: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) },
  };
}

function statusOf(call: ResourceCall, { plural }: Review, body: Tree): object {
  const spec = treeOf(body["spec"]);
  switch (plural) {
    case "tokenreviews":
      return tokenStatus(call, body);
    case "selfsubjectaccessreviews":
      return accessStatus(authorize(call.user, accessOf(spec)));
    case "subjectaccessreviews":
      return accessStatus(authorize(subjectOf(body), accessOf(spec)));
    case "selfsubjectrulesreviews":
      return { ...rulesOf(call.user), incomplete: false };
    default:
      return {};
  }
}

function tokenStatus({ deps }: ResourceCall, body: Tree): object {
  const { value } = decodeObject("TokenReview", body);
  const { token = "", audiences = [] } = value.spec;
  const found = readToken(deps.tokens, token, audiences.length === 0 ? undefined : audiences);
  if (!found) return { authenticated: false, error: "invalid bearer token", user: {} };
  return { authenticated: true, audiences: found.audiences, user: userInfo(found.user) };
}

function userInfo({ name, uid, groups, extra }: User): object {
  return { username: name, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) };
}

function subjectOf(body: Tree): User {
  const { value } = decodeObject("SubjectAccessReview", body);
  const { user = "", groups = [], uid, extra } = value.spec;
  if (user === "" && groups.length === 0)
    throw badRequest("at least one of user or group must be specified");
  return { name: user, groups, ...(uid ? { uid } : {}), ...(extra ? { extra } : {}) };
}

function accessOf(spec: Tree): Access {
  const of = spec["resourceAttributes"];
  if (isTree(of))
    return {
      verb: textOf(of["verb"]),
      resource: {
        group: textOf(of["group"]),
        plural: textOf(of["resource"]),
        subresource: textOf(of["subresource"]),
        namespace: textOf(of["namespace"]),
        name: textOf(of["name"]),
      },
    };
  const path = spec["nonResourceAttributes"];
  if (!isTree(path))
    throw badRequest(
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
  return { verb: textOf(path["verb"]), path: textOf(path["path"]) };
}

function accessStatus(verdict: Verdict): object {
  return verdict.kind === "allowed" ? { allowed: true } : { allowed: false, reason: verdict.why };
}

function rulesOf({ groups }: User): object {
  const all = groups.includes("system:masters");
  return {
    resourceRules: all ? [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] : [],
    nonResourceRules: all ? [{ verbs: ["*"], nonResourceURLs: ["*"] }] : [],
  };
}
