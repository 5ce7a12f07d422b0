import type { Tracer } from "../../kit/tracing/tracing.ts";
import type { ApiTransport } from "../kube/kube.ts";

/** The same way to an API server, with a span for each request, which the server may continue. */
export function tracedTransport(transport: ApiTransport, tracer: Tracer): ApiTransport {
  return {
    request: (request, signal) => {
      const [path = ""] = request.path.split("?", 1);
      const attributes = { "http.request.method": request.method, "url.path": path };
      return tracer.run(`HTTP ${request.method}`, { kind: "client", attributes }, () =>
        transport.request({ ...request, headers: tracer.headers() }, signal),
      );
    },
    watch: (request, signal) => transport.watch(request, signal),
    reachable: transport.reachable,
    close: () => transport.close(),
  };
}
