// What the suites about the Kubernetes API share: one server for each, and short ways to ask it.

import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { after, before, test } from "node:test";
import type { AdminReply, AdminRequest } from "../kube/admin.ts";

/** A server to be examined; requests come from an administrator. */
export interface ApiUnderTest {
  request(request: AdminRequest): Promise<AdminReply>;
  close(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read freely, each test says what it expects.
export type Json = any;

export const ROOT = "/api/v1/namespaces/default";
export const MAPS = `${ROOT}/configmaps`;
export const PODS = `${ROOT}/pods`;
export const JSON_PATCH = "application/json-patch+json";
export const MERGE_PATCH = "application/merge-patch+json";
export const STRATEGIC = "application/strategic-merge-patch+json";
export const APPLY = "application/apply-patch+yaml";

/** How a suite is begun. */
export interface ExaminationOptions {
  readonly name: string;
  readonly start: () => Promise<ApiUnderTest>;
  readonly skip?: string | false;
}

/** One server and the tests that examine it. */
export class Examination {
  readonly #options: ExaminationOptions;
  #server: ApiUnderTest | undefined;
  #count = 0;

  constructor(options: ExaminationOptions) {
    this.#options = options;
    const skip = options.skip ?? false;
    before(async () => {
      if (skip === false) this.#server = await options.start();
    });
    after(async () => {
      await this.#server?.close();
    });
  }

  examine(what: string, body: () => Promise<void>): void {
    const { name, skip = false } = this.#options;
    test(`${name}: ${what}`, { skip }, body);
  }

  fresh(prefix: string): string {
    this.#count += 1;
    return `${prefix}-${this.#count}`;
  }

  async send(
    request: AdminRequest,
  ): Promise<{ status: number; headers?: IncomingHttpHeaders; body: Json }> {
    assert.ok(this.#server, "the server has not been started");
    return await this.#server.request(request);
  }

  async must(method: string, path: string, body?: unknown, contentType?: string): Promise<Json> {
    const reply = await this.send({
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    const reported = `${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`;
    assert.ok(reply.status < 300, reported);
    return reply.body;
  }

  makeMap(data: object = {}, more: object = {}): Promise<Json> {
    return this.must("POST", MAPS, { metadata: { name: this.fresh("map"), ...more }, data });
  }

  makePod(spec: object = {}, metadata: object = {}): Promise<Json> {
    return this.must("POST", PODS, {
      metadata: { name: this.fresh("pod"), ...metadata },
      spec: { containers: [{ name: "main", image: "example/image:1" }], ...spec },
    });
  }
}
