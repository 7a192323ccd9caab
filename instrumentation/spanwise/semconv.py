"""Attribute names on the wire: the conventions' own first, ours under ``spanwise.`` where none exists.

Standard names are those of the OpenTelemetry GenAI and MCP conventions (genai v0.1.0, core 1.41 where unchanged).
They are development status there, so they are spelled out here instead of imported.
"""

from __future__ import annotations

from typing import Final

# --- resource -------------------------------------------------------------------------------------------------
SERVICE_NAME: Final = "service.name"
SERVICE_VERSION: Final = "service.version"
SERVICE_INSTANCE_ID: Final = "service.instance.id"
HOST_NAME: Final = "host.name"
PROCESS_PID: Final = "process.pid"

# --- general --------------------------------------------------------------------------------------------------
ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
CLIENT_ADDRESS: Final = "client.address"
CLIENT_PORT: Final = "client.port"
URL_FULL: Final = "url.full"
NETWORK_TRANSPORT: Final = "network.transport"  # pipe, tcp, quic
NETWORK_PROTOCOL_NAME: Final = "network.protocol.name"
HTTP_REQUEST_METHOD: Final = "http.request.method"
HTTP_RESPONSE_STATUS_CODE: Final = "http.response.status_code"
HTTP_REQUEST_RESEND_COUNT: Final = "http.request.resend_count"
RPC_SYSTEM_NAME: Final = "rpc.system.name"
RPC_RESPONSE_STATUS_CODE: Final = "rpc.response.status_code"
DB_SYSTEM_NAME: Final = "db.system.name"
DB_QUERY_TEXT: Final = "db.query.text"

# --- GenAI ----------------------------------------------------------------------------------------------------
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
GEN_AI_PROVIDER_NAME: Final = "gen_ai.provider.name"
GEN_AI_CONVERSATION_ID: Final = "gen_ai.conversation.id"
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
GEN_AI_AGENT_VERSION: Final = "gen_ai.agent.version"
GEN_AI_WORKFLOW_NAME: Final = "gen_ai.workflow.name"
GEN_AI_OUTPUT_TYPE: Final = "gen_ai.output.type"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_REQUEST_STREAM: Final = "gen_ai.request.stream"
GEN_AI_REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
GEN_AI_REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
GEN_AI_REQUEST_TOP_P: Final = "gen_ai.request.top_p"
GEN_AI_REQUEST_SEED: Final = "gen_ai.request.seed"
GEN_AI_REQUEST_CHOICE_COUNT: Final = "gen_ai.request.choice.count"
GEN_AI_REQUEST_STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"
GEN_AI_REQUEST_FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
GEN_AI_REQUEST_PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
GEN_AI_REQUEST_REASONING_LEVEL: Final = "gen_ai.request.reasoning.level"
GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID: Final = "gen_ai.request.previous_response.id"
GEN_AI_REQUEST_ENCODING_FORMATS: Final = "gen_ai.request.encoding_formats"
GEN_AI_EMBEDDINGS_DIMENSION_COUNT: Final = "gen_ai.embeddings.dimension.count"
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
GEN_AI_RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"  # s
GEN_AI_USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"  # includes cached
GEN_AI_USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"  # includes reasoning
GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
GEN_AI_USAGE_CACHE_WRITE_INPUT_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
GEN_AI_USAGE_REASONING_OUTPUT_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_TOOL_TYPE: Final = "gen_ai.tool.type"
GEN_AI_TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
GEN_AI_TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
GEN_AI_TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"  # opt-in content
GEN_AI_TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"  # opt-in content
GEN_AI_TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"  # opt-in content
GEN_AI_INPUT_MESSAGES: Final = "gen_ai.input.messages"  # opt-in content
GEN_AI_OUTPUT_MESSAGES: Final = "gen_ai.output.messages"  # opt-in content
GEN_AI_SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"  # opt-in content
GEN_AI_PROMPT_NAME: Final = "gen_ai.prompt.name"

OPENAI_API_TYPE: Final = "openai.api.type"  # chat_completions, responses
OPENAI_REQUEST_SERVICE_TIER: Final = "openai.request.service_tier"
OPENAI_RESPONSE_SERVICE_TIER: Final = "openai.response.service_tier"
OPENAI_RESPONSE_SYSTEM_FINGERPRINT: Final = "openai.response.system_fingerprint"

# --- MCP ------------------------------------------------------------------------------------------------------
MCP_METHOD_NAME: Final = "mcp.method.name"
MCP_SESSION_ID: Final = "mcp.session.id"
MCP_PROTOCOL_VERSION: Final = "mcp.protocol.version"
MCP_RESOURCE_URI: Final = "mcp.resource.uri"
JSONRPC_REQUEST_ID: Final = "jsonrpc.request.id"

# --- agent steps ----------------------------------------------------------------------------------------------
STEP_SPAN_PREFIX: Final = "agent.step."  # of the span's name
STEP_NAME: Final = "agent.step.name"
STEP_INPUT_PREFIX: Final = "step.input."
STEP_OUTPUT_PREFIX: Final = "step.output."
STEP_OUTPUT_STATUS: Final = "step.output.status"  # ok, error
STEP_BYTES_SUFFIX: Final = ".bytes"  # step.input.order.bytes: int, size of the value as JSON
STEP_HASH_SUFFIX: Final = ".hash"  # keyed hash of the value as JSON
STEP_TYPE_SUFFIX: Final = ".type"  # str, int, list, ...
STEP_TEXT_ONLY: Final = "spanwise.step.text_only"  # bool: only the text of documents matters here

# --- spanwise: conversation and marks ---------------------------------------------------------------------------
TURN: Final = "spanwise.turn"  # int, counted from 1; also the baggage key
USER_HASH: Final = "spanwise.user_hash"  # keyed hash
TENANT: Final = "spanwise.tenant"  # keyed hash
HASH_KEY_ID: Final = "spanwise.hash.key_id"  # hashes compare only under one key id
STAGE: Final = "spanwise.stage"  # a declared stage, e.g. prepare or user.wait
ASYNC: Final = "spanwise.async"  # bool: nothing waits for this span
HUMAN: Final = "spanwise.human"  # bool: time of a person
LINK: Final = "spanwise.link"  # on a span link
LINK_WAITS_FOR: Final = "waits_for"
QUALITY_PASSED: Final = "spanwise.quality.passed"  # bool
OUTPUT_CONSUMED_TOKENS: Final = "spanwise.output.consumed_tokens"  # int: how much of the answer was used
CANCELLED: Final = "spanwise.cancelled"  # bool
TIMED_OUT: Final = "spanwise.timed_out"  # bool
INCOMPLETE: Final = "spanwise.incomplete"  # bool: a stream left before its end, or a span ended at shutdown
TRUNCATED: Final = "spanwise.truncated"  # int: original length of a value that was cut

EXPERIMENT_ID: Final = "spanwise.experiment.id"  # this and the five below: also the baggage keys
EXPERIMENT_ARM: Final = "spanwise.experiment.arm"  # what was tried, e.g. baseline or short-prompt
EXPERIMENT_FIXTURE: Final = "spanwise.experiment.fixture"  # the task that was done: arms are paired by it
EXPERIMENT_ROUND: Final = "spanwise.experiment.round"  # int
EXPERIMENT_POSITION: Final = "spanwise.experiment.position"  # int: place in the order of runs of a round
EXPERIMENT_SEED: Final = "spanwise.experiment.seed"  # int

# --- spanwise: MCP connection -----------------------------------------------------------------------------------
MCP_SERVER_NAME: Final = "spanwise.mcp.server.name"  # serverInfo.name, else command or URL host
MCP_SERVER_VERSION: Final = "spanwise.mcp.server.version"
MCP_TRANSPORT: Final = "spanwise.mcp.transport"  # stdio, http, in-process
MCP_PID: Final = "spanwise.mcp.pid"
MCP_SPAWN_TIME: Final = "spanwise.mcp.spawn_time"  # s
MCP_CONNECT_TIME: Final = "spanwise.mcp.connect_time"  # s
MCP_COLD: Final = "spanwise.mcp.cold"  # bool: the server process was started for this connection
MCP_REUSED: Final = "spanwise.mcp.reused"  # bool
MCP_CONNECTION_ID: Final = "spanwise.mcp.connection_id"  # groups the spans of one client session
MCP_HANDSHAKE: Final = "spanwise.mcp.handshake"  # initialize, discover, none
MCP_FALLBACK: Final = "spanwise.mcp.fallback"  # bool: discover was refused, initialize followed
MCP_CAPABILITIES: Final = "spanwise.mcp.capabilities"  # list[str]
MCP_SESSION_REQUESTS: Final = "spanwise.mcp.session.requests"  # int, on mcp.close
MCP_SESSION_DURATION: Final = "spanwise.mcp.session.duration"  # s, on mcp.close
MCP_SESSION_NOTIFICATIONS: Final = "spanwise.mcp.session.notifications"  # int, on mcp.close: all that the server sent
MCP_SESSION_LIST_CHANGES: Final = "spanwise.mcp.session.list_changes"  # int, on mcp.close: of these, list_changed
MCP_SESSION_RECONNECTS: Final = (
    "spanwise.mcp.session.reconnects"  # int, on mcp.close: streams that broke off and were resumed
)
MCP_LIST_CHANGES: Final = "spanwise.mcp.list_changes"  # int: list_changed that came while this request waited
MCP_RECONNECTS: Final = "spanwise.mcp.reconnects"  # int: how often the answer's stream broke off and was resumed
MCP_CURSOR: Final = "spanwise.mcp.cursor"  # keyed hash of the page cursor that was asked for
MCP_MORE_PAGES: Final = "spanwise.mcp.more_pages"  # bool: the answer names a next page
MCP_CACHE_HIT: Final = "spanwise.mcp.cache_hit"  # bool: answered by the client's own cache
MCP_HIDDEN: Final = "spanwise.mcp.hidden"  # bool: the SDK listed by itself, nobody asked
MCP_TTL_MS: Final = "spanwise.mcp.ttl_ms"
MCP_CACHE_SCOPE: Final = "spanwise.mcp.cache_scope"
MCP_ITEMS: Final = "spanwise.mcp.items"  # int: entries of one page of any list
MCP_RESULT_BYTES: Final = "spanwise.mcp.result_bytes"  # int: answer to a request that is no tool call and no list
MCP_RESULT_TYPE: Final = "spanwise.mcp.result_type"  # complete, input_required
MCP_ROUNDS: Final = "spanwise.mcp.rounds"  # requests that one call took
MCP_PROGRESS_COUNT: Final = "spanwise.mcp.progress_count"
MCP_VALIDATION_TIME: Final = "spanwise.mcp.validation_time"  # s: client-side schema validation of a result

# --- spanwise: tools --------------------------------------------------------------------------------------------
TOOLS_COUNT: Final = "spanwise.tools.count"
TOOLS_BYTES: Final = "spanwise.tools.bytes"
TOOLS_TOKENS: Final = "spanwise.tools.tokens"  # estimated
TOOLS_NAMES: Final = "spanwise.tools.names"  # list[str], as sent
TOOLS_SIZES: Final = "spanwise.tools.sizes"  # list[int]: bytes of each definition, beside names
TOOLS_DESCRIPTION_BYTES: Final = "spanwise.tools.description_bytes"
TOOLS_NAMES_HASH: Final = "spanwise.tools.names_hash"  # sorted definitions
TOOLS_ORDER_HASH: Final = "spanwise.tools.order_hash"  # definitions as sent
TOOL_ARGS_BYTES: Final = "spanwise.tool.args_bytes"
TOOL_ARGS_HASH: Final = "spanwise.tool.args_hash"
TOOL_ARGS_LEAVES: Final = "spanwise.tool.args_leaves"  # list[str]: keyed hashes, at most 64
TOOL_RESULT_BYTES: Final = "spanwise.tool.result_bytes"
TOOL_RESULT_TOKENS: Final = "spanwise.tool.result_tokens"  # estimated
TOOL_RESULT_TYPES: Final = "spanwise.tool.result_types"  # list[str]: content types, in order
TOOL_RESULT_HASH: Final = "spanwise.tool.result_hash"
TOOL_RESULT_LEAVES: Final = "spanwise.tool.result_leaves"  # list[str]: keyed hashes, at most 64
TOOL_DUPLICATE_BYTES: Final = "spanwise.tool.duplicate_bytes"  # the structured copy of the text
TOOL_IS_ERROR: Final = "spanwise.tool.is_error"
TOOL_READ_ONLY: Final = "spanwise.tool.read_only"
TOOL_IDEMPOTENT: Final = "spanwise.tool.idempotent"
TOOL_DESTRUCTIVE: Final = "spanwise.tool.destructive"
TOOL_CALLS_IN_RESPONSE: Final = "spanwise.tool.calls_in_response"  # on a model call
TOOL_CALL_IDS: Final = "spanwise.tool.call_ids"  # list[str], on a model call
TOOL_CALL_NAMES: Final = "spanwise.tool.call_names"  # list[str], on a model call

# --- spanwise: model calls --------------------------------------------------------------------------------------
REQUEST_MESSAGES: Final = "spanwise.request.messages"  # count
REQUEST_BYTES: Final = "spanwise.request.bytes"  # whole body
REQUEST_ROLE_BYTES_PREFIX: Final = "spanwise.request.bytes."  # + system, user, assistant, tool
REQUEST_ROLE_COUNT_PREFIX: Final = "spanwise.request.messages."  # + system, user, assistant, tool
REQUEST_HASH: Final = "spanwise.request.hash"
REQUEST_PARALLEL_TOOL_CALLS: Final = "spanwise.request.parallel_tool_calls"
REQUEST_LEAVES: Final = "spanwise.request.leaves"  # list[str]: keyed hashes of the words of user messages, at most 64
PROMPT_BLOCKS: Final = "spanwise.prompt.blocks"  # list[str]: "kind:hash:tokens" of tools, instructions, each message
PROMPT_PREFIX_HASH: Final = "spanwise.prompt.prefix_hash"  # first 1,024 tokens or equivalent
IMAGE_COUNT: Final = "spanwise.image.count"
IMAGE_DETAIL: Final = "spanwise.image.detail"  # low, high, auto, original; the most costly one sent
IMAGE_BYTES: Final = "spanwise.image.bytes"
FILE_COUNT: Final = "spanwise.file.count"
FILE_MIME: Final = "spanwise.file.mime"
FILE_BYTES: Final = "spanwise.file.bytes"
FILE_PAGES: Final = "spanwise.file.pages"
RESPONSE_TIME_TO_FIRST_CONTENT: Final = "spanwise.response.time_to_first_content"  # s: text, tool argument, reasoning
RESPONSE_BLOCK_HASH: Final = "spanwise.response.block_hash"  # as the answer would hash as a later prompt block
RESPONSE_BYTES: Final = "spanwise.response.bytes"
RESPONSE_SERVER_TIME: Final = "spanwise.response.server_time"  # s: the service's own processing-time header
RETRY_ATTEMPT: Final = "spanwise.retry.attempt"  # on chat.attempt, counted from 1
RETRY_ATTEMPTS: Final = "spanwise.retry.attempts"  # on the model call
RETRY_BACKOFF: Final = "spanwise.retry.backoff"  # s, on the model call
CONNECTION_NEW: Final = "spanwise.connection.new"  # bool: this request opened a connection
CONNECTION_CONNECT_TIME: Final = "spanwise.connection.connect_time"  # s
CONNECTION_TLS_TIME: Final = "spanwise.connection.tls_time"  # s
HTTP_HEADERS_TIME: Final = "spanwise.http.headers_time"  # s, on an HTTP request: until the headers came
CLIENT_FIRST_CALL: Final = "spanwise.client.first_call"  # bool: first model call of the process
CLIENT_PREPARE_TIME: Final = "spanwise.client.prepare_time"  # s: the SDK's own work before the first HTTP request
CLIENT_PARSE_TIME: Final = (
    "spanwise.client.parse_time"  # s: its work between the answer (streamed: its first byte) and us
)
RESPONSE_REQUEST_ID: Final = "spanwise.response.request_id"  # the service's own id of the HTTP request
RESPONSE_STATUS: Final = "spanwise.response.status"  # Responses API: completed, incomplete, queued, ...
RESPONSE_BACKGROUND: Final = "spanwise.response.background"  # bool: the model works on after the call has ended
ERROR_CODE: Final = "spanwise.error.code"  # the service's own word for a failure, e.g. rate_limit_exceeded
PROMPT_CACHE_RESULT: Final = "spanwise.prompt_cache.result"  # cache_hit, cache_miss, ...: the service's own diagnosis
PROMPT_CACHE_REASON: Final = "spanwise.prompt_cache.reason"  # of a miss, e.g. tools_changed
PROMPT_CACHE_MISSED_TOKENS: Final = "spanwise.prompt_cache.missed_tokens"
PROMPT_CACHE_REUSABLE_TOKENS: Final = "spanwise.prompt_cache.reusable_tokens"

# --- values ---------------------------------------------------------------------------------------------------
DOCTOR_SPAN: Final = "spanwise.doctor"  # name of the span that `spanwise doctor` sends; belongs to no conversation
SCOPE: Final = "spanwise"  # name of our instrumentation scope, and of the distribution
OPERATION_CHAT: Final = "chat"
OPERATION_EMBEDDINGS: Final = "embeddings"
OPERATION_EXECUTE_TOOL: Final = "execute_tool"
OPERATION_FETCH_RESPONSE: Final = "fetch_response"  # asks for an answer that was begun earlier
OPERATION_INVOKE_AGENT: Final = "invoke_agent"
INFERENCE_OPERATIONS: Final = frozenset({"chat", "text_completion", "generate_content", "plan"})
AGENT_OPERATIONS: Final = frozenset({"invoke_agent", "invoke_workflow", "create_agent"})
RETRIEVAL_OPERATIONS: Final = frozenset({"retrieval", "search_memory", "update_memory", "upsert_memory"})
ERROR_TOOL: Final = "tool_error"
MCP_TOOLS_CALL: Final = "tools/call"
MCP_INITIALIZE: Final = "initialize"
MCP_DISCOVER: Final = "server/discover"
MCP_LIST_CHANGED: Final = "notifications/tools/list_changed"
MCP_HANDSHAKE_METHODS: Final = frozenset({MCP_INITIALIZE, MCP_DISCOVER})
MCP_LIST_METHODS: Final = frozenset({"tools/list", "prompts/list", "resources/list", "resources/templates/list"})
MCP_READ_METHODS: Final = frozenset({"resources/read", "prompts/get"})
MCP_BACKGROUND_METHODS: Final = frozenset({"ping", "subscriptions/listen"})
MCP_NOTIFICATION_PREFIX: Final = "notifications/"
MCP_ELICITATION: Final = "elicitation/create"
MCP_TOOLS_LIST: Final = "tools/list"
MCP_INPUT_REQUIRED: Final = "input_required"  # result type: the call goes on once the user has answered
FINISH_STOP: Final = "stop"
API_RESPONSES: Final = "responses"
HTTP_GET: Final = "GET"

# --- baggage --------------------------------------------------------------------------------------------------
BAGGAGE_CONVERSATION_ID: Final = GEN_AI_CONVERSATION_ID
BAGGAGE_TURN: Final = TURN
