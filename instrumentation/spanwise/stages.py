"""The stages that tile a conversation's wall clock, and the group each belongs to."""

from __future__ import annotations

from enum import StrEnum


class Group(StrEnum):
    """The coarse view of where time went."""

    CONNECTION = "connection"
    MODEL = "model"
    TOOLS = "tools"
    RETRIES = "retries"
    AGENT = "agent"
    UNKNOWN = "unknown"
    USER = "user"


class Stage(StrEnum):
    """Where one instant of a conversation went. Ids are stable; ties between stages go by this order."""

    MCP_CONNECT = "mcp.connect"
    MCP_HANDSHAKE = "mcp.handshake"
    MCP_LIST = "mcp.list"
    MCP_CLOSE = "mcp.close"
    MODEL_FIRST_TOKEN = "model.first_token"  # noqa: S105 - a stage, not a password
    MODEL_GENERATE = "model.generate"
    MODEL_CALL = "model.call"
    MODEL_EMBED = "model.embed"
    MCP_SERVER = "mcp.server"
    MCP_TRANSPORT = "mcp.transport"
    MCP_OPAQUE = "mcp.opaque"
    MCP_RESOURCE = "mcp.resource"
    TOOL_LOCAL = "tool.local"
    TOOL_DOWNSTREAM = "tool.downstream"
    RETRY_WASTED = "retry.wasted"
    RETRY_BACKOFF = "retry.backoff"
    PREPARE = "prepare"
    RETRIEVAL = "retrieval"
    APP_STATE = "app.state"
    AGENT_OVERHEAD = "agent.overhead"
    OTHER = "other"
    UNATTRIBUTED = "unattributed"
    USER_IDLE = "user.idle"
    USER_WAIT = "user.wait"

    @property
    def group(self) -> Group:
        """The group of the coarse view."""
        return _GROUPS[self]

    @property
    def active(self) -> bool:
        """Whether the stage is part of the active wall clock: a person's time is not."""
        return self.group is not Group.USER


_MEMBERS = {
    Group.CONNECTION: (Stage.MCP_CONNECT, Stage.MCP_HANDSHAKE, Stage.MCP_LIST, Stage.MCP_CLOSE),
    Group.MODEL: (Stage.MODEL_FIRST_TOKEN, Stage.MODEL_GENERATE, Stage.MODEL_CALL, Stage.MODEL_EMBED),
    Group.TOOLS: (
        Stage.MCP_SERVER,
        Stage.MCP_TRANSPORT,
        Stage.MCP_OPAQUE,
        Stage.MCP_RESOURCE,
        Stage.TOOL_LOCAL,
        Stage.TOOL_DOWNSTREAM,
    ),
    Group.RETRIES: (Stage.RETRY_WASTED, Stage.RETRY_BACKOFF),
    Group.AGENT: (Stage.PREPARE, Stage.RETRIEVAL, Stage.APP_STATE, Stage.AGENT_OVERHEAD),
    Group.UNKNOWN: (Stage.OTHER, Stage.UNATTRIBUTED),
    Group.USER: (Stage.USER_IDLE, Stage.USER_WAIT),
}

_GROUPS = {stage: group for group, stages in _MEMBERS.items() for stage in stages}
