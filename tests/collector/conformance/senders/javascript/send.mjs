// Sends the scenario through the exporters of OpenTelemetry for JavaScript: send.mjs KIND ENDPOINT SCENARIO.
import { readFileSync } from "node:fs";
import { SpanKind, SpanStatusCode, context, trace } from "@opentelemetry/api";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

const [kind, url, file] = process.argv.slice(2);
const scenario = JSON.parse(readFileSync(file));
const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${kind}`);
const provider = new TracerProvider({
  resource: resourceFromAttributes({ "service.name": scenario.service }),
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
});
const tracer = provider.getTracer(scenario.scope, scenario.version);
const parent = tracer.startSpan("invoke_agent a");
const links = [{ context: parent.spanContext(), attributes: scenario.link.attributes }];
const options = { kind: SpanKind.CLIENT, attributes: scenario.attributes, links };
const child = tracer.startSpan(scenario.name, options, trace.setSpan(context.active(), parent));
child.addEvent(scenario.event.name, scenario.event.attributes);
child.setStatus({ code: SpanStatusCode.ERROR, message: scenario.status });
child.end();
parent.end();
await provider.forceFlush();
await provider.shutdown();
console.log(parent.spanContext().traceId);
